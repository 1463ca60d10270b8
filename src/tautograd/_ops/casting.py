"""Other dtypes, and values written in place: `to`, `type`, `float()`, `copy_`, `fill_`, `zero_`."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from .._arrays.devices import as_device, device
from .._arrays.dtypes import DTYPE_NAMES, LEGACY_NAMES, as_dtype, dtype, from_numpy_dtype
from .._arrays.formats import empty_preserving, preserve_format
from .._autograd.apply import apply, edge_of
from .._autograd.lifted import counterpart
from .._autograd.modes import modes
from .._autograd.views import bump, check_writable
from .._tensor.tensor import Tensor, make
from .elementwise import check_broadcast, require_tensor
from .public import attach, public, write_into
from .rearranging import suggested_format
from .record import LINEAR, Op
from .samples import Sample, T

# --- another dtype --------------------------------------------------------------------------------


def real_part(x: Any, target: Any) -> Any:
    """What a real (or integer) dtype takes of a complex value; PyTorch warns of it once."""
    if x.dtype.kind != "c" or target.kind in "cb":
        return x
    if not _warned:
        _warned.append(True)
        warnings.warn(
            "Casting complex values to real discards the imaginary part", UserWarning, stacklevel=6
        )
    return np.real(x)


_warned: list[bool] = []


def _to_copy(x: Any, dtype: Any, memory_format: Any) -> Any:
    x = real_part(x, dtype)
    if type(x) is not np.ndarray:
        return np.astype(x, dtype)
    out = empty_preserving(x, dtype, memory_format)
    np.copyto(out, x, casting="unsafe")
    return out


to_copy_op = Op(
    "to_copy",
    _to_copy,
    ("x",),
    vjp={"x": lambda g: g},
    jvp=LINEAR,
    opmath=False,
    public="Tensor.double",
    samples=lambda: [Sample(T(2, 3)), Sample(T()), Sample(T(0)), Sample(T(2, 3, layout="transposed"))],
)

_FORMS = (
    "to() received an invalid combination of arguments - got ({}), but expected one of:\n"
    " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = "
    "False, *, torch.memory_format memory_format = None)\n"
    " * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, torch.memory_format "
    "memory_format = None)\n"
    " * (Tensor tensor, bool non_blocking = False, bool copy = False, *, torch.memory_format "
    "memory_format = None)\n"
)


def cast(
    input: Tensor, wanted: dtype | None, copy: bool = False, memory_format: Any = None
) -> Tensor:
    """The tensor in another dtype; itself where nothing is to change."""
    asked = preserve_format if memory_format is None else memory_format
    if wanted is None or wanted.numpy == input._data.dtype:
        if not copy and asked in (preserve_format, suggested_format(input._data)):
            return input
        wanted = input.dtype
    result: Tensor = apply(to_copy_op, (input,), {"dtype": wanted.numpy, "memory_format": asked})
    return result


def _is_dtype(value: Any) -> bool:
    return isinstance(value, dtype) or value in (float, int, bool, complex)


@public(function=False, out=False)
def to(self: Tensor, *args: Any, **given: Any) -> Tensor:
    """This tensor with another dtype or device; itself where nothing is to change."""
    names: tuple[str, ...] = ("device", "dtype", "non_blocking", "copy")
    if args and (isinstance(args[0], Tensor) or _is_dtype(args[0])):
        names = ("tensor" if isinstance(args[0], Tensor) else "dtype", "non_blocking", "copy")
    options = dict(zip(names, args, strict=False)) | given
    kind, place = options.get("dtype"), options.get("device")
    other = options.pop("tensor", None)
    if (
        len(args) > len(names)
        or options.keys() - {"dtype", "device", "non_blocking", "copy", "memory_format"}
        or not (kind is None or _is_dtype(kind))
        or not (place is None or isinstance(place, (str, int, device)))
        or not (other is None or isinstance(other, Tensor))
    ):
        shown = [type(a).__name__ for a in args]
        shown += [f"{k}={type(v).__name__}, " for k, v in given.items()]
        raise TypeError(_FORMS.format(", ".join(shown)))
    if place is not None:
        as_device(place)
    wanted = other.dtype if other is not None else None if kind is None else as_dtype(kind)
    return cast(self, wanted, bool(options.get("copy", False)), options.get("memory_format"))


def _conversion(name: str) -> None:
    kind = DTYPE_NAMES[_METHODS.get(name, name)]

    def convert(self: Tensor, *, memory_format: Any = None) -> Tensor:
        return cast(self, kind, memory_format=memory_format)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"This tensor as `{kind.name}`."
    attach(name, convert)


_METHODS = {"char": "int8", "byte": "uint8"}
for _name in (
    "float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool", "cfloat",
    "cdouble",
):  # fmt: skip
    _conversion(_name)

_LEGACY_DTYPES = {f"torch.{name}Tensor": kind for kind, name in LEGACY_NAMES.items()}


@public("type", function=False, out=False)
def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False, **options: Any) -> Any:
    """The name of this tensor's type; or, given a dtype or such a name, the tensor cast to it."""
    if dtype is None:
        return f"torch.{LEGACY_NAMES[self.dtype]}Tensor"
    wanted = dtype if _is_plain_dtype(dtype) else _LEGACY_DTYPES.get(_type_text(dtype))
    if wanted is None:
        raise ValueError(f"invalid type: '{_type_text(dtype)}'")
    return cast(self, wanted)


def _is_plain_dtype(value: Any) -> bool:
    return isinstance(value, dtype)


def _type_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    module = getattr(value, "__module__", "builtins")
    name = getattr(value, "__name__", str(value))
    return name if module == "builtins" else f"torch.{name}"


@public(function=False, out=False)
def type_as(self: Tensor, other: Any) -> Tensor:
    """This tensor in the dtype of another."""
    require_tensor("type_as", other, "other")
    return cast(self, other.dtype)


@public(function=False, out=False)
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """This tensor on the CPU."""
    return cast(self, None, memory_format=memory_format)


@counterpart(np.astype)
def _np_astype(x: Tensor, dtype: Any, copy: bool = True, device: Any = None) -> Tensor:
    return cast(x, from_numpy_dtype(np.dtype(dtype)))


# --- values written in place ----------------------------------------------------------------------


def unrecorded(self: Tensor, *others: Any) -> bool:
    """Whether a write into `self` concerns no history, so that it can go straight to memory."""
    if modes.special:
        return False
    if not modes.grad:
        return True
    for x in (self, self._base, *others):
        if isinstance(x, Tensor) and edge_of(x) is not None:
            return False
    return True


def refuse_overlap(array: Any) -> None:
    """Writing different values into one memory location is an error."""
    for stride, extent in zip(array.strides, array.shape, strict=True):
        if stride == 0 and extent > 1:
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a "
                "single memory location. Please clone() the tensor before performing the operation."
            )


def renamed(op: Op, node: str) -> Op:
    """The same operation under the node name that its in-place form has."""
    twin = copy.copy(op)
    twin.node_name = node
    return twin


def _nothing(g: Any) -> Any:
    """The old values do not matter any more."""
    return np.zeros_like(g)


def _nothing_forward(t: Any) -> Any:
    return np.zeros_like(t)


def _copied(x: Any, src: Any) -> Any:
    out = np.empty_like(x)
    np.copyto(out, real_part(src, x.dtype), casting="unsafe")
    return out


copy_op = Op(
    "copy",
    _copied,
    ("x", "src"),
    vjp={"x": _nothing, "src": lambda g: g},
    jvp={"x": _nothing_forward, "src": lambda t: t},
    node="CopyBackwards",
    opmath=False,
    public="Tensor.copy_",
)


@public(function=False, out=False)
def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Write another tensor's values into this one, broadcast and cast."""
    if not isinstance(other, Tensor):
        if not isinstance(other, (int, float, complex, np.number, np.bool_)):
            require_tensor("copy_", other, "other")
        other = make(np.asarray(other))
    check_writable(self)
    target, source = self._data, other._data
    if target.shape != source.shape:
        check_expandable(source.shape, target.shape)
    if unrecorded(self, other):
        if 0 in target.strides:
            refuse_overlap(target)
        np.copyto(target, real_part(source, target.dtype), casting="unsafe")
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
        from .public import FUNCTIONS

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
)
fill_op = Op(
    "fill",
    lambda x, value: np.full_like(x, value),
    ("x",),
    vjp={"x": _nothing},
    jvp={"x": _nothing_forward},
    opmath=False,
    samples=lambda: [Sample(T(2, 3), 2), Sample(T(), 1.0), Sample(T(0, 2), True)],
)
fill_tensor_op = Op(
    "fill_tensor",
    _copied,
    ("x", "value"),
    vjp={"x": _nothing, "value": lambda g: g},
    jvp={"x": _nothing_forward, "value": lambda t: t},
    node="FillBackward1",
    opmath=False,
    public="fill",
    samples=lambda: [Sample(T(2, 3), T(seed=1)), Sample(T(), T(seed=1)), Sample(T(0), T(seed=1))],
)
_fill_inplace_op = renamed(fill_op, "FillBackward2")
_fill_tensor_inplace_op = renamed(fill_tensor_op, "FillBackward3")


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
            f"{name}() received an invalid combination of arguments - got ({shown}), but expected one "
            f"of:\n * (Tensor value)\n      didn't match because some of the arguments have invalid "
            f"types: (!{shown}!)\n * (Number value)\n      didn't match because some of the arguments "
            f"have invalid types: (!{shown}!)\n"
        )
    from .._tensor.arguments import as_element

    return as_element(value.item() if isinstance(value, np.generic) else value, self.dtype)


@public(out=False)
def fill(input: Any, value: Any) -> Tensor:
    """A tensor like this one with every element `value`."""
    require_tensor("fill", input)
    value = _fill_value(input, value, "fill")
    if isinstance(value, Tensor):
        result: Tensor = apply(fill_tensor_op, (input, value))
        return result
    result = apply(fill_op, (input,), {"value": value})
    return result


@public(out=False)
def fill_(input: Tensor, value: Any) -> Tensor:
    """Set every element to `value`."""
    check_writable(input)
    value = _fill_value(input, value, "fill_")
    if unrecorded(input, value):
        number = real_part(value._data, input._data.dtype) if isinstance(value, Tensor) else value
        np.copyto(input._data, number, casting="unsafe")
        bump(input)
        return input
    if isinstance(value, Tensor):
        return write_into(input, apply(_fill_tensor_inplace_op, (input, value)), "fill")
    return write_into(input, apply(_fill_inplace_op, (input,), {"value": value}), "fill")


@public(out=False)
def zero_(input: Tensor) -> Tensor:
    """Set every element to zero."""
    check_writable(input)
    if unrecorded(input):
        np.copyto(input._data, 0, casting="unsafe")
        bump(input)
        return input
    return write_into(input, apply(zero_op, (input,)), "zero")


# --- constants inside rules -----------------------------------------------------------------------


def _constant(fill: Any) -> Any:
    def on_tensors(x: Tensor, *args: Any, dtype: Any = None, shape: Any = None, **options: Any) -> Tensor:
        values = [a._data if isinstance(a, Tensor) else a for a in args]
        return make(fill(x._data, *values, dtype=dtype, shape=shape))

    return on_tensors


for _function in (np.zeros_like, np.ones_like, np.empty_like, np.full_like):
    counterpart(_function)(_constant(_function))
counterpart(np.ndim)(lambda x: x._data.ndim)
counterpart(np.shape)(lambda x: tuple(x._data.shape))
