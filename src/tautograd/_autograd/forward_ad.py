"""Forward mode: dual tensors, which carry a tangent through every operation.

with dual_level():
    y = f(make_dual(x, tangent))
    jvp = unpack_dual(y).tangent
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np

from .._arrays.strided import storage_of, storage_offset_of, strided
from .._ops.declare.record import LINEAR, Op
from .._tensor.tensor import Tensor, make
from .apply import apply
from .modes import change, modes
from .special import follow_base, hide_tangents, set_tangent, show_tangents

alias_op = Op(
    "alias",
    lambda x: x[...],
    ("x",),
    vjp={"x": lambda g: g},
    jvp=LINEAR,
    is_view=True,
    internal=True,
)
# The same under the name that PyTorch's make_dual gives it.
dual_op = Op(
    "dual",
    lambda x: x[...],
    ("x",),
    vjp={"x": lambda g: g},
    jvp=LINEAR,
    is_view=True,
    node="ViewBackward0",
    internal=True,
)

# level -> tensors that hold a tangent of it, so that closing the level frees the tangents
_holders: dict[int, list[Any]] = {}


def register(level: int, tensor: Tensor) -> None:
    """Remember that a tensor holds a tangent of this level."""
    _holders.setdefault(level, []).append(weakref.ref(tensor))


class UnpackedDualTensor(NamedTuple):
    """A dual tensor taken apart."""

    primal: Tensor
    tangent: Tensor | None


def current_level() -> int:
    """The innermost open level, from 0 on; -1 outside forward mode."""
    return modes.forward_level - 1


def enter_dual_level() -> int:
    """Open a forward-mode level; tangents live until it is closed."""
    if modes.forward_level:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment; torch.func.jvp can be nested"
        )
    return open_level()


def open_level() -> int:
    """A level inside all that are open; `torch.func.jvp` has as many as it wants."""
    change(forward_level=modes.forward_level + 1)
    return modes.forward_level - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the innermost level: its tangents are gone."""
    innermost = modes.forward_level - 1
    if level is None:
        level = innermost
    if level != innermost or level < 0:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is "
            "not supported."
        )
    for reference in _holders.pop(level, ()):
        tensor = reference()
        if tensor is not None and tensor._tangents:
            tensor._tangents = {k: t for k, t in tensor._tangents.items() if k != level} or None
    change(forward_level=innermost)


class dual_level:
    """A forward-mode level as a context."""

    def __enter__(self) -> int:
        self._level = enter_dual_level()
        return self._level

    def __exit__(self, *exc: object) -> None:
        exit_dual_level(level=self._level)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of `tensor` that carries `tangent` through the operations of an open level."""
    if modes.forward_level == 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    if level is None:
        level = modes.forward_level - 1
    for argument, value in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"make_dual(): argument '{argument}' must be Tensor, not {type(value).__name__}"
            )
        if not (value.dtype.is_floating_point or value.dtype.is_complex):
            name = "primal" if argument == "tensor" else "tangent"
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got: {value.dtype}"
            )
    if tuple(tensor._data.shape) != tuple(tangent._data.shape):
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(tensor.shape)} while the "
            f"given forward gradient is of size {list(tangent.shape)}."
        )
    follow_base(tangent)
    if level in (tangent._tangents or {}):
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level"
            f"{level} is not supported."
        )
    dual: Tensor = apply(dual_op, (tensor,))
    set_tangent(dual, level, _in_storage_like(tensor._data, tangent))
    return dual


def _in_storage_like(data: Any, tangent: Tensor) -> Tensor:
    """The tangent, or a copy in as much memory as the primal looks into: views of one are views of both."""
    own = tangent._data
    if type(data) is not np.ndarray or type(own) is not np.ndarray or not data.size:
        return tangent
    memory = storage_of(data)
    if memory.size == storage_of(own).size or not memory.dtype == own.dtype == data.dtype:
        return tangent
    offset = storage_offset_of(data) * data.itemsize
    room = np.zeros(memory.size, own.dtype)
    return make(strided(room, data.shape, data.strides, offset)).copy_(tangent)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The primal and the tangent (None if it has none at this level) of a dual tensor."""
    if level is None:
        level = modes.forward_level - 1
    if level < 0:
        return UnpackedDualTensor(tensor, None)
    follow_base(tensor)
    tangent = (tensor._tangents or {}).get(level)
    hidden = hide_tangents((tensor,), level)
    try:
        primal = apply(alias_op, (tensor,))
    finally:
        show_tangents(hidden)
    return UnpackedDualTensor(primal, tangent)
