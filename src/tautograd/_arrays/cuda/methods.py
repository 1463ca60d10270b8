"""Methods of NumPy's arrays on a GPU's: those that are functions of NumPy's, and those that ask for values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..attributes import ArrayAttributes, ReadAsNumber


class Methods(ArrayAttributes, ReadAsNumber, NDArrayOperatorsMixin):
    """What an array has by what it is given by `CudaArray`: a shape, a dtype, and `host()`."""

    __slots__ = ()

    if TYPE_CHECKING:  # `CudaArray` has them

        def host(self) -> Any: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...

    @property
    def real(self) -> Any:
        return np.real(self)

    @property
    def imag(self) -> Any:
        return np.imag(self)

    def copy(self, order: Any = "C") -> Any:
        return np.copy(self, order=order)

    def transpose(self, *axes: Any) -> Any:
        return np.transpose(self, axes[0] if len(axes) == 1 else axes or None)

    def fill(self, value: Any) -> None:
        self[...] = value

    def any(self, *args: Any, **kwargs: Any) -> Any:
        return np.any(self, *args, **kwargs)

    def all(self, *args: Any, **kwargs: Any) -> Any:
        return np.all(self, *args, **kwargs)

    def max(self, *args: Any, **kwargs: Any) -> Any:
        return np.max(self, *args, **kwargs)

    def min(self, *args: Any, **kwargs: Any) -> Any:
        return np.min(self, *args, **kwargs)

    def ravel(self, *args: Any) -> Any:
        return np.ravel(self, *args)

    # --- values: each of these waits for the GPU -----------------------------------------------------

    def item(self, *at: Any) -> Any:
        return self.host().item(*at)

    def tolist(self) -> Any:
        return self.host().tolist()

    def tobytes(self, *args: Any) -> bytes:
        found: bytes = self.host().tobytes(*args)
        return found

    def _read(self) -> Any:
        return self.host()

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.size != 1:
            raise TypeError("only integer arrays of one element can be converted to an index")
        return int(self.host().item())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Any:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
            "host memory first."
        )

    def __repr__(self) -> str:
        return f"CudaArray({self.host()!r})"

    __hash__ = None  # type: ignore[assignment]
