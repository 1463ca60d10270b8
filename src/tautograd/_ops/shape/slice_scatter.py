"""Copies with a part replaced: diagonal_scatter, select_scatter, slice_scatter; and narrow_copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.formats import preserve_format
from ..._arrays.strided import copied_with_strides
from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor
from ..declare.dims import wrap_dim
from ..declare.elementwise_calls import require_tensor
from ..declare.out_argument import CONTIGUOUS_OUT
from ..declare.public import public
from ..declare.record import LINEAR, REGISTRY, Op
from ..declare.rule_calls import Rule, written
from ..declare.samples import Sample, T
from ..nn.line_maps import constant
from .rearranging import copy_as
from .slices import diagonal_op, narrow_bounds, select_op, selected, slice_op
from .strided_views import same_size


def _scatter_of(part: Op, parameters: str, samples: Callable[[], list[Sample]]) -> Op:
    """Declare the operation that writes `src` into a copy, where the view `part` shows it."""
    names = parameters.split()
    call = ", ".join(f"{n}={n}" for n in names)
    embedding = REGISTRY[f"{part.name}_backward"]

    def replace(x: Any, src: Any, **where: Any) -> Any:
        if type(x) is np.ndarray and type(src) is np.ndarray:
            # A gap in memory stays one; only what overlaps itself becomes dense.
            out = copy_as(x, preserve_format) if 0 in x.strides else copied_with_strides(x)
            np.copyto(part.forward(out, **where), src, casting="unsafe")
            return out
        # Parts of other arrays may not be written to: choose, element by element, which one counts.
        shape = tuple(x.shape)
        there = np.zeros(shape, np.bool_)
        np.copyto(part.forward(there, **where), True)
        there = constant(there, x)
        return np.where(there, embedding.forward(np.astype(src, x.dtype), shape, **where), x)

    scope: dict[str, Any] = {"part": part, "np": np}
    zeros = "np.zeros_like(g, shape=src_shape)"
    scope["op"] = Op(
        f"{part.name}_scatter",
        replace,
        ("x", "src"),
        parameters=names,
        vjp={
            "x": _rule(f"lambda g, src_shape, {', '.join(names)}: op(g, {zeros}, {call})", scope),
            "src": _rule(f"lambda g, {', '.join(names)}: part(g, {call})", scope),
        },
        jvp=LINEAR,
        opmath=False,
        samples=samples,
    )
    op: Op = scope["op"]
    return op


def _rule(text: str, scope: dict[str, Any]) -> Rule:
    rule: Rule = written(text, scope)
    return rule


diagonal_scatter_op = _scatter_of(
    diagonal_op,
    "offset dim1 dim2",
    lambda: [
        Sample(T(3, 4), T(3, seed=1)),
        Sample(T(3, 4), T(2, seed=1), -1),
        Sample(T(2, 3, 4), T(3, 1, seed=1), 1, -1, 0),
        Sample(T(3, 3, layout="transposed"), T(3, seed=1)),
    ],
)
select_scatter_op = _scatter_of(
    select_op,
    "dim index",
    lambda: [
        Sample(T(3, 4), T(4, seed=1), 0, 1),
        Sample(T(3, 4), T(3, seed=1), -1, -2),
        Sample(T(3), T(seed=1), 0, 1),
        Sample(T(3, 4, layout="transposed"), T(4, seed=1), dim=0, index=0),
    ],
)
slice_scatter_op = _scatter_of(
    slice_op,
    "dim start end step",
    lambda: [
        Sample(T(3, 4), T(2, 4, seed=1), 0, 1),
        Sample(T(3, 4), T(3, 2, seed=1), 1, None, None, 2),
        Sample(T(3, 4), T(3, 1, seed=1), -1, -2, -1),
        Sample(T(3, 4, layout="transposed"), T(3, 4, seed=1)),
    ],
)


def _replace(op: Op, input: Tensor, src: Any, parameters: dict[str, Any], part: Op) -> Tensor:
    require_tensor(op.name, src, "src", 2)
    if src.device != input.device:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{input.device} and {src.device}!"
        )
    same_size(src, part.forward(input._data, **parameters).shape)
    result: Tensor = apply(op, (input, src), parameters)
    return result


@public(out=False)
def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of `input` with a diagonal replaced by `src`."""
    require_tensor("diagonal_scatter", input)
    ndim = input._data.ndim
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    parameters = {"offset": offset, "dim1": first, "dim2": second}
    return _replace(diagonal_scatter_op, input, src, parameters, diagonal_op)


@public(out=False)
def select_scatter(input: Any, src: Any, dim: Any, index: Any) -> Tensor:
    """A copy of `input` with one index of a dimension replaced by `src`."""
    require_tensor("select_scatter", input)
    dim, index = selected(input._data.shape, dim, index, "select_scatter")
    parameters = {"dim": dim, "index": index}
    return _replace(select_scatter_op, input, src, parameters, select_op)


@public()
def slice_scatter(
    input: Any, src: Any, dim: Any = 0, start: Any = None, end: Any = None, step: Any = 1
) -> Tensor:
    """A copy of `input` with a slice of a dimension replaced by `src`."""
    require_tensor("slice_scatter", input)
    dim = wrap_dim(dim, input._data.ndim)
    if not input._data.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    first, last, step = slice(start, end, step).indices(input._data.shape[dim])
    parameters = {"dim": dim, "start": first, "end": max(first, last), "step": step}
    return _replace(slice_scatter_op, input, src, parameters, slice_op)


CONTIGUOUS_OUT["slice_scatter"] = lambda result, *args: True

_slice_backward_op = REGISTRY["slice_backward"]
narrow_copy_op = Op(
    "narrow_copy",
    lambda x, dim, start, end: np.copy(
        slice_op.forward(x, dim=dim, start=start, end=end, step=1), order="C"
    ),
    ("x",),
    vjp={
        "x": lambda g, x_shape, dim, start, end: _slice_backward_op(
            g, shape=x_shape, dim=dim, start=start, end=end, step=1
        )
    },
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(3, 4), 0, 1, 2),
        Sample(T(3, 4), -1, -2, 1),
        Sample(T(3), 0, 3, 0),
        Sample(T(3, 4, layout="transposed"), 1, 0, 2),
    ],
)


@public()
def narrow_copy(input: Any, dim: Any, start: Any, length: Any) -> Tensor:
    """`narrow` as a copy."""
    require_tensor("narrow_copy", input)
    dim, start, end = narrow_bounds(input, dim, start, length, "narrow_copy")
    result: Tensor = apply(narrow_copy_op, (input,), {"dim": dim, "start": start, "end": end})
    return result
