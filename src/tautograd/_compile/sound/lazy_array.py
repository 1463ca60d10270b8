"""An array that is not there yet: it says its shape, dtype and strides, and to be asked for more makes it real.

While a function is followed, every tensor of the following thread shows one of these, those from outside included.
So no code can read or write a tensor's memory unseen: whatever is more than a question about the form comes to
`Follower.force`, and from there on all is computed as written.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..._arrays.attributes import ArrayAttributes, ReadAsNumber, attribute_of


class Form(NamedTuple):
    """What an array says of itself."""

    shape: tuple[int, ...]
    dtype: Any
    strides: tuple[int, ...]
    flags: Any

    @classmethod
    def of(cls, array: Any) -> Form:
        return cls(tuple(array.shape), array.dtype, tuple(array.strides), Flags(array.flags))


class Flags:
    """The flags of an array that is not there."""

    __slots__ = ("c_contiguous", "f_contiguous", "forc", "writeable")

    def __init__(self, flags: Any) -> None:
        self.c_contiguous, self.f_contiguous = flags.c_contiguous, flags.f_contiguous
        self.writeable = flags.writeable
        self.forc = self.c_contiguous or self.f_contiguous

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name.lower())


class LazyArray(ArrayAttributes, ReadAsNumber, NDArrayOperatorsMixin):
    """The array of a tensor while a function is followed: number `number` of those made, or `owner`'s."""

    __slots__ = ("form", "number", "owner", "run")

    def __init__(self, run: Any, form: Form, number: int, owner: Any = None) -> None:
        self.run = run
        self.form = form
        self.number = number
        self.owner = owner  # the tensor from outside whose array this stands for

    shape = attribute_of("form.shape")
    dtype = attribute_of("form.dtype")
    strides = attribute_of("form.strides")
    flags = attribute_of("form.flags")

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    def __len__(self) -> int:
        if not self.form.shape:
            raise TypeError("len() of unsized object")
        return self.form.shape[0]

    def __repr__(self) -> str:
        return f"LazyArray({self.form.dtype}, {self.form.shape})"

    gpu_index = None  # functions on a GPU are not followed
    is_on_cpu = True  # which can be asked without making it real
    has_kernels = False

    def require_all(self, holds: Any, error: Any) -> None:
        """A condition on values: the program looks at it."""
        if self.size:
            self.run.check(self, holds, error)

    # --- everything else makes it real -----------------------------------------------------------

    def real(self) -> Any:
        """The array itself, computed by now."""
        return self.run.array_of(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array_") and name not in ("__array_interface__", "__array_struct__"):
            raise AttributeError(name)
        return getattr(self.real(), name)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.real(), dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*revealed(args), **revealed(kwargs))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*revealed(args), **revealed(kwargs))

    def __getitem__(self, index: Any) -> Any:
        return self.real()[revealed(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.real()[revealed(index)] = revealed(value)

    def _read(self) -> Any:
        return self.real()

    def __index__(self) -> int:
        return self.real().__index__()  # type: ignore[no-any-return]

    def __iter__(self) -> Any:
        return iter(self.real())

    def __contains__(self, value: Any) -> bool:
        return value in self.real()


def revealed(value: Any) -> Any:
    """Arguments with the arrays themselves in them."""
    if type(value) is LazyArray:
        return value.real()
    if type(value) in (tuple, list):
        return type(value)([revealed(part) for part in value])
    if type(value) is dict:
        return {key: revealed(part) for key, part in value.items()}
    if type(value) is slice:
        return slice(revealed(value.start), revealed(value.stop), revealed(value.step))
    return value
