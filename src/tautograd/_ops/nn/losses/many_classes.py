"""Cross entropy of many classes on a GPU in one step: no likelihoods are written to memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.dtypes import HALF_CODES
from ...._autograd.apply import apply
from ...._autograd.modes import modes
from ...._tensor.tensor import Tensor
from ...declare.record import Op
from ...reductions.softmaxes import log_softmax_op
from .classes import check_target, ignored, nll_op

_DEFAULTS: dict[str, Any] = {
    "input": None, "target": None, "weight": None, "size_average": None, "ignore_index": -100, "reduce": None,
    "reduction": "mean", "label_smoothing": 0.0,
}  # fmt: skip
_USED = ("input", "target", "ignore_index", "reduction")
_MANY = 1024  # classes, from which on likelihoods are worth not being written to memory


def _widened(x: Any) -> Any:
    return np.astype(x, np.float32) if x.dtype.char in HALF_CODES else x


def _loss_and_kept(x: Any, target: Any, ignore_index: Any, reduction: str) -> tuple[Any, Any]:
    """The loss, and what its gradient may be found from: likelihoods, or what a kernel keeps instead.

    Scores in half precision are read as they are, where `autocast` would have them as float32 first: so is the loss.
    """
    likelihoods = log_softmax_op(_widened(x), dim=1)
    loss = nll_op(likelihoods, target, None, ignore_index=ignore_index, reduction=reduction)
    return loss, likelihoods


def _slopes(g: Any, x: Any, target: Any, out1: Any, ignore_index: Any, reduction: str) -> Any:
    """By the rules of the two records that it is made of."""
    shape = tuple(x.shape)
    found = nll_op.vjp[0].rule(g, target, None, shape, ignore_index, reduction)
    slopes = log_softmax_op.vjp[0].rule(found, log_softmax_op(_widened(x), dim=1), 1)
    return slopes if x.dtype.char in "fd" else np.astype(slopes, x.dtype)


cross_entropy_op = Op(
    "cross_entropy_of_many",
    _loss_and_kept,
    ("x", "target"),
    vjp={"x": _slopes},
    node="NllLossBackward0",
    outputs=2,
    differentiable_outputs=(0,),
    internal=True,
    opmath=False,
)


def is_wide_on_gpu(x: Any, y: Any, codes: Any = "fd") -> bool:
    """Whether these are rows of many classes and a target for each, where there are kernels for them."""
    if modes.way[0] is None and not _is_compiled(x):
        return False
    there = getattr(getattr(x, "value", x), "has_kernels", False)
    if not there or x.ndim != 2 or x.dtype.char not in codes:
        return False
    rows, classes = x.shape
    return bool(classes >= _MANY and rows and y.shape == (rows,) and y.dtype == np.int64)


def _is_compiled(x: Any) -> bool:
    """Whether an array is there, and what is computed from it is recorded to be compiled."""
    return hasattr(type(x), "as_kernel") and not modes.forward_level and not modes.vmap_levels


def in_one(input: Tensor, target: Tensor, ignore_index: int, reduction: str) -> Tensor:
    check_target(input, target)
    parameters = {
        "ignore_index": ignored(target._data, input._data.shape[1], int(ignore_index)),
        "reduction": reduction,
    }
    found: tuple[Tensor, ...] = apply(cross_entropy_op, (input, target), parameters)
    return found[0]


def of_half(*args: Any, **kwargs: Any) -> Tensor | None:
    """`cross_entropy` of scores in half precision as float32, without a copy of them; or None."""
    given = {**_DEFAULTS, **dict(zip(_DEFAULTS, args, strict=False)), **kwargs}
    if given.keys() != _DEFAULTS.keys() or len(args) > len(_DEFAULTS):
        return None  # which `cross_entropy` itself says
    input, target, ignore_index, reduction = (given[n] for n in _USED)
    if given["weight"] is not None or given["size_average"] is not None:
        return None
    if given["reduce"] is not None or given["label_smoothing"] != 0.0:
        return None
    if reduction not in ("mean", "sum") or type(ignore_index) is not int:
        return None
    if not isinstance(input, Tensor) or not isinstance(target, Tensor):
        return None
    if not is_wide_on_gpu(input._data, target._data, HALF_CODES):
        return None
    return in_one(input, target, ignore_index, reduction)
