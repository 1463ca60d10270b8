"""Matrix products by one call of cuBLAS each, on the factors where they lie.

A row-major product is, to cuBLAS, the transposed product of the transposed factors; a factor whose
columns are contiguous goes in as a transposed one, so neither is copied. Batches go in as one call
where their matrices are evenly spaced. CuPy's binding makes the call, in a third of the time that
ctypes needs; only while a graph is captured, which it refuses, the call is our own (`cublas`).

Half precision is multiplied by the tensor cores as it is and added up in float32. float32 is multiplied as
float32, or as TF32 where the settings allow it.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from struct import Struct
from typing import Any

import numpy as np

from .by_heads import NO_TRANS, TRANS, ByHeads, as_it_lies
from .cublas import Cublas, checked, load
from .cublas_lt import Lt
from .cuda_array import new, wrap
from .views import is_made_by_rows

_TF32 = 3  # CUBLAS_TF32_TENSOR_OP_MATH
_DEFAULT = 0
# Codes of cudaDataType and cublasComputeType.
_HALVES = {"e": 2, "E": 14}
_COMPUTE_32F = 68
_GEMM_DEFAULT = -1
_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}


def in_half(gemm: Any, batched: Any, kind: int) -> tuple[Any, Any]:
    """cuBLAS's calls for any dtype (`gemmEx`), taking what those of one dtype take."""
    last = (_COMPUTE_32F, _GEMM_DEFAULT)

    def one(
        handle: int, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, lda: int, b: int,
        ldb: int, beta: int, c: int, ldc: int,
    ) -> None:  # fmt: skip
        gemm(handle, ta, tb, m, n, k, alpha, a, kind, lda, b, kind, ldb, beta, c, kind, ldc, *last)

    def many(
        handle: int, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, lda: int, sa: int,
        b: int, ldb: int, sb: int, beta: int, c: int, ldc: int, sc: int, count: int,
    ) -> None:  # fmt: skip
        batched(
            handle, ta, tb, m, n, k, alpha, a, kind, lda, sa, b, kind, ldb, sb, beta, c, kind, ldc,
            sc, count, *last,
        )  # fmt: skip

    return one, many


_ALIGNED = 8  # elements of half precision in sixteen bytes
_PACK_SEVEN = Struct("qqqqqqq").pack_into
# A thread has eight elements of a row of the result; a side whose rows are aligned is read or written at once.
_COPY_ROWS = r"""
typedef long long Int;
struct alignas(16) Eight { unsigned short at[8]; };
extern "C" __global__ void copy_rows(const unsigned short* a, unsigned short* r, Int rows, Int columns, Int lead,
    Int high, Int wide) {
  Int packs = (wide + 7) / 8, i = (Int)blockIdx.x * blockDim.x + threadIdx.x;
  Int row = i / packs, c = i % packs * 8;
  if (row >= high) return;
  a += row * lead + c;
  r += row * wide + c;
  Eight found;
  if (row < rows && c + 8 <= columns) {
    if (lead % 8 == 0) found = *(const Eight*)a; else for (int k = 0; k < 8; ++k) found.at[k] = a[k];
  } else for (int k = 0; k < 8; ++k) found.at[k] = row < rows && c + k < columns ? a[k] : 0;
  if (wide % 8 == 0) *(Eight*)r = found; else for (int k = 0; k < 8 && c + k < wide; ++k) r[k] = found.at[k];
}
"""


class Gemm:
    """`gemm(x, y, out)`: the product of two `CudaArray`s, or None where cuBLAS has no such call."""

    pads_from = 1 << 30  # multiplications, from which on it pays to copy matrices of odd width
    fuses_from = (
        1 << 20
    )  # results, from which on cuBLASLt's longer call takes less time than a second kernel
    _copier: Any = None
    _placer: Any = None
    scattered: Any = None  # cuBLAS's calls for matrices that lie anywhere, by the dtype's code

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        cupy = backend.cupy
        self.cublas = importlib.import_module("cupy_backends.cuda.libs.cublas")
        self._numbers = {
            code: (np.ones(1, code), np.zeros(1, code)) for code in _LETTERS
        }  # in main memory, where cuBLAS reads them
        self.one = {c: a.ctypes.data for c, (a, _) in self._numbers.items()}
        self.zero = {c: b.ctypes.data for c, (_, b) in self._numbers.items()}
        for half in _HALVES:  # whose factors are float32
            self.one[half], self.zero[half] = self.one["f"], self.zero["f"]
        self.handle_of = cupy.cuda.device.get_cublas_handle
        self.handle_of()  # loads the library
        self.calls = {
            c: (getattr(self.cublas, f"{n}gemm"), getattr(self.cublas, f"{n}gemmStridedBatched"))
            for c, n in _LETTERS.items()
        }
        self.scattered = {c: getattr(self.cublas, f"{n}gemmBatched") for c, n in _LETTERS.items()}
        for half, kind in _HALVES.items():
            self.calls[half] = in_half(self.cublas.gemmEx, self.cublas.gemmStridedBatchedEx, kind)
        library = load()
        self.own = None
        self.lt: Any = None
        if library is not None:
            self.own = Cublas(library, cupy.cuda.alloc)
            self.own_calls = {
                c: (
                    checked(getattr(library, f"cublas{n.upper()}gemm_v2")),
                    checked(getattr(library, f"cublas{n.upper()}gemmStridedBatched")),
                )
                for c, n in _LETTERS.items()
            }
            self.own_scattered = {
                c: checked(getattr(library, f"cublas{n.upper()}gemmBatched"))
                for c, n in _LETTERS.items()
            }
            for half, kind in _HALVES.items():
                self.own_calls[half] = in_half(
                    checked(library.cublasGemmEx), checked(library.cublasGemmStridedBatchedEx), kind
                )
            self.lt = Lt.found(self.own)

    def set_tf32(self, allowed: bool) -> None:
        """Whether float32 products may be computed from factors of ten bits."""
        mode = _TF32 if allowed else _DEFAULT
        self.cublas.setMathMode(self.handle_of(), mode)
        if self.own is not None:
            self.own.set_math_mode(mode)
        Lt.tf32 = allowed

    def _call(self, code: str, batched: int) -> tuple[Any, int]:
        """A function of cuBLAS, and the handle for it."""
        if self.backend.capture is None or self.own is None:
            return self.calls[code][batched], self.handle_of()
        stream = self.backend.cupy.cuda.get_current_stream().ptr
        return self.own_calls[code][batched], self.own.on(stream)

    def __call__(self, x: Any, y: Any, out: Any = None, add: bool = False) -> Any:
        """`x @ y`, into `out` if given; added to what is there if asked to, where both are matrices."""
        dtype = x.dtype
        code = dtype.char
        if y.dtype != dtype or code not in self.calls:
            return None
        rank, other = len(x.shape), len(y.shape)
        if rank == 2 and other == 2:
            return self._matrices(x, y, out, code, add)
        if rank < 2 or other < 2 or add:
            return None
        return self._batches(x, y, out, code)

    def turned(self, x: Any, y: Any) -> Any:
        """`x.T @ y` of two matrices, or None."""
        if x.dtype != y.dtype or x.dtype.char not in self.calls:
            return None
        return self._matrices(x, y, None, x.dtype.char, turn_first=True)

    def by_turned(self, x: Any, y: Any) -> Any:
        """`x @ y.T` of two matrices, or None."""
        if x.dtype != y.dtype or x.dtype.char not in self.calls:
            return None
        return self._matrices(x, y, None, x.dtype.char, turn_second=True)

    def _matrices(
        self, x: Any, y: Any, out: Any, code: str, add: bool = False, turn_first: bool = False,
        turn_second: bool = False,
    ) -> Any:  # fmt: skip
        m, k = x.shape[::-1] if turn_first else x.shape
        rows, n = y.shape[::-1] if turn_second else y.shape
        if rows != k or not (m and n and k):
            return None
        dtype = x.dtype
        if out is None:
            out = new((m, n), dtype)
        elif out.dtype != dtype or out.shape != (m, n) or not _is_by_rows(out):
            return None
        size = dtype.itemsize
        lead = n if out.dense else out.strides[0] // size
        x, turn_x, lead_x = self._placed(x, m, k, size, turn_first)
        y, turn_y, lead_y = self._placed(y, k, n, size, turn_second)
        pays = code in _HALVES and not add and m * n * k >= self.pads_from
        if pays and (lead_x | lead_y | lead) % _ALIGNED:
            sides = (x, turn_x, lead_x, y, turn_y, lead_y)
            found = self._on_even_rows(
                *sides, out if out.dense else new((m, n), dtype), m, n, k, code
            )
            if found is not out:
                np.copyto(out, found)
            return out
        places = (x.ptr, turn_x, lead_x), (y.ptr, turn_y, lead_y), (out.ptr, lead)
        if pays and (m | n | k) % _ALIGNED:
            for part in _even_parts(m, n, k):
                self._multiply(code, size, *places, *part)
        else:
            self._multiply(code, size, *places, (0, m), (0, n), (0, k), add)
        return out

    def _multiply(
        self, code: str, size: int, x: tuple[int, int, int], y: tuple[int, int, int], out: tuple[int, int],
        rows: tuple[int, int], columns: tuple[int, int], terms: tuple[int, int], add: bool,
    ) -> None:  # fmt: skip
        """A part of a product: of these rows and columns (first and how many), over these terms."""
        (at_m, m), (at_n, n), (at_k, k) = rows, columns, terms
        (x_start, turn_x, lead_x), (y_start, turn_y, lead_y), (start, lead) = x, y, out
        down, along = (1, lead_x) if turn_x else (lead_x, 1)
        x_start += (at_m * down + at_k * along) * size
        down, along = (1, lead_y) if turn_y else (lead_y, 1)
        y_start += (at_k * down + at_n * along) * size
        call, handle = self._call(code, 0)
        call(
            handle, turn_y, turn_x, n, m, k, self.one[code], y_start, lead_y, x_start, lead_x,
            self.one[code] if add else self.zero[code], start + (at_m * lead + at_n) * size, lead,
        )  # fmt: skip

    def rows_by(self, code: str, m: int, n: int, k: int, turned: bool) -> Any:
        """`multiply(x, y, out, add)` of addresses: out = x y, or x yᵀ if `turned`, all by rows, m by n, k terms."""
        one, zero = self.one[code], self.zero[code]
        turn, lead = (TRANS, k) if turned else (NO_TRANS, n)

        call, handle = self._call(code, 0)
        if self.own is not None:  # told its stream once, where CuPy's binding is at each call
            call, handle = (
                self.own_calls[code][0],
                self.own.on(self.backend.cupy.cuda.get_current_stream().ptr),
            )

        def multiply(x: int, y: int, out: int, add: bool) -> None:
            call(handle, turn, NO_TRANS, n, m, k, one, y, lead, x, k, one if add else zero, out, n)

        return multiply

    def affine(self, x: Any, y: Any, bias: Any, out: Any = None) -> Any:
        """`x @ y + bias` of two matrices and a row in one call, or None where there is no such call."""
        lt = self.lt
        if (
            lt is None
            or x.dtype.char not in lt.kinds
            or y.dtype != x.dtype
            or bias.dtype != x.dtype
        ):
            return None
        (m, k), (rows, n) = x.shape, y.shape
        if rows != k or m * n < self.fuses_from or bias.shape != (n,) or not bias.dense:
            return None
        if (m | n | k) % _ALIGNED and x.dtype.char in _HALVES and m * n * k >= self.pads_from:
            return None
        if out is None:
            out = new((m, n), x.dtype)
        elif not out.dense:
            return None
        size = x.dtype.itemsize
        x, turn_x, lead_x = self._placed(x, m, k, size, False)
        y, turn_y, lead_y = self._placed(y, k, n, size, False)
        stream = self.backend.cupy.cuda.get_current_stream().ptr
        done = lt.affine(
            x.dtype.char, n, m, k, turn_y, turn_x, lead_y, lead_x, y.ptr, x.ptr, bias.ptr, out.ptr,
            stream,
        )  # fmt: skip
        return out if done else None

    def _on_even_rows(
        self, x: Any, turn_x: int, lead_x: int, y: Any, turn_y: int, lead_y: int, out: Any, m: int, n: int, k: int,
        code: str,
    ) -> Any:  # fmt: skip
        """A product in half precision of matrices of odd sizes, as sixteen bytes go.

        Tensor cores read sixteen bytes at once. Copies with zeros up to the next such size cost less than the
        kernels that cuBLAS has for others.
        """
        high, wide, deep = (-(-size // _ALIGNED) * _ALIGNED for size in (m, n, k))
        x, lead_x = self._even(x, (k, m) if turn_x else (m, k), lead_x)
        y, lead_y = self._even(y, (n, k) if turn_y else (k, n), lead_y)
        found = out if (high, wide) == (m, n) else new((high, wide), out.dtype)
        call, handle = self._call(code, 0)
        call(
            handle, turn_y, turn_x, wide, high, deep, self.one[code], y.ptr, lead_y, x.ptr, lead_x,
            self.zero[code], found.ptr, wide,
        )  # fmt: skip
        if found is not out:
            self._copy_rows(found, out, (m, n), wide, (m, n))
        return out

    def _even(self, x: Any, shape: tuple[int, int], lead: int) -> tuple[Any, int]:
        """A matrix and how far apart its rows are, with zeros up to an even size."""
        if not (shape[0] | shape[1] | lead) % _ALIGNED:
            return x, lead
        rows, columns = (-(-size // _ALIGNED) * _ALIGNED for size in shape)
        found = new((rows, columns), x.dtype)
        self._copy_rows(x, found, shape, lead, (rows, columns))
        return found, columns

    def _copy_rows(
        self, x: Any, out: Any, given: tuple[int, int], lead: int, wanted: tuple[int, int]
    ) -> None:
        """Elements of two bytes from rows that are `lead` apart to a matrix of another size."""
        if self._copier is None:
            self._copier = self.backend.compile(_COPY_ROWS, "copy_rows")
        count = wanted[0] * -(-wanted[1] // _ALIGNED)
        values = (x.ptr, out.ptr, *given, lead, *wanted)
        self.backend.launch(self._copier, -(-count // 256), 256, 0, _PACK_SEVEN, values)

    def _placed(
        self, x: Any, rows: int, columns: int, size: int, turned: bool
    ) -> tuple[Any, int, int]:
        """A matrix as cuBLAS can read it: (array, whether transposed, leading dimension)."""
        if is_made_by_rows(x):
            return (x, TRANS, rows) if turned else (x, NO_TRANS, columns)
        step, along = x.strides
        if turned:
            step, along = along, step
        if (along == size or columns == 1) and step >= columns * size:
            return x, NO_TRANS, step // size
        if (step == size or rows == 1) and along >= rows * size:
            return x, TRANS, along // size
        return self._copied(x.T if turned else x), NO_TRANS, columns

    def _copied(self, x: Any) -> Any:
        return wrap(self.backend.cupy.ascontiguousarray(x.raw))

    def _batches(self, x: Any, y: Any, out: Any, code: str) -> Any:
        if y.ndim == 2:
            return self._one_matrix(x, y, out, code)
        if x.shape[:-2] != y.shape[:-2]:
            try:
                batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
            except ValueError:
                return None
            x = np.broadcast_to(x, (*batch, *x.shape[-2:]))
            y = np.broadcast_to(y, (*batch, *y.shape[-2:]))
        batch = x.shape[:-2]
        m, k = x.shape[-2:]
        n = y.shape[-1]
        count = math.prod(batch)
        if y.shape[-2] != k or not (m and n and k and count):
            return None
        if out is None:
            out = new((*batch, m, n), x.dtype)
        elif out.dtype != x.dtype or not out.dense or out.shape != (*batch, m, n):
            return None
        size = x.dtype.itemsize
        x, turn_x, lead_x, step_x = self._spaced(x, m, k, size)
        y, turn_y, lead_y, step_y = self._spaced(y, k, n, size)
        call, handle = self._call(code, 1)
        call(
            handle, turn_y, turn_x, n, m, k, self.one[code], y.ptr, lead_y, step_y, x.ptr, lead_x,
            step_x, self.zero[code], out.ptr, n, m * n, count,
        )  # fmt: skip
        return out

    def by_heads(self, products: list[tuple[Any, Any, Any]]) -> ByHeads | None:
        """Products `out = x @ y` of batches in two dimensions, each matrix where it lies; None where cuBLAS cannot.

        Of heads, which lie side by side at each position, the matrices are not evenly spaced: cuBLAS is told where
        each begins, and nothing is copied.
        """
        x, _, out = products[0]
        if self.scattered is None or x.dtype.char not in self.scattered or len(out.shape) != 4:
            return None
        found = ByHeads(self, products)
        return found if found.fits else None

    def _spaced(self, x: Any, rows: int, columns: int, size: int) -> tuple[Any, int, int, int]:
        """A batch as cuBLAS can read it: `_placed`, and how far apart its matrices are."""
        apart, lies = _apart(x), as_it_lies(x, rows, columns, size)
        if apart >= 0 and lies is not None:
            return x, *lies, apart // size
        return self._copied(x), NO_TRANS, columns, rows * columns

    def _one_matrix(self, x: Any, y: Any, out: Any, code: str) -> Any:
        """A batch times one matrix: the batch's rows end to end."""
        if not x.dense or not x.size or out is not None:
            return None
        found = self._matrices(np.reshape(x, (-1, x.shape[-1])), y, None, code)
        return None if found is None else np.reshape(found, (*x.shape[:-1], y.shape[1]))


def _even_parts(m: int, n: int, k: int) -> Iterator[tuple[Any, ...]]:
    """A large product in half precision as parts of even sizes, as tensor cores want them, and what is left over.

    The last few terms come first, so that the sum of all is rounded once.
    """
    for rows in _even_and_rest(m):
        for columns in _even_and_rest(n):
            for i, terms in enumerate(reversed(_even_and_rest(k))):
                yield rows, columns, terms, i > 0


def _even_and_rest(size: int) -> list[tuple[int, int]]:
    even = size - size % _ALIGNED
    return [(at, count) for at, count in ((0, even), (even, size - even)) if count]


def _is_by_rows(x: Any) -> bool:
    """Whether the elements of each row of a matrix lie side by side; rows may be apart."""
    (rows, columns), (down, along), size = x.shape, x.strides, x.dtype.itemsize
    apart = along == size and down >= columns * size and down % size == 0 and rows > 1
    return bool(x.dense or apart)


def _apart(x: Any) -> int:
    """How many bytes lie between the matrices of a batch, or -1 where that differs."""
    apart, count = -1, 1
    for dim in range(x.ndim - 3, -1, -1):
        extent, stride = x.shape[dim], x.strides[dim]
        if extent == 1:
            continue
        if apart < 0:
            apart = stride
        elif stride != apart * count:
            return -1
        count *= extent
    return max(apart, 0)
