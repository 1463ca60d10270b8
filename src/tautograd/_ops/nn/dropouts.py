"""Dropout: multiplying by random zeros and ones, scaled so that the expected value stays.

The noise is drawn as PyTorch draws it (a `bernoulli_` in the order of the input's memory), so that
the same seed drops the same elements. Alpha dropout sets dropped elements to the saturation value of
SELU, and then shifts and scales everything to keep mean and variance.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ... import _random
from ..._arrays.devices import device_of
from ..._autograd.modes import modes
from ..._tensor.draws import draw, fill_like
from ..._tensor.tensor import Tensor, make
from ..._user_code.sites import warning_level
from ..declare.elementwise_calls import require_tensor
from ..declare.public import FUNCTIONS, NN_FUNCTIONAL

Function = TypeVar("Function", bound=Callable[..., Any])

# Minus the limit of SELU to the left: its scale times its alpha.
_ALPHA = 1.7580993408473766


def _noise(input: Tensor, keep: float, by_feature: bool, fused: bool = False) -> Tensor:
    """Ones of probability `keep`, and zeros: one per element, or one per example and channel.

    On a GPU, PyTorch's `fused` kernel of dropout takes its coins in another order than `bernoulli_`.
    """
    if modes.deferred is not None:
        return modes.deferred.call(_noise, (input, keep, by_feature, fused), {})  # type: ignore[no-any-return]
    data = input._data
    kind = data.dtype
    if not by_feature:
        if type(data) is np.ndarray and data.flags.c_contiguous and not modes.vmap_levels:
            return make(draw(_random.bernoulli, None, data.shape, keep, dtype=kind))
        if fused and device_of(data).type == "cuda":
            from ..._arrays.cuda.cuda_array import CudaArray

            address = data.address if isinstance(data, CudaArray) else 0
            given = {
                "dtype": kind,
                "alignment": next(n for n in (16, 8, 4, 2, 1) if not address % n),
            }
            return make(fill_like(input, kind, None, _random.dropout_mask, None, keep, **given))
        return make(fill_like(input, kind, None, _random.bernoulli, None, keep, dtype=kind))
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    shape = (*data.shape[:2], *(1,) * (input.ndim - 2))
    return make(draw(_random.bernoulli, None, shape, keep, dtype=kind))


def _dropped(
    input: Any, p: float, train: bool, inplace: bool, by_feature: bool, alpha: bool = False
) -> Any:
    """Dropout of elements or of channels; `alpha` keeps the statistics of SELU."""
    if not isinstance(input, Tensor):
        name = "alpha_dropout" if alpha else "dropout"
        require_tensor(f"feature_{name}" if by_feature else name, input)
    _check_probability(p, RuntimeError)
    if p == 0 or not train or not input._data.size:
        return input
    shift = None
    if p == 1:
        noise = make(np.zeros((), input._data.dtype))
    else:
        noise = _noise(input, 1 - p, by_feature, fused=not alpha)
        if alpha:
            scale = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
            shift = noise.add(-1).mul_(_ALPHA * scale).add_(_ALPHA * scale * p)
            noise.mul_(scale)
        else:
            noise.div_(1 - p)
    out = input.mul_(noise) if inplace else input * noise
    return out if shift is None else out.add_(shift)


def _check_probability(p: float, error: type[Exception]) -> None:
    if not 0.0 <= p <= 1.0:
        raise error(f"dropout probability has to be between 0 and 1, but got {p:g}")


def _check_given(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


# --- torch.dropout and its like -------------------------------------------------------------------


def _declare(name: str, by_feature: bool, alpha: bool, what: str) -> None:
    def out_of_place(input: Any, p: float, train: bool) -> Any:
        return _dropped(input, p, train, False, by_feature, alpha)

    def in_place(input: Any, p: float, train: bool) -> Any:
        return _dropped(input, p, train, True, by_feature, alpha)

    out_of_place.__doc__ = what
    in_place.__doc__ = f"In-place version of `{name}`."
    for label, function in ((name, out_of_place), (name + "_", in_place)):
        function.__name__ = function.__qualname__ = label
        FUNCTIONS[label] = function


for _name, _by_feature, _alpha, _what in (
    ("dropout", False, False, "Zero each element with probability `p`."),
    ("feature_dropout", True, False, "Zero each channel with probability `p`."),
    ("alpha_dropout", False, True, "Dropout that keeps the statistics of SELU."),
    ("feature_alpha_dropout", True, True, "Dropout of channels that keeps the statistics of SELU."),
):
    _declare(_name, _by_feature, _alpha, _what)


# --- nn.functional --------------------------------------------------------------------------------


def _functional(fn: Function) -> Function:
    NN_FUNCTIONAL[fn.__name__] = fn
    return NN_FUNCTIONAL[fn.__name__]  # type: ignore[return-value]


@_functional
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability `p`, and scale the others by 1 / (1 - p)."""
    _check_given(p)
    found: Tensor = _dropped(input, p, training, inplace, False)
    return found


def _alpha_dropout(name: str, by_feature: bool, what: str) -> Callable[..., Tensor]:
    def dropout(
        input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
    ) -> Tensor:
        _check_given(p)
        found: Tensor = _dropped(input, p, training, inplace, by_feature, alpha=True)
        return found

    dropout.__name__ = dropout.__qualname__ = name
    dropout.__doc__ = what
    return _functional(dropout)


alpha_dropout = _alpha_dropout(
    "alpha_dropout", False, "Dropout that keeps the mean and variance of what went through SELU."
)
feature_alpha_dropout = _alpha_dropout(
    "feature_alpha_dropout", True, "`alpha_dropout` of whole channels."
)


@_functional
def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero each channel of (N, C, L) or (C, L) with probability `p`."""
    _check_given(p)
    rank = input.ndim
    if rank not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {rank}D input. Note that "
            "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, a "
            "channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _without_batch(input, p, training, inplace, rank == 3)


@_functional
def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero each channel of (N, C, H, W) with probability `p`."""
    _check_given(p)
    rank = input.ndim
    if rank not in (3, 4):
        warnings.warn(_unusual("dropout2d", rank, 2), stacklevel=warning_level())
    if rank == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
            "dim. This behavior will change in a future release to interpret the input as one "
            "without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead.",
            stacklevel=warning_level(),
        )
    found: Tensor = _dropped(input, p, training, inplace, True)
    return found


@_functional
def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero each channel of (N, C, D, H, W) or (C, D, H, W) with probability `p`."""
    _check_given(p)
    rank = input.ndim
    if rank not in (4, 5):
        warnings.warn(_unusual("dropout3d", rank, 3), stacklevel=warning_level())
    return _without_batch(input, p, training, inplace, rank == 5)


def _without_batch(input: Any, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    if not batched:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    found: Any = _dropped(input, p, training, inplace, True)
    if not batched:
        found = found.squeeze_(0) if inplace else found.squeeze(0)
    result: Tensor = found
    return result


def _unusual(name: str, rank: int, spatial: int) -> str:
    return (
        f"{name}: Received a {rank}-D input to {name}, which is deprecated and will result in an "
        "error in a future release. To retain the behavior and silence this warning, please use "
        f"dropout instead. Note that {name} exists to provide channel-wise dropout on inputs with "
        f"{spatial} spatial dimensions, a channel dimension, and an optional batch dimension (i.e. "
        f"{spatial + 1}D or {spatial + 2}D inputs)."
    )
