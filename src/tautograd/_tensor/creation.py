"""Tensors from data: `tensor`, which copies, and functions that share memory if they can."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._arrays.devices import as_device, cuda_backend, default, moved
from .._arrays.dtypes import ALL_DTYPES, LEGACY_NAMES, from_numpy_dtype, get_default_dtype
from .._autograd.modes import modes, shared
from .._ops.declare.public import FUNCTIONS
from .._user_code.sites import warning_level
from .arguments import (
    checked_size,
    finish,
    put,
    refuse_pinned,
    require_differentiable,
    type_name,
    wanted_dtype,
)
from .attributes import state_of
from .from_data import array_from, check_byte_order, check_strides
from .tensor import Tensor, make


def function(fn: Any) -> Any:
    """Export a function as `tautograd.<name>`."""
    FUNCTIONS[fn.__name__] = fn
    return fn


def tensor(
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    **data: Any,
) -> Tensor:
    """A new tensor with a copy of `data` (numbers, nested lists, an array or a tensor)."""
    if len(args) != 1 or data:
        args = _data_argument(args, data)
    value = args[0]
    if not shared.ordinary and modes.function_modes:
        from .._autograd.function_modes import shown

        options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        return shown(tensor, args, {**options, "pin_memory": pin_memory})  # type: ignore[no-any-return]
    if type(value) is float and dtype is None and device is None and default.device is None:
        out = make(np.array(value, get_default_dtype().numpy))
        out._requires_grad = bool(requires_grad)
        return out
    if device is not None:
        device = as_device(device)
    if pin_memory:
        refuse_pinned()
    if isinstance(value, Tensor):
        warn_of_copy("torch.tensor(sourceTensor)")
        device = value.device if device is None else device
    elif isinstance(value, (list, tuple)) and value and type(value[0]) is np.ndarray:
        _warn_arrays(value)
    made = finish(put(array_from(value, wanted_dtype("tensor", dtype)), device), requires_grad)
    if hasattr(value, "untyped"):
        state_of(made)["_storage"] = (
            value.untyped()
        )  # the object lives as long as its memory is used
    return made


FUNCTIONS["tensor"] = tensor


def warn_of_copy(called: str) -> None:
    """PyTorch's advice against making a tensor from a tensor."""
    warnings.warn(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() "
        f"or sourceTensor.detach().clone().requires_grad_(True), rather than {called}.",
        UserWarning,
        stacklevel=warning_level(),
    )


def _data_argument(args: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, ...]:
    if "data" in given and not args:
        args = (given.pop("data"),)
    if given:
        raise TypeError(f"tensor() got an unexpected keyword argument '{next(iter(given))}'")
    if not args:
        raise TypeError('tensor() missing 1 required positional arguments: "data"')
    if len(args) > 1:
        raise TypeError(f"tensor() takes 1 positional argument but {len(args)} were given")
    return args


def _warn_arrays(value: Any) -> None:
    if all(type(item) is np.ndarray and item.ndim for item in value):
        warnings.warn(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider "
            "converting the list to a single numpy.ndarray with numpy.array() before converting to "
            "a tensor.",
            UserWarning,
            stacklevel=warning_level(),
        )


# --- sharing memory -------------------------------------------------------------------------------


@function
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor that shares memory with a NumPy array."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type_name(ndarray)})")
    return make(_shared(ndarray))


def _shared(array: Any) -> Any:
    """The array itself if a tensor can share its memory; for a matrix or masked array, its data."""
    if type(array) is not np.ndarray:
        array = array.view(np.ndarray)
    from_numpy_dtype(array.dtype)
    check_byte_order(array)
    check_strides(array)
    if any(stride % array.dtype.itemsize for stride in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy "
            "array to "
            "reallocate the memory."
        )
    if not array.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable "
            "tensors. "
            "This means writing to this tensor will result in undefined behavior. You may want to "
            "copy "
            "the array to protect its data or make it writable before converting it to a tensor. "
            "This "
            "type of warning will be suppressed for the rest of this program.",
            UserWarning,
            stacklevel=warning_level(),
        )
    return array


@function
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor with this data: the same tensor or memory if the dtype allows it, else a copy."""
    kind = wanted_dtype("as_tensor", dtype)
    if isinstance(data, Tensor):
        if device is not None and as_device(device) != data.device:
            return data.to(device, kind)
        return data if kind is None or kind is data.dtype else data.to(kind)
    if isinstance(data, np.ndarray):
        array = _shared(data)
        if kind is None or array.dtype == kind.numpy:
            return make(put(array, device))
    return make(put(array_from(data, kind), device))


@function
def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: Any = None,
) -> Tensor:
    """A tensor from an object: shares memory unless `copy` or the dtype forbids it."""
    kind = wanted_dtype("asarray", dtype)
    if copy is False and isinstance(obj, np.generic):
        raise RuntimeError(
            "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray."
        )
    source = _source(obj, kind)
    if device is not None and source is not None and as_device(device) != source.device:
        if copy is False:
            raise ValueError(
                f"can't alias tensor from device '{source.device}' to '{as_device(device)}'."
            )
        source = make(moved(source._data, as_device(device)))
    if source is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return finish(put(array_from(obj, kind), device), bool(requires_grad))
    if kind is not None and kind is not source.dtype and copy is False:
        raise ValueError(
            f"can't alias tensor with dtype '{LEGACY_NAMES[source.dtype]}' into dtype "
            f"'{LEGACY_NAMES[kind]}'."
        )
    wants = _wants_grad(source, requires_grad)
    changed = kind is not None and kind is not source.dtype
    out = source.to(kind) if changed else source.clone() if copy else source
    if wants == out.requires_grad:
        return out
    if not wants:
        return out.detach()
    require_differentiable(out)
    return out.requires_grad_()


def _source(obj: Any, kind: Any) -> Tensor | None:
    """A tensor that shares memory with an array, a buffer or a DLPack capsule; None for plain data."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, (np.ndarray, np.generic)):
        return make(_shared(obj) if isinstance(obj, np.ndarray) else np.asarray(obj))
    if hasattr(obj, "__dlpack__"):
        return from_dlpack(obj)  # type: ignore[no-any-return]
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=kind or get_default_dtype())  # type: ignore[no-any-return]


def _wants_grad(source: Tensor, requires_grad: Any) -> bool:
    if requires_grad is None:
        if source.requires_grad:
            warnings.warn(
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad "
                "instead of "
                "False. Pass requires_grad=False explicitly to get the old behavior and silence "
                "this "
                "warning.",
                UserWarning,
                stacklevel=warning_level(),
            )
        return source.requires_grad
    return bool(requires_grad)


@function
def frombuffer(
    buffer: Any, *, dtype: Any = None, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A vector that shares memory with an object supporting Python's buffer protocol."""
    kind = wanted_dtype("frombuffer", dtype)
    if kind is None:
        raise TypeError('frombuffer() missing 1 required positional arguments: "dtype"')
    try:
        view = memoryview(buffer).cast("B")
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length, size = len(view), kind.itemsize
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({length} "
            "bytes) minus 1"
        )
    if count < 0:
        if (length - offset) % size:
            raise ValueError(
                f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a "
                f"multiple of element size ({size})"
            )
        count = (length - offset) // size
    if offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must "
            "not be "
            f"greater than actual buffer length ({length} bytes)"
        )
    if view.readonly:
        warnings.warn(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. "
            "This "
            "means you can write to the underlying (supposedly non-writable) buffer using the "
            "tensor. "
            "You may want to copy the buffer to protect its data or make it writable before "
            "converting "
            "it to a tensor. This type of warning will be suppressed for the rest of this program.",
            UserWarning,
            stacklevel=warning_level(),
        )
    return finish(np.frombuffer(view, kind.numpy, count, offset), requires_grad)


@function
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares memory with another library's array, through DLPack."""
    from .dlpack import import_array

    if not hasattr(ext_tensor, "__dlpack__") and not (device is None and copy is None):
        raise AssertionError(
            "device and copy kwargs not supported when ext_tensor is already a DLPack capsule."
        )
    if getattr(ext_tensor, "__dlpack_device__", lambda: (1, 0))()[0] == 2:
        where = as_device("cuda")  # raises if there is no GPU
        from .._arrays.cuda.cuda_array import wrap

        found = make(wrap(cuda_backend().cupy.from_dlpack(ext_tensor)))
        return found.clone() if copy else found if device is None else found.to(device or where)
    return make(import_array(ext_tensor, copy))


# --- the old constructors -------------------------------------------------------------------------


def legacy_tensor(
    cls: Any, *args: Any, device: Any = None, kind: Any = None, **options: Any
) -> Tensor:
    """`Tensor(2, 3)` is an uninitialised tensor of that shape, `Tensor([1, 2])` one from data."""
    wanted, kind = kind, kind or get_default_dtype()
    data = args[0] if args else options.get("data")
    if len(args) > 1 or _is_extent(data):
        if not hasattr(data, "__index__"):
            got = ", ".join(type_name(a) for a in args)
            raise TypeError(f"new() received an invalid combination of arguments - got ({got})")
        out = make(put(np.empty(checked_size("new", args), kind.numpy), device))
    elif not args and data is None:
        out = make(put(np.empty((0,), kind.numpy), device))
    elif isinstance(data, tuple) and hasattr(data, "numel"):
        out = make(put(np.empty(data, kind.numpy), device))
    elif isinstance(data, Tensor):
        if wanted is not None and data.dtype is not wanted:
            raise TypeError(
                f"expected a tensor of dtype {wanted.name} (got one of dtype {data.dtype.name})"
            )
        if data.requires_grad:
            kept: Tensor = data.as_subclass(cls)  # with its history
            return kept
        out = make(data._data)
        out._version_box = data._version_box
    elif isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    elif not hasattr(data, "__len__"):
        raise TypeError(f"new(): data must be a sequence (got {type_name(data)})")
    else:
        out = make(put(array_from(data, kind), device))
    return out if cls is Tensor else subclass_of(cls, out)


def _is_extent(value: Any) -> bool:
    """Whether the old constructors treat a value as a size: an integer, possibly in a 0-dim array."""
    if isinstance(value, np.ndarray):
        return not value.ndim and value.dtype.kind in "iu"
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def subclass_of(cls: Any, tensor: Tensor) -> Any:
    """The same storage as an instance of a Tensor subclass."""
    from .._ops.declare import subclasses

    if subclasses.speaks(cls):
        subclasses.start()
    out = object.__new__(cls)
    out._data = tensor._data
    out._node = tensor._node
    out._requires_grad = tensor._requires_grad
    out._version_box = tensor._version_box
    out._base = tensor._base
    out._grad = None
    out._output_nr = tensor._output_nr
    return out


def leaf_of(cls: type, data: Tensor, requires_grad: bool) -> Any:
    """A leaf of this class over a tensor's memory, without the tensor's history."""
    if not isinstance(data, Tensor):
        raise AttributeError(f"'{type(data).__name__}' object has no attribute 'detach'")
    out = subclass_of(cls, data)
    out._node = out._base = None
    out._output_nr = 0
    out._requires_grad = False
    if data._is_inference:
        out._is_inference = True
    if not isinstance(requires_grad, bool):
        raise TypeError(
            "_make_subclass(): argument 'require_grad' (position 3) must be bool, not "
            f"{type(requires_grad).__name__}"
        )
    if requires_grad:
        if not (data.dtype.is_floating_point or data.dtype.is_complex):
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        out.requires_grad = requires_grad
    return out


class _LegacyType(type):
    """The metaclass of `FloatTensor` and the like: a constructor, and an isinstance check of the dtype."""

    kind: Any

    def __new__(mcs, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> _LegacyType:
        if bases:
            raise TypeError(f"type 'torch.{bases[0].__name__}' is not an acceptable base type")
        return super().__new__(mcs, name, bases, members)

    def __call__(cls, *args: Any, **options: Any) -> Tensor:
        if not cls.is_cuda:
            return legacy_tensor(Tensor, *args, kind=cls.kind, **options)
        if cuda_backend() is None:
            raise TypeError(
                f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled."
            )
        made: Tensor = legacy_tensor(Tensor, *args, kind=cls.kind, **options)
        return made.to("cuda")

    def __instancecheck__(cls, instance: object) -> bool:
        if not isinstance(instance, Tensor) or instance.dtype is not cls.kind:
            return False
        return (instance.device.type == "cuda") is cls.is_cuda

    @property
    def is_cuda(cls) -> bool:
        return cls.__module__ == "torch.cuda"

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def _legacy_types(module: str) -> dict[str, Any]:
    return {
        f"{name}Tensor": _LegacyType(
            f"{name}Tensor", (), {"kind": kind, "dtype": kind, "__module__": module}
        )
        for kind, name in LEGACY_NAMES.items()
        if kind in ALL_DTYPES and not kind.is_complex
    }


LEGACY_TYPES = _legacy_types("torch")
CUDA_LEGACY_TYPES = _legacy_types("torch.cuda")
