"""What `CudaArray` needs from the library underneath it: CuPy's backend is `cuda_backend`, the tests have another.

A backend derives from this class and inherits what it does not override; a method without a body here must be
overridden, or creating the backend is an error. `raw` is an array of the library's own.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import nullcontext
from typing import Any, Protocol

import numpy as np


class Backend(Protocol):
    """The underlying array type, and how functions on it are found."""

    cupy: Any  # the module
    array: Any  # the class of arrays
    arrays: tuple[Any, ...]  # classes of results that are arrays
    refusals: tuple[type[BaseException], ...]  # errors that mean a function is not available
    allocate: Any  # (bytes): memory, with its address in `ptr`; an `array` can be made over it

    has_kernels: bool = False  # whether it has `compile`, `launch` and `gemm`
    has_cudnn: bool = False  # whether to look for cuDNN
    deterministic: bool = False  # whether results must be the same from run to run
    capture: Any = None  # the graph being captured

    # --- functions -----------------------------------------------------------------------------------

    @abstractmethod
    def fill(self, ufuncs: dict[Any, Any], functions: dict[Any, Any]) -> None:
        """Register what has another name or needs a wrapper."""

    @abstractmethod
    def find_ufunc(self, ufunc: Any) -> Any:
        """The equivalent of a NumPy ufunc, or None; likewise for its methods and for functions."""

    @abstractmethod
    def find_method(self, ufunc: Any, method: str) -> Any: ...

    @abstractmethod
    def find_function(self, function: Any) -> Any: ...

    @abstractmethod
    def linalg_errors(self) -> Any:
        """A context in which a singular matrix is an error."""

    def set_tf32(self, allowed: bool) -> None:
        """Set whether float32 products may be less precise."""

    # --- elements ------------------------------------------------------------------------------------

    @abstractmethod
    def to_device(self, array: Any) -> Any:
        """A copy of a NumPy array."""

    @abstractmethod
    def to_host(self, raw: Any) -> Any:
        """A copy as a NumPy array."""

    @abstractmethod
    def empty(self, shape: Any, dtype: Any) -> Any:
        """An uninitialised array."""

    @abstractmethod
    def pinned(self, array: Any) -> Any:
        """A copy of a NumPy array in page-locked memory."""

    def get_item(self, raw: Any, index: Any) -> Any:
        return raw[index]

    def set_item(self, raw: Any, index: Any, value: Any) -> None:
        raw[index] = value

    def as_array(self, result: Any) -> Any:
        """A result of one of `arrays` as an `array`."""
        return result

    def one(self, dtype: Any) -> Any:
        """A cached `CudaArray` holding the number one; None if it has to be made."""
        return None

    # --- memory --------------------------------------------------------------------------------------

    @abstractmethod
    def address(self, raw: Any) -> int: ...

    @abstractmethod
    def strided(self, raw: Any, shape: Any, strides: Any, offset: int) -> Any:
        """An array over the same memory, `offset` and `strides` in bytes."""

    @abstractmethod
    def overlap(self, a: Any, b: Any) -> bool: ...

    @abstractmethod
    def memory_of(self, raw: Any) -> Any:
        """The allocation that an array lies in: one object for all arrays in it."""

    @abstractmethod
    def whole(self, raw: Any) -> Any:
        """All bytes of an array's allocation."""

    def is_sole_owner(self, array: Any) -> bool:
        """Whether this `CudaArray` covers its whole memory, and nothing else refers to it."""
        return False

    def passing(self) -> Any:
        """A context whose allocations can be observed to be freed; their owner has `passes`."""
        return nullcontext()

    def all_of(self, memory: Any) -> Any:
        """All bytes of an allocation that has `passes`; none has it if `passing` does nothing."""
        return memory

    # --- devices -------------------------------------------------------------------------------------

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until the GPU has finished everything launched."""

    def device_index(self, array: Any) -> int:
        """The index of a `CudaArray`'s GPU."""
        return 0

    def device_count(self) -> int:
        return 1

    def current_device(self) -> int:
        return 0

    def resident_threads(self) -> int:
        """How many threads the current GPU can hold at once, in whole blocks of 256."""
        return 2048

    def prototype(self) -> Any:
        """Some array on the current GPU, for `like=`."""
        from .cuda_array import wrap

        return wrap(self.empty(0, np.float32))

    def capturing(self) -> bool:
        return self.capture is not None
