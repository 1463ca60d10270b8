"""Other dtypes: `to`, `type`, `float()` and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.devices import CPU, as_device, device, moved, on_cuda_start
from ..._arrays.dtypes import (
    DTYPE_NAMES,
    LEGACY_NAMES,
    as_dtype,
    dtype,
    from_numpy_dtype,
    get_default_dtype,
)
from ..._arrays.formats import empty_preserving, preserve_format
from ..._arrays.strided import with_strides_of
from ..._autograd.apply import apply
from ..._autograd.lifted import counterpart
from ..._tensor.tensor import Tensor, make
from ..declare.elementwise_calls import require_tensor
from ..declare.guarding import explain, marked
from ..declare.public import attach, public
from ..declare.record import LINEAR, Op
from ..declare.samples import Sample, T
from ..declare.warn_once import warn_once
from ..shape.rearranging import suggested_format

# --- another dtype --------------------------------------------------------------------------------


def real_part(x: Any, target: Any) -> Any:
    """What a real (or integer) dtype takes of a complex value; PyTorch warns of it once."""
    if x.dtype.kind != "c" or target.kind in "cb":
        return x
    warn_once("Casting complex values to real discards the imaginary part")
    return np.real(x)


def _to_copy(x: Any, dtype: Any, memory_format: Any) -> Any:
    x = real_part(x, dtype)
    if type(x) is not np.ndarray:
        out = np.astype(x, dtype)
        return with_strides_of(out, x) if memory_format is preserve_format else out
    out = empty_preserving(x, dtype, memory_format)
    np.copyto(out, x, casting="unsafe")
    return with_strides_of(out, x) if memory_format is preserve_format else out


to_copy_op = Op(
    "to_copy",
    _to_copy,
    ("x",),
    vjp={"x": lambda g: g},
    jvp=LINEAR,
    opmath=False,
    public="Tensor.double",
    samples=lambda: [
        Sample(T(2, 3)),
        Sample(T()),
        Sample(T(0)),
        Sample(T(2, 3, layout="transposed")),
    ],
)

_FORMS = (
    "to() received an invalid combination of arguments - got ({}), but expected one of:\n"
    " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool "
    "copy = False, *, torch.memory_format memory_format = None)\n"
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
    if type(asked) is not type(preserve_format):
        name = "to" if wanted is None else wanted.name
        raise TypeError(
            f"{name}(): argument 'memory_format' must be torch.memory_format, not "
            f"{type(asked).__name__}"
        )
    if wanted is None or wanted.numpy == input._data.dtype:
        if not copy and asked in (preserve_format, suggested_format(input._data)):
            return input
        wanted = input.dtype
    result: Tensor = apply(to_copy_op, (input,), {"dtype": wanted.numpy, "memory_format": asked})
    return result


def _is_dtype(value: Any) -> bool:
    return isinstance(value, dtype) or any(value is kind for kind in (float, int, bool, complex))


@public(function=False, out=False)
@marked
def to(self: Tensor, *args: Any, **given: Any) -> Tensor:
    """This tensor with another dtype or device; itself where nothing is to change."""
    try:
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
        wanted = other.dtype if other is not None else None if kind is None else as_dtype(kind)
        copy = bool(options.get("copy", False))
        if place is not None or other is not None:
            where = as_device(place if other is None else other.device)
            if where != self.device:
                self = moved_to(self, where)
                copy = False
        return cast(self, wanted, copy, options.get("memory_format"))
    except Exception as error:
        explain(error, "to", (self, *args), given, method=True)
        raise


def _to_device(x: Any, target: Any, source: Any) -> Any:
    found = moved(x, target)
    return _to_copy(x, x.dtype, preserve_format) if found is x else found


def _prepare(backend: Any) -> None:
    if backend.has_kernels:
        from ..on_gpu import install

        install()


on_cuda_start.append(_prepare)

to_device_op: Op = Op(
    "to_device",
    _to_device,
    ("x",),
    vjp={"x": lambda g, target, source: to_device_op(g, target=source, source=target)},
    jvp=LINEAR,
    opmath=False,
    node="ToCopyBackward0",
    internal=True,
)


def moved_to(tensor: Tensor, where: device) -> Tensor:
    """A copy of a tensor on another device; its gradient comes back to where the tensor is."""
    found: Tensor = apply(to_device_op, (tensor,), {"target": where, "source": tensor.device})
    return found


def _conversion(name: str) -> None:
    kind = DTYPE_NAMES[_METHODS.get(name, name)]

    def convert(self: Tensor, *, memory_format: Any = None) -> Tensor:
        try:
            return cast(self, kind, memory_format=memory_format)
        except Exception as error:
            explain(error, name, (self,), {"memory_format": memory_format}, method=True)
            raise

    marked(convert)
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
        place = "" if type(self._data) is np.ndarray or self.is_cpu else f"{self.device.type}."
        return f"torch.{place}{LEGACY_NAMES[self.dtype]}Tensor"
    if dtype is Tensor:
        return cast(self, get_default_dtype())
    if _is_plain_dtype(dtype):
        return cast(self, dtype)
    name = _type_text(dtype)
    on_gpu = name.startswith("torch.cuda.")
    wanted = _LEGACY_DTYPES.get(name.replace("torch.cuda.", "torch.", 1))
    if wanted is None:
        raise ValueError(f"invalid type: '{name}'")
    return cast(self, wanted).cuda() if on_gpu else cast(self, wanted).cpu()


def _is_plain_dtype(value: Any) -> bool:
    return isinstance(value, dtype)


def _type_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    module = getattr(value, "__module__", "builtins")
    name = getattr(value, "__name__", str(value))
    if module == "builtins":
        return str(name)
    return f"torch.cuda.{name}" if module == "torch.cuda" else f"torch.{name}"


@public(function=False, out=False)
def type_as(self: Tensor, other: Any) -> Tensor:
    """This tensor in the dtype of another."""
    require_tensor("type_as", other, "other")
    if self.device != other.device:
        return self.to(other.device, other.dtype)
    return cast(self, other.dtype)


@public(function=False, out=False)
@marked
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """This tensor on the CPU."""
    try:
        if type(self._data) is not np.ndarray and self.device != CPU:
            self = moved_to(self, CPU)
        return cast(self, None, memory_format=memory_format)
    except Exception as error:
        explain(error, "cpu", (self, memory_format), {}, method=True)
        raise


@counterpart(np.astype)
def _np_astype(x: Tensor, dtype: Any, copy: bool = True, device: Any = None) -> Tensor:
    return cast(x, from_numpy_dtype(np.dtype(dtype)))


# --- constants inside rules -----------------------------------------------------------------------


def _constant(fill: Any) -> Any:
    def on_tensors(
        x: Tensor, *args: Any, dtype: Any = None, shape: Any = None, **options: Any
    ) -> Tensor:
        values = [a._data if isinstance(a, Tensor) else a for a in args]
        return make(fill(x._data, *values, dtype=dtype, shape=shape))

    return on_tensors


for _function in (np.zeros_like, np.ones_like, np.empty_like, np.full_like):
    counterpart(_function)(_constant(_function))
counterpart(np.ndim)(lambda x: x._data.ndim)
counterpart(np.shape)(lambda x: tuple(x._data.shape))
