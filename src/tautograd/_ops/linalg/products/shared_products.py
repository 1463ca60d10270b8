"""`np.matmul` of NumPy's own arrays, large products by a kernel that shares them out among threads.

A product that BLAS would give to threads of its own is cut into blocks instead, for the threads that all kernels use
(`_kernels/products`). Smaller ones BLAS computes in the calling thread anyway. Operands may lie transposed;
whatever else there is (other dtypes, strides of neither kind, arrays that are recorded or batched) is `np.matmul`'s.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.kernels import kernel_of
from ...._tensor import settings

_ndarray = np.ndarray
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_FLOATS = {_FLOAT32: 4, _FLOAT64: 8}
LARGE = 1 << 18  # multiplications from which on OpenBLAS wakes its threads
WORTH_SHARING = 1 << 19  # those from which on ours help
SMALLEST_BLOCK = 32  # rows or columns
GOOD_BLOCK = 128  # two for each thread, if they are as large: a thread that comes late takes fewer
_LONG = 1 << 20  # of a kernel's `work`: to be shared out
_PLAIN, _TURNED = ord("N"), ord("T")


def matmul(a: Any, b: Any, out: Any = None) -> Any:
    """The product of two matrices, or of two stacks of as many."""
    if type(a) is not _ndarray or type(b) is not _ndarray or a.size * b.shape[-1] < LARGE:
        return np.matmul(a, b) if out is None else np.matmul(a, b, out=out)
    found = _shared(a, b, None, out)
    if found is not None:
        return found
    return np.matmul(a, b) if out is None else np.matmul(a, b, out=out)


def product(a: Any, b: Any) -> Any:
    """The product of two matrices.

    A small one by `np.dot`, which hands BLAS what `np.matmul` does and takes little more than half the time; but only
    of rows or columns without gaps, of which neither has to make a copy of its own kind.
    """
    if type(a) is _ndarray and type(b) is _ndarray:
        dtype = a.dtype
        if (
            b.dtype is dtype
            and (dtype is _FLOAT32 or dtype is _FLOAT64)
            and a.size * b.shape[-1] < LARGE
            and a.flags.forc
            and b.flags.forc
        ):
            return np.dot(a, b)
    return matmul(a, b)


def affine(a: Any, b: Any, bias: Any) -> Any:
    """A product of matrices with a row added to it, all of them NumPy's own; None where that is best left to NumPy."""
    if a.size * b.shape[-1] < LARGE or bias.ndim != 1 or not bias.flags.c_contiguous:
        return None
    if bias.dtype is not a.dtype or bias.shape[0] != b.shape[-1]:
        return None
    return _shared(a, b, bias, None)


def _shared(a: Any, b: Any, bias: Any, out: Any) -> Any:
    dtype = a.dtype
    size = _FLOATS.get(dtype)
    shape = a.shape
    if size is None or b.dtype is not dtype or len(shape) > 4 or len(shape) < 2:
        return None
    m, k = shape[-2:]
    stack = shape[:-2]
    n = b.shape[-1]
    if b.shape[-2] != k or b.shape[:-2] != stack:
        return None
    if out is None:
        out = np.empty((*stack, m, n), dtype)
    left, right, result = _lead(a, size), _lead(b, size), _lead(out, size)
    if left is None or right is None or result is None or result[1] != _PLAIN:
        return None
    run = kernel_of("product", dtype)
    if run is None:
        return None
    many = 1
    for extent in stack:
        many *= extent
    work = m * n * k * many
    threads = settings.get_num_threads() if work >= WORTH_SHARING else 1
    by_rows = m >= n
    longest = m if by_rows else n
    block = _block(longest, threads, many)
    blocks = -(-longest // block)
    lead_a, turned_a = left
    lead_b, turned_b = right
    lead_c = result[0]
    run(
        many * blocks,
        _LONG if threads > 1 else 0,
        *(a, b, a if bias is None else bias, out, m, n, k),
        *(lead_a, lead_b, lead_c, turned_a, turned_b, blocks, block, by_rows),
        0 if not by_rows else lead_a if turned_a == _PLAIN else 1,
        0 if by_rows else 1 if turned_b == _PLAIN else lead_b,
        lead_c if by_rows else 1,
        stack[-1] if stack else 1,
        *_distances(a, size),
        *_distances(b, size),
        *_distances(out, size),
        bias is not None,
    )
    return out


def _distances(x: Any, size: int) -> tuple[int, int]:
    """How many elements lie from one matrix of a stack to the next, in the outer and in the inner dimension."""
    if x.ndim == 2:
        return 0, 0
    steps = x.strides
    return (steps[0] // size if x.ndim == 4 else 0), steps[-3] // size


def _block(longest: int, threads: int, stack: int) -> int:
    """How many rows or columns a unit has: all of them, or multiples of 16."""
    if threads < 2 or stack >= 2 * threads:
        return longest
    parts = -(-threads // stack)
    if longest >= 2 * parts * GOOD_BLOCK:
        parts *= 2
    parts = max(1, min(parts, longest // SMALLEST_BLOCK))
    return -(-longest // (parts * 16)) * 16


def _lead(x: Any, size: int) -> tuple[int, int] | None:
    """The length of a matrix's rows in memory, or of its columns if it lies transposed; None if it lies otherwise."""
    rows, columns = x.shape[-2:]
    down, across = x.strides[-2:]
    if across == size and down >= columns * size and down % size == 0:
        return down // size, _PLAIN
    if down == size and across >= rows * size and across % size == 0:
        return across // size, _TURNED
    return None
