"""Products of the heads of a layer, where their matrices lie: side by side at each position, not evenly spaced.

cuBLAS is told where each matrix begins, by a table of addresses that one launch writes for several products.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np

from .cuda_array import new

if TYPE_CHECKING:
    from .gemm import Gemm

NO_TRANS, TRANS = 0, 1
_AT_ONCE = 5  # products whose matrices one launch finds the places of
_PACK_PLACES = Struct("q" * (3 + 9 * _AT_ONCE)).pack_into
# Where the matrices of batches in two dimensions begin: of both factors and of the result of each product.
_PLACES = f"""
typedef long long Int;
extern "C" __global__ void places(Int* table, Int count, Int inner, {
    ", ".join(f"Int s{i}, Int o{i}, Int i{i}" for i in range(3 * _AT_ONCE))
}) {{
  Int i = (Int)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Int a = i / inner, b = i % inner;
  {
    " ".join(
        f"if (s{i}) table[{i} * count + i] = s{i} + a * o{i} + b * i{i};"
        for i in range(3 * _AT_ONCE)
    )
}
}}
"""
_INT = np.dtype(np.int64)


def as_it_lies(x: Any, rows: int, columns: int, size: int) -> tuple[int, int] | None:
    """How cuBLAS reads the matrices of a batch: whether transposed, and the leading dimension; None where it cannot."""
    step, along = x.strides[-2:]
    if (along == size or columns == 1) and step >= columns * size and not step % size:
        return NO_TRANS, step // size
    if (step == size or rows == 1) and along >= rows * size and not along % size:
        return TRANS, along // size
    return None


class ByHeads:
    """Products of heads, of which the places in memory have been written down; each is run when it is wanted."""

    def __init__(self, gemm: Gemm, products: list[tuple[Any, Any, Any]]) -> None:
        first = products[0][2]
        self.gemm, self.code, size = gemm, first.dtype.char, first.dtype.itemsize
        self.inner = first.shape[1]
        self.count = first.shape[0] * self.inner
        self.shapes, self.starts, self.fits = [], [], True
        for x, y, out in products:
            (m, n), k = out.shape[-2:], x.shape[-1]
            lies = [
                as_it_lies(a, *sides, size)
                for a, sides in ((x, (m, k)), (y, (k, n)), (out, (m, n)))
            ]
            if None in lies or lies[2][0] == TRANS:  # type: ignore[index]
                self.fits = False
                return
            self.shapes.append((m, n, k, *lies))
            self.starts.append([v for a in (x, y, out) for v in (a.ptr, *a.strides[:2])])
        self._find_places()

    def _find_places(self) -> None:
        gemm, count = self.gemm, self.count
        if gemm._placer is None:
            gemm._placer = gemm.backend.compile(_PLACES, "places")
        self.table = new((3 * len(self.starts) * count,), _INT)
        for at in range(0, len(self.starts), _AT_ONCE):
            given = [v for start in self.starts[at : at + _AT_ONCE] for v in start]
            values = (self.table.ptr + 24 * at * count, count, self.inner, *given)
            values += (0,) * (3 + 9 * _AT_ONCE - len(values))
            gemm.backend.launch(gemm._placer, -(-count // 128), 128, 0, _PACK_PLACES, values)

    def run(self, number: int) -> None:
        """The product of this number."""
        gemm, code, count = self.gemm, self.code, self.count
        m, n, k, (turn_x, lead_x), (turn_y, lead_y), (_, lead) = self.shapes[number]
        if gemm.backend.capture is None or gemm.own is None:
            call, handle = gemm.scattered[code], gemm.handle_of()
        else:
            stream = gemm.backend.cupy.cuda.get_current_stream().ptr
            call, handle = gemm.own_scattered[code], gemm.own.on(stream)
        at = self.table.ptr + 24 * number * count
        call(
            handle, turn_y, turn_x, n, m, k, gemm.one[code], at + 8 * count, lead_y, at, lead_x, gemm.zero[code],
            at + 16 * count, lead, count,
        )  # fmt: skip
