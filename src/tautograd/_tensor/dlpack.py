"""DLPack: passing memory from library to library without a copy.

A capsule carries a C struct that describes the elements' memory. For export, NumPy writes it (bfloat16,
which NumPy does not have, is exported as 16-bit integers and renamed in the struct). For import, the
struct is read here: NumPy's own reader knows fewer dtypes.
"""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np

from .._arrays.dtypes import ALL_DTYPES, bfloat16, bool_
from .._arrays.strided import contiguous_strides, spelled_out
from .tensor import Tensor

# DLPack's codes for kinds of numbers.
_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6
_CODES = {"i": _INT, "u": _UINT, "f": _FLOAT, "V": _BFLOAT, "c": _COMPLEX, "b": _BOOL}
_DTYPES = {(_CODES[d.numpy.kind], 8 * d.itemsize): d.numpy for d in ALL_DTYPES}
_READ_ONLY = 1


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (
        ("tensor", _DLTensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class _ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    )


# A capsule's name says which struct it holds; the second name means that it has been consumed.
_STRUCTS: dict[bytes, tuple[Any, bytes]] = {
    b"dltensor": (_Managed, b"used_dltensor"),
    b"dltensor_versioned": (_ManagedVersioned, b"used_dltensor_versioned"),
}

_api = ctypes.pythonapi
_name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", _api))
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api)
)
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_SetName", _api)
)
_Deleter = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


def _struct(capsule: Any) -> tuple[bytes, Any]:
    """A capsule's name and the struct inside it."""
    name = _name_of(capsule) if type(capsule).__name__ == "PyCapsule" else b""
    if name not in _STRUCTS:
        raise RuntimeError(
            "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed "
            "only once, so you might have already constructed a tensor from it once."
        )
    return name, _STRUCTS[name][0].from_address(_pointer_of(capsule, name))


# --- out ------------------------------------------------------------------------------------------


def export_capsule(
    tensor: Tensor, max_version: tuple[int, int] | None = None, copy: bool | None = None
) -> Any:
    """A capsule over a tensor's memory, or over a copy of it."""
    if tensor.dtype.itemsize == 1 and tensor.dtype.is_floating_point:
        raise BufferError(f"DLPack has no name here for {tensor.dtype}: convert it first")
    array = np.array(tensor._data, copy=True) if copy else spelled_out(tensor._data)
    renamed = tensor.dtype is bfloat16
    capsule = (array.view(np.int16) if renamed else array).__dlpack__(max_version=max_version)
    if renamed:
        _struct(capsule)[1].tensor.code = _BFLOAT
    return capsule


# --- in -------------------------------------------------------------------------------------------


def import_array(source: Any, copy: bool | None = None) -> Any:
    """An array over the memory described by a capsule, or by an object that makes one."""
    capsule = _capsule_of(source) if hasattr(source, "__dlpack__") else source
    name, managed = _struct(capsule)
    described = managed.tensor
    if described.device_type != 1:
        raise BufferError(f"from_dlpack: the memory is not the CPU's ({described.device_type})")
    dtype = _dtype_of(described)
    shape = tuple(described.shape[: described.ndim])
    steps = described.strides[: described.ndim] if described.strides else contiguous_strides(shape)
    flags = getattr(managed, "flags", 0)
    _rename(capsule, _STRUCTS[name][1])
    extent = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, steps, strict=True))
    start = (described.data or 0) + described.byte_offset
    memory = _memory(start, extent * dtype.itemsize, managed)
    flat = np.frombuffer(memory, dtype, extent or 1)
    array = np.ndarray(shape, dtype, flat, 0, [s * dtype.itemsize for s in steps])
    if flags & _READ_ONLY:
        array.flags.writeable = False
    return (
        np.array(array, order="K", copy=True) if copy is not None and copy is not False else array
    )


def _capsule_of(source: Any) -> Any:
    try:
        return source.__dlpack__(max_version=(1, 0))
    except TypeError:  # a library older than DLPack's versions
        return source.__dlpack__()


def _dtype_of(described: _DLTensor) -> Any:
    if described.code == _BOOL:
        return bool_.numpy
    found = _DTYPES.get((described.code, described.bits))
    if found is None or described.lanes != 1:
        raise BufferError(
            f"from_dlpack: no dtype for DLPack's code {described.code} with {described.bits} bits "
            f"and {described.lanes} lanes"
        )
    return found


def _memory(address: int, size: int, managed: Any) -> Any:
    """A buffer over foreign memory, which is released to its owner when no array uses it."""
    if size:
        memory = (ctypes.c_char * size).from_address(address)
    else:  # no elements: any memory will do, large enough for the widest one
        memory = (ctypes.c_char * 16)()
    if managed.deleter:
        release = weakref.finalize(memory, _Deleter(managed.deleter), ctypes.addressof(managed))
        release.atexit = False  # at exit the owner may be gone already
    return memory
