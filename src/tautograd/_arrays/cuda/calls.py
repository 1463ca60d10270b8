"""A NumPy call on GPU arrays: which CuPy function to call, and with which arguments.

`QUICK` and `VIEWS` come first: what is done without CuPy, on the engine's own arrays, or declined by returning
None. Then CuPy's function of the same name, or its replacement in the table (`cuda_functions`, `cuda_ufuncs`);
if there is none, or it refuses, NumPy does it in main memory (`cuda_detour`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import cuda_array, views
from .cuda_array import CudaArray, wrap

_ndarray = np.ndarray
_NUMBERS = frozenset((float, int, bool, complex))
# Types that contain no array, and are passed through unchanged.
_PLAIN = _NUMBERS | {str, type(None), slice, type(Ellipsis), np.dtype, type, np.ufunc}
# Functions that accept arrays from main memory: those that make an array of them, and those that take
# indices, or values to write, after their first argument.
_MAKERS = frozenset((np.asarray, np.array))
_TAKES_HOST = frozenset((np.take, np.take_along_axis, np.put_along_axis, np.copyto))
_METHODS_WITH_INDICES = frozenset(("at", "reduceat"))

_new: Any = object.__new__

# Functions of shapes only.
VIEWS: dict[Any, Any] = {
    np.swapaxes: views.swapped,
    np.transpose: views.transposed,
    np.expand_dims: views.expanded,
    np.reshape: views.reshaped,
}
# Ufuncs, methods of ufuncs and functions with our own kernels, on the engine's arrays; filled
# if there are kernels.
QUICK: dict[Any, Any] = {}
# NumPy's functions and ufuncs, and what to call instead; filled lazily.
UFUNCS: dict[Any, Any] = {}
FUNCTIONS: dict[Any, Any] = {}


def of_ufunc(ufunc: Any, method: str, inputs: Any, options: Any) -> Any:
    """A ufunc, or one of its methods, called by NumPy."""
    if method == "__call__":
        quick = QUICK.get(ufunc)
        if quick is not None and len(options) == 1 and "out" in options:
            found = quick(*inputs, out=options["out"][0])
            if found is not None:
                return found
        rule = UFUNCS.get(ufunc)
        if rule is None:
            rule = cuda_array.backend.find_ufunc(ufunc)
    else:
        quick = QUICK.get((ufunc, method))
        if quick is not None:
            found = quick(*inputs, **options)
            if found is not None:
                return found
        rule = cuda_array.backend.find_method(ufunc, method)
    return run(getattr(ufunc, method), rule, inputs, options)


def of_function(function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """A function called by NumPy; other array types take precedence."""
    if function in VIEWS and not kwargs and type(args[0]) is CudaArray:
        found = VIEWS[function](*args)
        if found is not None:
            return found
    for kind in types:
        if kind is not CudaArray and kind is not _ndarray:
            return NotImplemented
    quick = QUICK.get(function)
    if quick is not None:
        found = quick(*args, **kwargs)
        if found is not None:
            return found
    rule = FUNCTIONS.get(function)
    if rule is None:
        rule = cuda_array.backend.find_function(function)
    return run(function, rule, args, kwargs)


def run(function: Any, rule: Any, args: Any, kwargs: Any) -> Any:
    """Run a NumPy function by its CuPy rule, or in main memory if there is none or it refuses."""
    if function in _MAKERS:
        args = tuple([_brought_over(x) for x in args])
    elif function in _TAKES_HOST or getattr(function, "__name__", "") in _METHODS_WITH_INDICES:
        if function is np.copyto and type(args[0]) is _ndarray:  # from the GPU, which waits for it
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
    backend = cuda_array.backend
    if rule is not None:
        try:
            result = rule(*given, **options)
        except backend.refusals as refusal:
            error = refusal
    if rule is None or error is not None:
        from .host_fallback import detour

        result = detour(function, args, kwargs, error)
    if out is not None:
        return out
    return wrap(result) if type(result) is backend.array else wrapped(result)


def wrapped(result: Any) -> Any:
    """A result with CuPy's arrays wrapped as the engine's."""
    if isinstance(result, cuda_array.backend.arrays):
        return wrap(cuda_array.backend.as_array(result))
    if isinstance(result, (tuple, list)):
        parts = [wrapped(r) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


def _unwrapped(x: Any) -> Any:
    """An argument as CuPy takes it; NotImplemented if another array type takes precedence."""
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


def _kept(x: Any) -> Any:
    return NotImplemented if x is NotImplemented else None


def _brought_over(x: Any) -> Any:
    """An argument with its main-memory arrays copied to the GPU."""
    if type(x) is _ndarray and x.ndim:
        return wrap(cuda_array.backend.to_device(x))
    return tuple([_brought_over(v) for v in x]) if type(x) is tuple else x


def mixed_devices() -> RuntimeError:
    """PyTorch's error for operands on different devices."""
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    )


def index_on_device(index: Any) -> Any:
    """An index as CuPy takes it; index arrays may also be in main memory."""
    kind = type(index)
    if kind is CudaArray:
        return index.raw
    if kind is tuple:
        return tuple([index_on_device(i) for i in index])
    if isinstance(index, _ndarray) and index.ndim:
        return cuda_array.backend.to_device(index)
    if isinstance(index, _ndarray):
        return index[()]
    return cuda_array.backend.to_device(np.asarray(index)) if kind is list else index


def value_on_device(value: Any) -> Any:
    """A value to be written: a number, or an array, copied to the GPU if need be."""
    if type(value) is CudaArray:
        return value.raw
    if isinstance(value, _ndarray):
        return cuda_array.backend.to_device(value) if value.ndim else value[()]
    return cuda_array.backend.to_device(np.asarray(value)) if isinstance(value, list) else value


def operator(ufunc: Any, reflected: bool) -> Any:
    """An operator of two arrays, bypassing NumPy's dispatch."""

    def method(self: CudaArray, other: Any) -> Any:
        kind = type(other)
        quick = QUICK.get(ufunc)
        if quick is not None and (kind is CudaArray or kind in _NUMBERS):
            found = quick(other, self) if reflected else quick(self, other)
            if found is not None:
                return found
        if kind is CudaArray:
            value = other.raw
        elif kind in _NUMBERS:
            value = other
        else:
            return ufunc(other, self) if reflected else ufunc(self, other)
        backend = cuda_array.backend
        rule = UFUNCS.get(ufunc) or backend.find_ufunc(ufunc)
        raw = self.raw
        try:
            result = rule(value, raw) if reflected else rule(raw, value)
        except backend.refusals:
            return ufunc(other, self) if reflected else ufunc(self, other)
        return wrap(backend.as_array(result))

    return method


for _name, _ufunc in (
    ("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("truediv", np.true_divide),
):  # fmt: skip
    setattr(CudaArray, f"__{_name}__", operator(_ufunc, False))
    setattr(CudaArray, f"__r{_name}__", operator(_ufunc, True))
