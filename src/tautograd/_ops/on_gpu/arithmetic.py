"""Sums, differences, products and quotients of two arrays, or of an array and a number, in place too: one launch.

CuPy's own take three times as long in Python. Here the second operand may also be one row, or
whatever the first repeats; every other broadcasting, and dtypes other than two floats, are CuPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.cuda.calls import QUICK
from ..._arrays.cuda.cuda_array import CudaArray, new
from .launch import THREADS, blocks_for, dense, fit, fit_any, kernel, pointwise, run_pointwise
from .specialise import forward_of

_INDEX = "Int i = (Int)blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;"
_NUMBERS = frozenset((int, float))
PLUS_PRODUCT = kernel(
    "plus_product",
    f"(const T* a, const T* b, T* r, Int n, double alpha) {{ {_INDEX} r[i] = fma(b[i], (T)alpha, a[i]); }}",
)


def _operation(name: str, symbol: str) -> Any:
    """A ufunc of two operands, on the engine's arrays; None where it is not for these kernels."""
    pair = kernel(
        f"{name}_pair",
        "(const S* a, const S* b, S* r, Int n, Int m) "
        f"{{ {_INDEX} r[i] = a[i] {symbol} b[m == n ? i : i % m]; }}",
    )
    alike = pointwise(f"{name}_alike", "xy", f"v = X {symbol} Y;")
    number = kernel(
        f"{name}_number",
        f"(const T* a, T* r, Int n, double b) {{ {_INDEX} r[i] = a[i] {symbol} (T)b; }}",
    )
    either = symbol in "+*"

    def call(x: Any, y: Any, out: Any = None) -> Any:
        if type(x) is not CudaArray:
            if not either:
                return None
            x, y = y, x
        if type(y) in _NUMBERS:
            if not fit(x):
                return _counted_on(x, y, out) if name == "add" else None
            out = _room(x, x, out)
            if out is None:
                return None
            number(x.dtype.char, blocks_for(x.size), THREADS, x.ptr, out.ptr, x.size, y)
            return out
        if not fit_any(x, y):
            return None
        shape, other = x.shape, y.shape
        if shape != other and not _repeats(shape, other):
            if not either or not _repeats(other, shape):
                return None
            x, y = y, x
        out = _room(x, y, out)
        if out is None:
            return None
        if x.shape == y.shape:
            return run_pointwise(alike, out, x, y)
        n = x.size
        pair(x.dtype.char, blocks_for(n), THREADS, x.ptr, y.ptr, out.ptr, n, y.size)
        return out

    return call


COUNT = kernel(
    "count", f"(const Int* a, Int* r, Int n, Int b) {{ {_INDEX} r[i] = a[i] + b; }}", "f"
)


def _counted_on(x: Any, y: Any, out: Any) -> Any:
    """A whole number added to int64, as batches are counted."""
    if type(x) is not CudaArray or x.dtype != np.int64 or type(y) is not int or not x.dense:
        return None
    if not x.size or not -(1 << 63) <= y < 1 << 63:
        return None
    if out is None:
        out = new(x.shape, x.dtype)
    elif type(out) is not CudaArray or not _is_itself(out, x):
        return None
    COUNT("f", blocks_for(x.size), THREADS, x.ptr, out.ptr, x.size, y)
    return out


def _is_itself(out: Any, x: Any) -> bool:
    return out.dense and (out.ptr, out.shape, out.dtype) == (x.ptr, x.shape, x.dtype)


def _room(x: Any, y: Any, out: Any) -> Any:
    """Where a result goes: into what is given, if that is x itself and y does not lie across it; else None."""
    if out is None:
        return new(x.shape, x.dtype)
    if (
        type(out) is not CudaArray
        or out.ptr != x.ptr
        or out.shape != x.shape
        or not fit_any(x, out)
    ):
        return None
    apart = y.ptr >= out.ptr + out.nbytes or out.ptr >= y.ptr + y.nbytes
    return out if apart or (y.ptr == out.ptr and y.size == out.size) else None


def _repeats(shape: tuple[int, ...], part: tuple[int, ...]) -> bool:
    """Whether an array of the first shape repeats one of the second end to end."""
    return len(part) <= len(shape) and shape[len(shape) - len(part) :] == part


def _scaled_sum(x: Any, y: Any, alpha: Any) -> Any:
    """x + alpha·y, rounded once."""
    if isinstance(alpha, complex) or type(y) is not CudaArray or x.dtype.char not in "fd":
        return None
    shape = np.broadcast_shapes(x.shape, y.shape)
    x, y = [dense(v if v.shape == shape else np.broadcast_to(v, shape)) for v in (x, y)]
    if not fit(x, y):
        return None
    out = new(shape, x.dtype)
    size = x.size
    PLUS_PRODUCT(x.dtype.char, blocks_for(size), THREADS, x.ptr, y.ptr, out.ptr, size, float(alpha))
    return out


OPERATIONS = {
    np.add: _operation("add", "+"),
    np.subtract: _operation("subtract", "-"),
    np.multiply: _operation("multiply", "*"),
    np.true_divide: _operation("divide", "/"),
}


def install() -> None:
    """Put these in place."""
    QUICK.update(OPERATIONS)
    forward_of("add_scaled")(_scaled_sum)
    forward_of("sub_scaled")(lambda x, y, alpha: _scaled_sum(x, y, -alpha))
