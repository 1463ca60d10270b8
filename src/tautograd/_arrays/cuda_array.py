"""Arrays on a GPU: CuPy's, behind NumPy's dispatch protocols.

A `CudaArray` holds one array of CuPy's and answers `np.` functions, ufuncs, operators and `[]` by
calling CuPy's function of the same name, so that operations and rules run there as they are written.
What CuPy does otherwise, or not at all, is in one table (`cuda_functions`). A function that is in
neither is run by NumPy on a copy in main memory (`cuda_detour`): right, but slow.

The engine's other array types (`BatchedArray`, lifted tensors) come first: asked together with one
of those, a `CudaArray` leaves the answer to it.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .cuda_base import Backend

_ndarray = np.ndarray
_NUMBERS = frozenset((float, int, bool, complex))
# What has no array in it, and goes through as it is.
_PLAIN = _NUMBERS | {str, type(None), slice, type(Ellipsis), np.dtype, type, np.ufunc}

_new: Any = object.__new__


class CudaArray(NDArrayOperatorsMixin):
    """An array in a GPU's memory; `raw` is CuPy's array."""

    __slots__ = ("raw",)

    raw: Any

    shape = property(attrgetter("raw.shape"))
    ndim = property(attrgetter("raw.ndim"))
    size = property(attrgetter("raw.size"))
    dtype = property(attrgetter("raw.dtype"))
    strides = property(attrgetter("raw.strides"))
    flags = property(attrgetter("raw.flags"))
    nbytes = property(attrgetter("raw.nbytes"))
    itemsize = property(attrgetter("raw.itemsize"))

    # --- dispatch --------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "__call__":
            rule = UFUNCS.get(ufunc)
            if rule is None:
                rule = backend.find_ufunc(ufunc)
        else:
            rule = backend.find_method(ufunc, method)
        return run(getattr(ufunc, method), rule, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if not kwargs and function in VIEWS and type(args[0]) is CudaArray:
            out: CudaArray = _new(CudaArray)
            out.raw = VIEWS[function](args[0].raw, *args[1:])
            return out
        for kind in types:
            if kind is not CudaArray and kind is not _ndarray:
                return NotImplemented
        rule = FUNCTIONS.get(function)
        if rule is None:
            rule = backend.find_function(function)
        return run(function, rule, args, kwargs)

    def __getitem__(self, index: Any) -> CudaArray:
        out: CudaArray = _new(CudaArray)
        out.raw = backend.get_item(self.raw, _index(index))
        return out

    def __setitem__(self, index: Any, value: Any) -> None:
        backend.set_item(self.raw, _index(index), _on_device(value))

    # --- what a NumPy array also has ---------------------------------------------------------------

    @property
    def T(self) -> CudaArray:
        return wrap(self.raw.T)

    @property
    def real(self) -> CudaArray:
        return np.real(self)

    @property
    def imag(self) -> CudaArray:
        return np.imag(self)

    @property
    def base(self) -> CudaArray | None:
        found = self.raw.base
        return None if found is None else wrap(found)

    def root_gradient(self) -> Any:
        """The gradient that backward starts from: one, or None where it has to be made."""
        return backend.one(self.raw.dtype) if self.raw.ndim == 0 else None

    @property
    def has_kernels(self) -> bool:
        """Whether kernels of our own can be run on it."""
        return bool(backend.has_kernels)

    @property
    def gpu_index(self) -> int:
        """The number of the GPU it lives on."""
        return int(backend.device_index(self.raw))

    @property
    def address(self) -> int:
        """Where its first element lies in the GPU's memory."""
        return int(backend.address(self.raw))

    def astype(self, dtype: Any, order: str = "K", copy: bool = True, **options: Any) -> CudaArray:
        return np.astype(self, dtype, copy=copy)  # type: ignore[call-overload,no-any-return]

    def copy(self, order: Any = "C") -> CudaArray:
        return np.copy(self, order=order)  # type: ignore[return-value]

    def view(self, dtype: Any) -> CudaArray:
        return wrap(self.raw.view(dtype))

    def reshape(self, *shape: Any, **options: Any) -> CudaArray:
        return wrap(self.raw.reshape(*shape, **options))

    def transpose(self, *axes: Any) -> CudaArray:
        return wrap(self.raw.transpose(*axes))

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

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        return np.sum(self, *args, **kwargs)

    def ravel(self, *args: Any) -> Any:
        return np.ravel(self, *args)

    # --- values: each of these waits for the GPU -----------------------------------------------------

    def host(self) -> Any:
        """A copy in main memory, as NumPy's array."""
        return backend.to_host(self.raw)

    def item(self, *at: Any) -> Any:
        return self.host().item(*at)

    def tolist(self) -> Any:
        return self.host().tolist()

    def tobytes(self, *args: Any) -> bytes:
        found: bytes = self.host().tobytes(*args)
        return found

    def __bool__(self) -> bool:
        return bool(self.host())

    def __float__(self) -> float:
        return float(self.host())

    def __int__(self) -> int:
        return int(self.host())

    def __complex__(self) -> complex:
        return complex(self.host())

    def __index__(self) -> int:
        if self.raw.dtype.kind not in "iu" or self.raw.size != 1:
            raise TypeError("only integer arrays of one element can be converted to an index")
        return int(self.host().item())

    def __len__(self) -> int:
        return len(self.raw)

    def __iter__(self) -> Any:
        if not self.raw.ndim:
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

    # --- whose memory --------------------------------------------------------------------------------

    def storage(self) -> CudaArray:
        """The array that owns the memory it looks into."""
        base = self.raw.base
        return self if base is None else wrap(base)

    def strided(self, shape: Any, strides: Any, offset: int = 0) -> CudaArray:
        """An array over the same memory, `offset` and `strides` in bytes from where it begins."""
        return wrap(backend.strided(self.raw, shape, strides, offset))

    def is_sole_owner(self) -> bool:
        """Whether nothing but this object looks into its memory, all of which it shows."""
        return bool(backend.is_sole_owner(self))


def wrap(raw: Any) -> CudaArray:
    """An array of CuPy's as the engine holds it."""
    out: CudaArray = _new(CudaArray)
    out.raw = raw
    return out


# Functions that take arrays from main memory: those that make an array of them, and those that take
# indices, or values to write, after their first argument.
_MAKERS = frozenset((np.asarray, np.array))
_TAKES_HOST = frozenset((np.take, np.take_along_axis, np.put_along_axis, np.copyto))


def run(function: Any, rule: Any, args: Any, kwargs: Any) -> Any:
    """NumPy's function by CuPy's rule for it; in main memory where there is none, or it refuses."""
    if function in _MAKERS:
        args = tuple([_brought_over(x) for x in args])
    elif function in _TAKES_HOST or getattr(function, "__name__", "") in _METHODS_WITH_INDICES:
        if function is np.copyto and type(args[0]) is _ndarray:  # from the GPU: it is waited for
            return function(args[0], args[1].host(), *args[2:], **kwargs)
        args = (args[0], *[_brought_over(x) for x in args[1:]])
    given = []
    for x in args:
        kind = type(x)
        if kind is CudaArray:
            given.append(x.raw)
        elif kind in _PLAIN:
            given.append(x)
        else:
            x = _unwrapped(x)
            if x is NotImplemented:
                return NotImplemented
            given.append(x)
    if kwargs:
        out = kwargs.get("out")
        if out is not None and type(out) is tuple and len(out) == 1:
            (out,) = out
            kwargs = {**kwargs, "out": out}
        options = {}
        for name, x in kwargs.items():
            x = _unwrapped(x)
            if x is NotImplemented:
                return NotImplemented
            options[name] = x
    else:
        out = None
        options = kwargs
    error: BaseException | None = None
    if rule is not None:
        try:
            result = rule(*given, **options)
        except backend.refusals as refusal:
            error = refusal
    if rule is None or error is not None:
        from .cuda_detour import detour

        result = detour(function, args, kwargs, error)
    if out is not None:
        return out
    if type(result) is backend.array:
        made = _new(CudaArray)
        made.raw = result
        return made
    return wrapped(result)


def wrapped(result: Any) -> Any:
    """CuPy's arrays in a result as the engine holds them."""
    if isinstance(result, backend.arrays):
        return wrap(backend.as_array(result))
    if isinstance(result, (tuple, list)):
        parts = [wrapped(r) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


def _unwrapped(x: Any) -> Any:
    """An argument as CuPy takes it; NotImplemented where another array type should answer."""
    kind = type(x)
    if kind is CudaArray:
        return x.raw
    if kind in _PLAIN or isinstance(x, np.generic):
        return x
    if kind is tuple or kind is list:
        parts = [_unwrapped(v) for v in x]
        return NotImplemented if NotImplemented in map(_kept, parts) else kind(parts)
    if isinstance(x, _ndarray):
        if x.ndim == 0:
            return x[()]
        raise mixed_devices()
    return NotImplemented if hasattr(x, "__array_ufunc__") else x


_METHODS_WITH_INDICES = frozenset(("at", "reduceat"))


def _brought_over(x: Any) -> Any:
    """An argument with its arrays from main memory on the GPU."""
    if type(x) is _ndarray and x.ndim:
        return wrap(backend.to_device(x))
    return tuple([_brought_over(v) for v in x]) if type(x) is tuple else x


def _kept(x: Any) -> Any:
    return NotImplemented if x is NotImplemented else None


def mixed_devices() -> RuntimeError:
    """PyTorch's error for operands that live apart."""
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    )


def _index(index: Any) -> Any:
    """What stands between brackets, as CuPy takes it: indices may also be in main memory."""
    kind = type(index)
    if kind is CudaArray:
        return index.raw
    if kind is tuple:
        return tuple([_index(i) for i in index])
    if isinstance(index, _ndarray) and index.ndim:
        return backend.to_device(index)
    if isinstance(index, _ndarray):
        return index[()]
    return backend.to_device(np.asarray(index)) if kind is list else index


def _on_device(value: Any) -> Any:
    """A value to be written: a number, or an array that is brought over if need be."""
    if type(value) is CudaArray:
        return value.raw
    if isinstance(value, _ndarray):
        return backend.to_device(value) if value.ndim else value[()]
    return backend.to_device(np.asarray(value)) if isinstance(value, list) else value


# --- operators, without the way through NumPy ----------------------------------------------------


def _operator(ufunc: Any, reflected: bool) -> Any:
    def method(self: CudaArray, other: Any) -> Any:
        kind = type(other)
        if kind is CudaArray:
            value = other.raw
        elif kind in _NUMBERS:
            value = other
        else:
            return ufunc(other, self) if reflected else ufunc(self, other)
        rule = UFUNCS.get(ufunc) or backend.find_ufunc(ufunc)
        raw = self.raw
        try:
            result = rule(value, raw) if reflected else rule(raw, value)
        except backend.refusals:
            return ufunc(other, self) if reflected else ufunc(self, other)
        out = _new(CudaArray)
        out.raw = backend.as_array(result)
        return out

    return method


for _name, _ufunc in (
    ("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("truediv", np.true_divide),
):  # fmt: skip
    setattr(CudaArray, f"__{_name}__", _operator(_ufunc, False))
    setattr(CudaArray, f"__r{_name}__", _operator(_ufunc, True))


# --- the library underneath ----------------------------------------------------------------------


def _expand_dims(raw: Any, axis: Any) -> Any:
    if type(axis) is not int:
        return backend.cupy.expand_dims(raw, axis)
    shape = raw.shape
    at = axis + len(shape) + 1 if axis < 0 else axis
    return raw.reshape((*shape[:at], 1, *shape[at:]))


# Functions of shapes alone, which are methods of CuPy's arrays.
VIEWS: dict[Any, Any] = {
    np.swapaxes: lambda x, i, j: x.swapaxes(i, j),
    np.transpose: lambda x, axes=None: x.transpose(axes),
    np.expand_dims: _expand_dims,
    np.reshape: lambda x, shape: backend.as_array(x.reshape(shape)),
}
# NumPy's functions and ufuncs, and what is called instead; filled as they are asked for.
UFUNCS: dict[Any, Any] = {}
FUNCTIONS: dict[Any, Any] = {}


backend: Any = Backend()


def install(found: Any) -> None:
    """Use this backend from now on."""
    global backend
    backend = found
    UFUNCS.clear()
    FUNCTIONS.clear()
    found.fill(UFUNCS, FUNCTIONS)
