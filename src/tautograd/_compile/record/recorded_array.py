"""An array that notes what is done to it: NumPy's protocols bring every array function here.

While a computation is recorded, each tensor of the recording thread shows one of these in place of its
array. It computes at once, so that the computation runs as ever, and has the tape note what was
computed from what. A value cannot be asked for, because the program that is replayed will not ask:
that is an error which names the line.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..._arrays.attributes import attribute_of
from ..._arrays.checks import first_wrong, require_all
from ..._arrays.cuda import cuda_array
from ..._arrays.cuda.cuda_array import wrap
from ..._arrays.result_layout import LAID_OUT
from ..._arrays.strided import address
from ..._user_code.owners import internal

BRANCH = "a branch on a tensor's value (`if`, `while`, `bool(tensor)`)"
ITEM = "a tensor's value as a Python number (`.item()`)"


_IN_PLACE = frozenset(("sort", "partition", "resize", "put"))  # which functions of the name are not


class Recorded(NDArrayOperatorsMixin):
    """An array on a tape: NumPy's, or a GPU's."""

    __slots__ = ("place", "tape", "value")

    def __init__(self, value: Any, tape: Any, place: Any = None) -> None:
        self.value = value
        self.tape = tape
        self.place = place  # as a view of a buffer, once that was asked for

    # --- what an array says of itself ----------------------------------------------------------

    shape = attribute_of("value.shape")
    ndim = attribute_of("value.ndim")
    size = attribute_of("value.size")
    dtype = attribute_of("value.dtype")
    strides = attribute_of("value.strides")
    itemsize = attribute_of("value.itemsize")
    nbytes = attribute_of("value.nbytes")
    flags = attribute_of("value.flags")
    base = attribute_of("value.base")

    @property
    def address(self) -> int:
        """Where it lies now: for views that are found by their place, not for a program, which lies elsewhere."""
        if asked_by("data_ptr"):
            self.refuse("a tensor's address (`data_ptr()`)", "address")
        return address(self.value)

    @property
    def gpu_index(self) -> int | None:
        """The number of the GPU it lives on, if it does."""
        return getattr(self.value, "gpu_index", None)

    @property
    def real(self) -> Any:
        return np.real(self)

    @property
    def imag(self) -> Any:
        return np.imag(self)

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return f"Recorded({self.dtype}, {self.shape})"

    # --- what is done to it ----------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return self.tape.run(function, args, kwargs, ufunc=ufunc, method=method)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.tape.run(function, args, kwargs, like=self.value)

    def __getitem__(self, index: Any) -> Any:
        return self.tape.run(_getitem, (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        self.tape.run(_setitem, (self, index, value), {})

    def astype(self, dtype: Any, order: str = "K", copy: bool = True, **options: Any) -> Any:
        if not copy and np.dtype(dtype) == self.dtype:
            return self
        return self.tape.run(_astype, (self, np.dtype(dtype), order), {})

    def view(self, dtype: Any) -> Any:
        return self.seen_as(self.value.view(dtype))

    def transpose(self, *axes: Any) -> Any:
        return self.seen_as(self.value.transpose(*axes))

    @property
    def T(self) -> Any:
        return self.seen_as(self.value.T)

    def seen_as(self, array: Any) -> Any:
        """Another view of the same memory."""
        return array if self.tape.dead else self.tape.wrap(array)

    def seen_through(self, function: Any) -> Any:
        """What a function gives that looks at the same memory otherwise; a copy is noted as a call."""
        found = function(self.value)
        if self.tape.dead or self.tape.knows(found):
            return self.seen_as(found)
        return self.tape.run(function, (self,), {})

    def reshape(self, *shape: Any, **options: Any) -> Any:
        return np.reshape(self, shape[0] if len(shape) == 1 else shape, **options)

    def any(self) -> Any:
        return np.any(self)

    def copy(self, order: str = "C") -> Any:
        return np.copy(self, order=order)  # type: ignore[call-overload]

    def fill(self, value: Any) -> None:
        np.copyto(self, value, casting="unsafe")  # type: ignore[arg-type]

    def sent_over(self) -> Any:
        """A copy on the GPU, of what is in main memory: it is sent at each replay."""
        if hasattr(self.value, "gpu_index"):
            return self.host()
        return self.tape.run(_sent, (self,), {})

    def as_kernel(self, function: Any, args: Any, kwargs: Any) -> Any:
        """A function made for a GPU's arrays, called as one; None where it does not apply."""
        return self.as_call(function, args, kwargs) if hasattr(self.value, "gpu_index") else None

    def as_call(self, function: Any, args: Any, kwargs: Any) -> Any:
        """A function of plain arrays, called as one at each replay; None where it does not apply."""
        return self.tape.kernel(function, args, kwargs)

    def rounded(self) -> Any:
        """What an optimizer's formula asks for: the value as the parameter's dtype has it."""
        narrow = self.tape.narrow
        return self if narrow is None else self.astype(narrow).astype(self.dtype)

    def require_all(self, holds: Any, error: Any) -> None:
        """A condition on values, looked at now and noted: at each replay it is looked at again."""
        if not self.size:
            return
        if self.tape.dead:
            require_all(self.value, holds, error)
            return
        good = holds(self)
        self.tape.note_check(self, holds)
        if not self.tape.supposes and not np.all(good.value):
            self.tape.went_wrong()
            raise error(first_wrong(self.value, good.value))
        self.tape.check(good, error)

    def decide(self, holds: Any) -> bool:
        """Which way an operation takes by whether a condition holds everywhere: a replay takes the same, or stops."""
        if self.tape.dead:
            return bool(np.all(holds(self.value)))
        self.tape.note_check(self, None)
        every = np.all(holds(self), keepdims=True)
        found = bool(every.value.all())
        self.tape.check(every if found else np.logical_not(every), other_way)
        self.tape.decided.append(found)
        return found

    # --- what it does not tell ---------------------------------------------------------------------

    def refuse(self, what: str, advice: str) -> None:
        """Say that a value was asked for, unless the recording was given up already."""
        if not self.tape.dead:
            self.tape.refuse(what, advice)

    def __bool__(self) -> bool:
        found = self.tape.read(self, BRANCH, True)
        if found is not None:
            return bool(found)
        self.refuse(BRANCH, "bool")
        return bool(self.value)

    def __float__(self) -> float:
        self.refuse("a tensor's value as a Python number (`float(tensor)`)", "item")
        return float(self.value)

    def __int__(self) -> int:
        self.refuse("a tensor's value as a Python number (`int(tensor)`)", "item")
        return int(self.value)

    def __complex__(self) -> complex:
        self.refuse("a tensor's value as a Python number (`complex(tensor)`)", "item")
        return complex(self.value)

    def __index__(self) -> int:
        self.refuse("a tensor's value as a Python index or size", "shape")
        return self.value.__index__()  # type: ignore[no-any-return]

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        if asked_by("_repr", "_format"):
            self.refuse("a tensor's value as text (`print(tensor)`)", "text")
        else:
            self.refuse("a tensor's values as a NumPy array (`.numpy()`, `np.asarray`)", "numpy")
        return self.value.__array__(*args, **kwargs)

    def __iter__(self) -> Any:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def item(self, *args: Any) -> Any:
        if asked_by("is_nonzero", "__bool__"):
            return bool(self)
        elif asked_by("_index", "__index__"):
            self.refuse("a tensor's value as a Python index or size", "shape")
        elif asked_by("_repr", "_format"):
            self.refuse("a tensor's value as text (`print(tensor)`)", "text")
        else:
            found = self.tape.read(self, ITEM, False)
            if found is not None:
                return found
            self.refuse(ITEM, "item")
        return self.value.item(*args)

    def host(self) -> Any:
        self.refuse("moving a tensor from one device to another", "device")
        return self.value.host() if hasattr(self.value, "host") else self.value

    def tolist(self) -> Any:
        self.refuse("a tensor's values as Python numbers (`.tolist()`)", "item")
        return self.value.tolist()

    def tobytes(self, *args: Any) -> Any:
        self.refuse("a tensor's values as bytes", "numpy")
        return self.value.tobytes(*args)

    def __getattr__(self, name: str) -> Any:
        """Any other method of arrays: the function of that name, or what no program can do."""
        special = name.startswith("__") and not name.startswith("__dlpack")
        if special or name == "data" or not hasattr(np.ndarray, name):
            raise AttributeError(f"'Recorded' object has no attribute '{name}'")
        function = getattr(np, name, None)
        if callable(function) and name not in _IN_PLACE:
            return functools.partial(function, self)
        self.refuse(f"a tensor's memory as NumPy has it (`{name}`)", "numpy")
        return getattr(self.value, name)

    @property
    def __array_interface__(self) -> Any:
        raise AttributeError("__array_interface__")  # NumPy then asks __array__, which says why

    __hash__ = None  # type: ignore[assignment]


LAID_OUT.add(Recorded)


def other_way(_: Any) -> Exception:
    return RuntimeError(
        "compile: an operation goes another way for these values than it went in the recording"
    )


def asked_by(*names: str) -> bool:
    """Whether the user's code came here through a method of this name."""
    frame = sys._getframe(2)
    while frame.f_back is not None and internal[frame.f_code.co_filename]:
        if frame.f_code.co_name in names:
            return True
        frame = frame.f_back
    return False


def _getitem(x: Any, index: Any) -> Any:
    return x[index]


def _setitem(x: Any, index: Any, value: Any) -> None:
    x[index] = value


def _sent(x: Any) -> Any:
    return wrap(cuda_array.backend.to_device(x))


def _astype(x: Any, dtype: Any, order: str) -> Any:
    return x.astype(dtype, order=order)
