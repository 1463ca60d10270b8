"""What `CudaArray` asks of the library underneath it: CuPy's is `cuda_backend`, the tests have another."""

from __future__ import annotations

from typing import Any

import numpy as np


class Backend:
    """What the arrays are made of, and how functions on them are found."""

    array: Any = None  # the class of arrays
    arrays: tuple[Any, ...] = ()  # classes of results that are arrays
    refusals: tuple[type[BaseException], ...] = ()  # errors that say a function is not to be had

    has_kernels = False
    deterministic = False  # whether results must be the same from run to run
    capture: Any = None  # the graph that is being captured
    allocate: Any = None  # so many bytes of the GPU's memory, for what has kernels

    def fill(self, ufuncs: dict[Any, Any], functions: dict[Any, Any]) -> None:
        """Write down what is called otherwise than by its name."""

    def find_ufunc(self, ufunc: Any) -> Any:
        raise NotImplementedError

    def find_method(self, ufunc: Any, method: str) -> Any:
        raise NotImplementedError

    def find_function(self, function: Any) -> Any:
        raise NotImplementedError

    def get_item(self, raw: Any, index: Any) -> Any:
        return raw[index]

    def set_item(self, raw: Any, index: Any, value: Any) -> None:
        raw[index] = value

    def to_device(self, array: Any) -> Any:
        raise NotImplementedError

    def to_host(self, raw: Any) -> Any:
        raise NotImplementedError

    def as_array(self, result: Any) -> Any:
        return result

    def one(self, dtype: Any) -> Any:
        return None

    cupy: Any = None

    def set_tf32(self, allowed: bool) -> None:
        """Whether products of float32 may be less precise."""

    def address(self, raw: Any) -> int:
        raise NotImplementedError

    def memory_of(self, raw: Any) -> Any:
        """The piece of memory that an array lies in: one object for all arrays in it."""
        raise NotImplementedError

    def whole(self, raw: Any) -> Any:
        """All bytes of the piece of memory that an array lies in."""
        raise NotImplementedError

    def device_index(self, array: Any) -> int:
        return 0

    def device_count(self) -> int:
        return 1

    def current_device(self) -> int:
        return 0

    def prototype(self) -> Any:
        """Some array on the current GPU, for `like=`."""
        from .cuda_array import wrap

        return wrap(self.empty(0, np.float32))

    def empty(self, shape: Any, dtype: Any) -> Any:
        raise NotImplementedError

    def is_sole_owner(self, array: Any) -> bool:
        return False

    def capturing(self) -> bool:
        return self.capture is not None
