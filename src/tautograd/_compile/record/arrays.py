"""What counts as an array while a computation is recorded: NumPy's, and those on a GPU."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from ..._arrays.cuda import cuda_array
from ..._arrays.cuda.cuda_array import CudaArray, wrap
from ..._arrays.strided import storage_of

ARRAYS = (np.ndarray, CudaArray)
KINDS = frozenset(ARRAYS)
_SMALL = 1 << 16  # bytes


def key_of(array: Any) -> Any:
    """What owns an array's memory: the same object for every view of it."""
    if type(array) is CudaArray:
        return cuda_array.backend.memory_of(array.raw)
    owner = storage_of(array)
    return owner if isinstance(owner, np.ndarray) else array


def owner_of(array: Any) -> Any:
    """An array of all the memory that an array looks into; of a GPU's, its bytes."""
    if type(array) is CudaArray:
        return wrap(cuda_array.backend.whole(array.raw))
    return key_of(array)


def empty(shape: tuple[int, ...], dtype: Any, like: Any) -> Any:
    """Memory where another array is."""
    if type(like) is CudaArray:
        return wrap(cuda_array.backend.empty(shape, dtype))
    return np.empty(shape, dtype)


def passing() -> Any:
    """A context in which a GPU's memory is known to be gone when it is, as main memory is."""
    return nullcontext() if cuda_array.backend is None else cuda_array.backend.passing()


def may_pass(key: Any, nbytes: int) -> bool:
    """Whether a tape need not keep what owns memory; of a GPU's, small memory stays, for it may be a constant."""
    return type(key) is np.ndarray or (getattr(key, "passes", False) and nbytes > _SMALL)


def held(key: Any) -> Any:
    """An array of all the memory that a key owns."""
    return key if type(key) is np.ndarray else wrap(cuda_array.backend.all_of(key))


def where_of(array: Any) -> Any:
    """Which memory an array is in: a GPU's number, or whether main memory can be written to."""
    if type(array) is CudaArray:
        return "cuda", array.gpu_index
    return array.flags.writeable


def is_on_gpu(program: Any) -> bool:
    """Whether any of a program's memory is a GPU's."""
    return any(type(buffer.array) is CudaArray for buffer in program.buffers)


def in_rows(array: Any, dtype: Any) -> Any:
    """An array of a dtype that lies by rows, copied if need be."""
    if type(array) is not CudaArray:
        return np.ascontiguousarray(array, dtype)
    found: Any = array if array.dtype == dtype else array.astype(dtype)
    return found if found.flags.c_contiguous else np.copy(found, order="C")


def arrays_of(value: Any) -> list[Any]:
    """The arrays and array scalars in a result, in order."""
    if isinstance(value, (tuple, list)):
        return [x for part in value for x in arrays_of(part)]
    return [value] if isinstance(value, (*ARRAYS, np.generic)) else []


def windows(array: Any, size: int, axis: int) -> Any:
    """NumPy's `sliding_window_view` along one dimension, over a GPU's memory: a view there, too."""
    axis %= array.ndim
    shape = (*array.shape[:axis], array.shape[axis] - size + 1, *array.shape[axis + 1 :], size)
    return array.strided(shape, (*array.strides, array.strides[axis]))
