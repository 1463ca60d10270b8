"""Values written in place: `copy_`, `fill_`, `zero_`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.result_layout import as_first
from ..._autograd.apply import apply, edge_of
from ..._autograd.lifted import counterpart
from ..._autograd.modes import modes
from ..._autograd.views import adopt, bump, check_writable
from ..._tensor.tensor import Tensor, make
from ..declare.elementwise_calls import check_broadcast, require_tensor
from ..declare.guarding import explain, marked
from ..declare.in_place_twins import write_into
from ..declare.memory_overlap import refuse_overlap, refuse_partial_overlap
from ..declare.public import FUNCTIONS, public
from ..declare.record import Op, renamed
from ..declare.samples import Sample, T
from ..elementwise.casting import real_part


def unrecorded(self: Tensor, *others: Any) -> bool:
    """Whether a write into `self` concerns no history, so that it can go straight to memory."""
    recording = modes.way[0]
    if not recording:
        return recording is not None
    for x in (self, self._base, *others):
        if isinstance(x, Tensor) and edge_of(x) is not None:
            return False
    return True


def _nothing(g: Any) -> Any:
    """The old values do not matter any more."""
    return np.zeros_like(g)


def _nothing_forward(t: Any) -> Any:
    return np.zeros_like(t)


def _copied(x: Any, src: Any) -> Any:
    if type(x) is not np.ndarray or type(src) is not np.ndarray:
        values = np.astype(real_part(src, x.dtype), x.dtype)
        return np.where(np.ones_like(x, dtype=np.bool_), values, x)
    out = np.empty_like(x)
    np.copyto(out, real_part(src, x.dtype), casting="unsafe")
    return out


copy_op = Op(
    "copy",
    _copied,
    ("x", "src"),
    vjp={"x": _nothing, "src": lambda g: g},
    jvp={"x": _nothing_forward, "src": lambda t: t},
    node="torch::autograd::CopyBackwards",
    opmath=False,
    public="Tensor.copy_",
    samples=lambda: [
        Sample(T(2, 3), T(2, 3, seed=1)),
        Sample(T(2, 3), T(3, seed=1)),
        Sample(T(2, 3), T(2, 1, seed=1, dtype="float64")),
        Sample(T(2, 3, layout="transposed"), T(seed=1)),
        Sample(T(), T(seed=1)),
        Sample(T(0, 2), T(2, seed=1)),
    ],
)


@public(function=False, out=False)
def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Write another tensor's values into this one, broadcast and cast."""
    if not isinstance(other, Tensor):
        if not isinstance(other, (int, float, complex, np.number, np.bool_)):
            require_tensor("copy_", other, "other")
        other = make(np.asarray(other))
    check_writable(self, other)
    if type(other._data) is not type(self._data) and other.device != self.device:
        other = other.to(self.device)
    refuse_partial_overlap(self, other)
    target, source = self._data, other._data
    if target.shape != source.shape:
        check_expandable(source.shape, target.shape)
    if unrecorded(self, other):
        if other is not self:
            if 0 in target.strides:
                refuse_overlap(target)
            modes.quietly(np.copyto, target, real_part(source, target.dtype), casting="unsafe")
        bump(self)
        return self
    return write_into(self, apply(copy_op, (self, other)), "copy")


def check_expandable(shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """PyTorch's errors for a source that does not broadcast to the shape of its target."""
    if len(shape) > len(wanted):
        check_broadcast(wanted, shape)
        raise RuntimeError(
            f"output with shape {list(wanted)} doesn't match the broadcast shape {list(shape)}"
        )
    check_broadcast(wanted, shape)
    for dim, (m, n) in enumerate(zip(wanted[len(wanted) - len(shape) :], shape, strict=True)):
        if n not in (1, m):
            broadcast = list(wanted)
            broadcast[len(wanted) - len(shape) + dim] = n
            raise RuntimeError(
                f"output with shape {list(wanted)} doesn't match the broadcast shape {broadcast}"
            )


@counterpart(np.copyto)
def _np_copyto(dst: Tensor, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if where is not True:
        src = FUNCTIONS["where"](where, src, dst)
    copy_(dst, src)


zero_op = Op(
    "zero",
    lambda x: np.zeros_like(x),
    ("x",),
    vjp={"x": _nothing},
    jvp={"x": _nothing_forward},
    opmath=False,
    public="Tensor.zero_",
    samples=lambda: [
        Sample(T(2, 3)),
        Sample(T()),
        Sample(T(0, 2)),
        Sample(T(2, 3, layout="transposed")),
    ],
)
fill_op = Op(
    "fill",
    lambda x, value: np.full_like(x, value),
    ("x",),
    layout=as_first,
    vjp={"x": _nothing},
    jvp={"x": _nothing_forward},
    opmath=False,
    samples=lambda: [Sample(T(2, 3), 2), Sample(T(), 1.0), Sample(T(0, 2), True)],
)
fill_tensor_op = Op(
    "fill_tensor",
    _copied,
    ("x", "value"),
    layout=as_first,
    vjp={"x": _nothing, "value": lambda g: g},
    jvp={"x": _nothing_forward, "value": lambda t: t},
    node="FillBackward1",
    opmath=False,
    public="fill",
    samples=lambda: [Sample(T(2, 3), T(seed=1)), Sample(T(), T(seed=1)), Sample(T(0), T(seed=1))],
)
_fill_inplace_op = renamed(fill_op, "FillBackward2")
_fill_tensor_inplace_op = renamed(fill_tensor_op, "FillBackward3")


_SAFE = 3e38  # numbers below it fit every float


def _fill_value(self: Tensor, value: Any, name: str) -> Any:
    """A 0-dim tensor, or a number that this tensor's dtype can hold."""
    if isinstance(value, Tensor):
        if value._data.ndim:
            raise RuntimeError(
                "fill_ only supports 0-dimension value tensor but got tensor with "
                f"{value._data.ndim} dimensions."
            )
        return value
    if not isinstance(value, (int, float, complex, np.number, np.bool_)):
        shown = type(value).__name__
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({shown}), but expected "
            "one of:\n * (Tensor value)\n      didn't match because some of the arguments have "
            f"invalid types: (!{shown}!)\n * (Number value)\n      didn't match because some of "
            f"the arguments have invalid types: (!{shown}!)\n"
        )
    from ..._tensor.arguments import as_element

    return as_element(value.item() if isinstance(value, np.generic) else value, self.dtype)


@public(out=False)
def fill(input: Any, value: Any) -> Tensor:
    """A tensor like this one with every element `value`."""
    require_tensor("fill", input)
    value = _fill_value(input, value, "fill")
    if isinstance(value, Tensor):
        result: Tensor = apply(fill_tensor_op, (input, value))
        return result
    filled: Tensor = apply(fill_op, (input,), {"value": value})
    return filled


@public(out=False)
@marked
def fill_(input: Tensor, value: Any) -> Tensor:
    """Set every element to `value`."""
    try:
        check_writable(input, value)
        data = input._data
        if (
            (type(value) is float or type(value) is int)
            and data.dtype.char in "fd"
            and -_SAFE < value < _SAFE
            and type(data) is np.ndarray
            and unrecorded(input)
        ):
            data.fill(value)
            bump(input)
            return input
        value = _fill_value(input, value, "fill_")
        if unrecorded(input, value):
            number = (
                real_part(value._data, input._data.dtype) if isinstance(value, Tensor) else value
            )
            modes.quietly(np.copyto, input._data, number, casting="unsafe")
            bump(input)
            return input
        if isinstance(value, Tensor):
            store(input, apply(_fill_tensor_inplace_op, (input, value)))
        else:
            store(input, apply(_fill_inplace_op, (input,), {"value": value}))
        return input
    except Exception as error:
        explain(error, "fill_", (input, value), {}, method=True)
        raise


@public(out=False)
@marked
def zero_(input: Tensor) -> Tensor:
    """Set every element to zero."""
    try:
        check_writable(input)
        if unrecorded(input):
            if type(input._data) is np.ndarray:
                input._data.fill(0)
            else:
                np.copyto(input._data, 0, casting="unsafe")
            bump(input)
            return input
        store(input, apply(zero_op, (input,)))
        return input
    except Exception as error:
        explain(error, "zero_", (input,), {}, method=True)
        raise


def store(self: Tensor, result: Tensor) -> None:
    """Write one value, with its history, into all of a tensor: then overlaps do not matter."""
    if modes.exporter is not None:
        modes.exporter.written(self, result)
    modes.quietly(np.copyto, self._data, result._data, casting="unsafe")
    bump(self, 3)
    adopt(self, result)
