"""What `CudaArray` asks of the library underneath it: CuPy's is `cuda_backend`, the tests have another.

A backend says so by its base class, and then gets what it leaves out from here; what has no body here it
cannot leave out, and is an error when it is made. `raw` is an array of the library's own.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import nullcontext
from typing import Any, Protocol

import numpy as np


class Backend(Protocol):
    """What the arrays are made of, and how functions on them are found."""

    cupy: Any  # the module
    array: Any  # the class of arrays
    arrays: tuple[Any, ...]  # classes of results that are arrays
    refusals: tuple[type[BaseException], ...]  # errors that say a function is not to be had
    allocate: Any  # (bytes): memory, with its address in `ptr`; an `array` can be made over it

    has_kernels: bool = False  # whether it has `compile`, `launch` and `gemm`
    has_cudnn: bool = False  # whether cuDNN may be looked for
    deterministic: bool = False  # whether results must be the same from run to run
    capture: Any = None  # the graph that is being captured

    # --- functions -----------------------------------------------------------------------------------

    @abstractmethod
    def fill(self, ufuncs: dict[Any, Any], functions: dict[Any, Any]) -> None:
        """Write down what is called otherwise than by its name."""

    @abstractmethod
    def find_ufunc(self, ufunc: Any) -> Any:
        """What does as a ufunc of NumPy's does, or None; so for a method of it, and for a function."""

    @abstractmethod
    def find_method(self, ufunc: Any, method: str) -> Any: ...

    @abstractmethod
    def find_function(self, function: Any) -> Any: ...

    @abstractmethod
    def linalg_errors(self) -> Any:
        """A context in which a singular matrix is an error."""

    def set_tf32(self, allowed: bool) -> None:
        """Whether products of float32 may be less precise."""

    # --- elements ------------------------------------------------------------------------------------

    @abstractmethod
    def to_device(self, array: Any) -> Any:
        """A copy of NumPy's array."""

    @abstractmethod
    def to_host(self, raw: Any) -> Any:
        """A copy as NumPy's array."""

    @abstractmethod
    def empty(self, shape: Any, dtype: Any) -> Any:
        """An array with nothing in it yet."""

    @abstractmethod
    def pinned(self, array: Any) -> Any:
        """A copy of NumPy's array in memory that is locked for transfers."""

    def get_item(self, raw: Any, index: Any) -> Any:
        return raw[index]

    def set_item(self, raw: Any, index: Any, value: Any) -> None:
        raw[index] = value

    def as_array(self, result: Any) -> Any:
        """A result of one of `arrays` as an `array`."""
        return result

    def one(self, dtype: Any) -> Any:
        """A number one, always the same `CudaArray`; None where it has to be made."""
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
        """The piece of memory that an array lies in: one object for all arrays in it."""

    @abstractmethod
    def whole(self, raw: Any) -> Any:
        """All bytes of the piece of memory that an array lies in."""

    def is_sole_owner(self, array: Any) -> bool:
        """Whether nothing but this `CudaArray` looks into its memory, all of which it shows."""
        return False

    def passing(self) -> Any:
        """A context in which memory is handed out that can be known to be gone: what owns it `passes`."""
        return nullcontext()

    def all_of(self, memory: Any) -> Any:
        """All bytes of a piece of memory that `passes`; none does where `passing` does nothing."""
        return memory

    # --- devices -------------------------------------------------------------------------------------

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until the GPU has done all that it was asked to."""

    def device_index(self, array: Any) -> int:
        """The number of the GPU that a `CudaArray` lives on."""
        return 0

    def device_count(self) -> int:
        return 1

    def current_device(self) -> int:
        return 0

    def resident_threads(self) -> int:
        """How many threads the current GPU holds at once, in whole blocks of 256."""
        return 2048

    def prototype(self) -> Any:
        """Some array on the current GPU, for `like=`."""
        from .cuda_array import wrap

        return wrap(self.empty(0, np.float32))

    def capturing(self) -> bool:
        return self.capture is not None
