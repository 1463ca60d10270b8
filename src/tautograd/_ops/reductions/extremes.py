"""Largest and smallest: `amax` and `max` in its three forms, `argmax`, `aminmax`, and their twins.

Where several elements tie, `amax` and `max()` share the gradient evenly among them; `max(dim)`
gives it to the one whose index it reports. NaN counts as both largest and smallest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.sums import contiguous
from ..._autograd.apply import apply
from ..._autograd.lifted import counterpart
from ..._autograd.modes import modes
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import require_tensor
from ..declare.out_rules import (
    EXPECTED_MATCH,
    EXPECTED_OUT,
    index_result,
    same_as_input,
    values_and_indices,
)
from ..declare.public import FUNCTIONS, public
from ..declare.record import Op
from ..declare.return_types import RETURN_TYPES
from ..declare.samples import Sample, T
from ..declare.undefined_dtypes import no_kernel, refusal
from .reducing import axes_of, axis_of, no_empty_dims, place_at, reduce_with, restore, take_at
from .sums_and_means import over_all, over_dims

_largest: Any = np.maximum.reduce
_smallest: Any = np.minimum.reduce


def _share(g: Any, ties: Any, dim: Any) -> Any:
    """A gradient shared evenly among the elements marked in `ties`."""
    return g * ties / np.sum(ties, axis=dim, keepdims=dim is not None, dtype=g.dtype)


def _average(t: Any, ties: Any, dim: Any, keepdim: bool) -> Any:
    """The mean tangent of the elements marked in `ties`."""
    total = np.sum(t * ties, axis=dim, keepdims=keepdim)
    return total / np.sum(ties, axis=dim, keepdims=keepdim, dtype=t.dtype)


def _ties(x: Any, out: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Which elements equal the result."""
    return x == restore(out, x.shape, dim, keepdim)


def _ties_or_nan(x: Any, out: Any) -> Any:
    """Which elements equal the result, where NaN equals NaN."""
    return (x == out) | (np.isnan(x) & np.isnan(out))


# --- one value per line --------------------------------------------------------------------------


def _declare_amax(name: str, reduction: Any, pick: Any) -> None:
    op = Op(
        name,
        lambda x, dim, keepdim: contiguous(pick(x, axis=dim, keepdims=keepdim)),
        ("x",),
        vjp={
            "x": lambda g, x, out, dim, keepdim: _share(
                restore(g, x.shape, dim, keepdim), _ties(x, out, dim, keepdim), dim
            )
        },
        jvp={
            "x": lambda t, x, out, dim, keepdim: _average(
                t, _ties(x, out, dim, keepdim), dim, keepdim
            )
        },
        refuses=no_kernel(f"{name[1:]}_values_cpu", "c"),
        samples=lambda: [
            *over_all(kind="distinct"),
            *over_dims(kind="distinct"),
            Sample(T(4, 3, kind="ties"), 0),
            Sample(T(4, 3, kind="ties")),
            Sample(T(2, 0, 3), (0, 2)),
        ],
    )

    def call(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if not isinstance(input, Tensor):
            require_tensor(name, input)
        dims = axes_of(dim, input._data.ndim, name)
        no_empty_dims(name, input._data.shape, dims, RuntimeError)
        parameters = {"dim": dims, "keepdim": keepdim}
        if not (
            input._data.size or (modes.grad and input.requires_grad)
        ):  # PyTorch runs no kernel on nothing
            return apply(op, (input,), parameters)
        return reduce_with(op, name, input, parameters)

    call.__name__ = call.__qualname__ = name
    which = "largest" if name == "amax" else "smallest"
    call.__doc__ = f"The {which} value over `dim`; ties share the gradient evenly."
    public(name, out=same_as_input(EXPECTED_MATCH))(call)
    counterpart(reduction)(lambda x, axis=None, keepdims=False: call(x, axis, keepdims))


_declare_amax("amax", np.max, _largest)
_declare_amax("amin", np.min, _smallest)


# --- max and min in three forms ------------------------------------------------------------------


_EVERYTHING: Any = object()  # no dimension is given: None is none
_NOT_GIVEN: Any = object()  # who gives `keepdim` means a dimension, also by a tensor


def _declare_max(name: str, pick: Any, locate: Any, elementwise: str) -> None:
    full = Op(
        name,
        lambda x: pick(x, axis=None),
        ("x",),
        vjp={"x": lambda g, x, out: _share(g, _ties_or_nan(x, out), None)},
        jvp={"x": lambda t, x, out: _average(t, _ties_or_nan(x, out), None, False)},
        node=f"{name.capitalize()}Backward1",
        refuses=no_kernel(f"{name}_all", "c"),
        samples=lambda: [*over_all(kind="distinct"), Sample(T(3, 4, kind="ties"))],
    )

    def forward(x: Any, dim: int, keepdim: bool) -> Any:
        if not x.ndim:
            return x + 0 if x.dtype.kind != "b" else x | x, np.zeros_like(x, dtype=np.int64)
        values = pick(x, axis=dim, keepdims=keepdim)
        return contiguous(values), contiguous(locate(x, axis=dim, keepdims=keepdim))

    along = Op(
        f"{name}_dim",
        forward,
        ("x",),
        vjp={"x": lambda g, x_shape, out1, dim, keepdim: place_at(g, out1, x_shape, dim, keepdim)},
        jvp={
            "x": lambda t, out1, dim, keepdim: (take_at(t, out1, dim, keepdim), None),
        },
        outputs=2,
        differentiable_outputs=(0,),
        node=f"{name.capitalize()}Backward0",
        public=name,
        refuses=refusal(f"{name}(): does not support complex input", "c"),
        samples=lambda: [
            Sample(T(3, 4, kind="distinct"), 1),
            Sample(T(2, 3, 4, kind="distinct"), -2, True),
            Sample(T(3, 4, kind="distinct", layout="transposed"), 0),
            Sample(T(), 0),
            Sample(T(2, 0, 3), 0),
        ],
    )

    def call(
        input: Any, dim: Any = _EVERYTHING, keepdim: Any = _NOT_GIVEN, *, other: Any = None
    ) -> Any:
        if not isinstance(input, Tensor):
            require_tensor(name, input)
        if keepdim is _NOT_GIVEN:
            if other is not None or isinstance(dim, Tensor):
                return FUNCTIONS[elementwise](input, dim if other is None else other)
            keepdim = False
        shape = input._data.shape
        if dim is _EVERYTHING:
            no_empty_dims(name, shape, None, RuntimeError)
            return reduce_with(full, name, input, {})
        axis = axis_of(dim, len(shape), name)
        no_empty_dims(name, shape, axis, IndexError)
        if not isinstance(keepdim, bool):
            raise TypeError(
                f"{name}(): argument 'keepdim' (position 2) must be bool, not "
                f"{type(keepdim).__name__}"
            )
        return RETURN_TYPES[name](
            reduce_with(along, name, input, {"dim": axis, "keepdim": keepdim})
        )

    call.__name__ = call.__qualname__ = name
    which = "largest" if name == "max" else "smallest"
    call.__doc__ = (
        f"The {which} value; with `dim`, values and indices; with a tensor, element by element."
    )
    public(name, out=values_and_indices(EXPECTED_OUT, EXPECTED_OUT))(call)


_declare_max("max", _largest, np.argmax, "maximum")
_declare_max("min", _smallest, np.argmin, "minimum")


def _declare_argmax(name: str, locate: Any) -> None:
    def forward(x: Any, dim: int | None, keepdim: bool) -> Any:
        if not x.ndim:
            return np.zeros_like(x, dtype=np.int64)
        if dim is not None:
            return contiguous(locate(x, axis=dim, keepdims=keepdim))
        found = locate(np.reshape(x, (-1,)), axis=0)
        return np.reshape(found, (1,) * x.ndim) if keepdim else found

    op = Op(
        name,
        forward,
        ("x",),
        refuses=refusal(f"{name}(): does not support complex input", "c")
        | refusal(f"{name}(): does not support bool input", "b"),
        samples=lambda: [
            *over_all(kind="ties"),
            Sample(T(3, 4, kind="ties"), 1),
            Sample(T(2, 3, 4, kind="ties"), -2, True),
            Sample(T(2, 3), keepdim=True),
            Sample(T(), 0),
            Sample(T(0, 2), 1),
        ],
    )

    def call(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if not isinstance(input, Tensor):
            require_tensor(name, input)
        axis = None if dim is None else axis_of(dim, input._data.ndim, name)
        no_empty_dims(name, input._data.shape, axis, IndexError)
        return reduce_with(op, name, input, {"dim": axis, "keepdim": keepdim})

    call.__name__ = call.__qualname__ = name
    which = "largest" if name == "argmax" else "smallest"
    call.__doc__ = f"Where the {which} value is: the first, where several tie."
    public(name, out=index_result)(call)
    counterpart(locate)(lambda x, axis=None, keepdims=False: call(x, axis, keepdims))


_declare_argmax("argmax", np.argmax)
_declare_argmax("argmin", np.argmin)


# --- both at once --------------------------------------------------------------------------------


def _aminmax_forward(x: Any, dim: int | None, keepdim: bool) -> Any:
    axis = dim if x.ndim else None
    return (
        contiguous(_smallest(x, axis=axis, keepdims=keepdim)),
        contiguous(_largest(x, axis=axis, keepdims=keepdim)),
    )


def _aminmax_vjp(g: Any, x: Any, out: Any, dim: int | None, keepdim: bool) -> Any:
    axes = None if dim is None or not x.ndim else (dim,)
    low, high = (
        _share(restore(part, x.shape, axes, keepdim), _ties(x, found, axes, keepdim), axes)
        for part, found in zip(g, out, strict=True)
    )
    return low + high


def _aminmax_jvp(t: Any, x: Any, out: Any, dim: int | None, keepdim: bool) -> Any:
    axes = None if dim is None or not x.ndim else (dim,)
    return tuple(_average(t, _ties(x, found, axes, keepdim), axes, keepdim) for found in out)


aminmax_op = Op(
    "aminmax",
    _aminmax_forward,
    ("x",),
    vjp={"x": _aminmax_vjp},
    jvp={"x": _aminmax_jvp},
    outputs=2,
    refuses=no_kernel("aminmax_cpu", "c"),
    samples=lambda: [
        *over_all(kind="distinct"),
        Sample(T(3, 4, kind="distinct"), dim=1),
        Sample(T(2, 3, 4, kind="distinct"), dim=-2, keepdim=True),
        Sample(T(), dim=0),
        Sample(T(4, 3, kind="ties"), dim=0),
        Sample(T(2, 0, 3), dim=0),
    ],
)


@public()
def aminmax(input: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
    """The smallest and the largest value, in one result."""
    if not isinstance(input, Tensor):
        require_tensor("aminmax", input)
    shape = input._data.shape
    axis = None if dim is None else axis_of(dim, len(shape), "aminmax")
    if 0 in shape and axis is None:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity."
        )
    if axis is not None and shape and shape[axis] == 0:
        raise IndexError(f"aminmax: Expected reduction dim {axis} to have non-zero size.")
    return RETURN_TYPES["aminmax"](
        reduce_with(aminmax_op, "aminmax", input, {"dim": axis, "keepdim": keepdim})
    )
