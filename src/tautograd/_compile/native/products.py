"""Matrix products by calls of BLAS, one for each matrix of a stack; and where BLAS is found.

NumPy's own BLAS is taken if it can be found, since it is loaded already and gives the bits that eager
mode gives; else SciPy's.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Hashable
from typing import Any, NamedTuple

from ..._arrays.lapack import openblas
from ..._arrays.once import once
from ..dynamic.size import example
from ..program.ir import Product, View
from .fusion.gemm_scale import Scaled
from .fusion.normalise import leading
from .llvm.code import Code, Shared, function_text
from .llvm.types import constant, element_type

WORTH_SHARING = 1 << 19  # multiplications
SMALLEST_BLOCK = 32  # rows or columns
GOOD_BLOCK = 256  # two for each thread, if they are as large: a thread that comes late takes fewer


class Blas(NamedTuple):
    """Addresses of BLAS's functions by name, and the bits of its integers.

    With `get_threads` and `set_threads` it can be told to run in the calling thread alone.
    """

    addresses: dict[str, int]
    integer: int

    @property
    def obeys(self) -> bool:
        return "set_threads" in self.addresses


_NAMES = {
    "sgemm": "sgemm_",
    "dgemm": "dgemm_",
    "get_threads": "openblas_get_num_threads",
    "set_threads": "openblas_set_num_threads",
}


@once
def blas() -> Blas | None:
    """Fortran's interface to a BLAS in this process."""
    library = openblas()
    if library is None:
        return _scipy_blas()
    functions = {name: library.function(spelled) for name, spelled in _NAMES.items()}
    if None not in functions.values():
        addresses = {n: ctypes.cast(f, ctypes.c_void_p).value or 0 for n, f in functions.items()}
        return Blas(addresses, library.integer)
    return _scipy_blas()


def _scipy_blas() -> Blas | None:
    try:
        from scipy.linalg import cython_blas
    except ImportError:
        return None
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsules = cython_blas.__pyx_capi__
    return Blas({n: pointer(capsules[n], name_of(capsules[n])) for n in ("sgemm", "dgemm")}, 32)


class ProductKernel:
    """A function that multiplies: its text, and the memory it is to be given.

    Split over threads, its units are the matrices of the stack, or blocks of the result's rows or columns.
    """

    def __init__(self, product: Product, declared: dict[str, str], threads: int) -> None:
        found = blas()
        assert found is not None
        self.integer = f"i{found.integer}"
        self.arguments: dict[tuple[int, int], str] = {}
        self.code = Code(Shared(declared))
        self.units = 0
        self._emit(product, threads if found.obeys else 1)

    def text(self, name: str) -> str:
        return function_text(name, self.code, self.arguments.values())

    def _emit(self, product: Product, threads: int) -> None:
        left, right, out = product.left, product.right, product.output
        (m, n), k = out.shape[-2:], left.shape[-1]
        stack = out.shape[:-2]
        matrices = math.prod(stack)
        code = self.code
        blocks = 1
        large = example(matrices * m * n * k) >= WORTH_SHARING
        if large and threads > 1 and example(matrices) < 2 * threads:
            blocks = -(-threads // example(matrices))
            longest = max(example(m), example(n))
            blocks = 2 * blocks if longest // (2 * blocks) >= GOOD_BLOCK else blocks
            blocks = max(1, min(blocks, longest // SMALLEST_BLOCK))
        if large and threads > 1:
            self.units = matrices * blocks
        rows = example(m) >= example(n)
        block = -(-(m if rows else n) // blocks) if blocks > 1 else 0
        block = -(-block // 16) * 16
        bounds = ("%begin", "%end") if self.units else ("0", str(matrices))
        with code.loop(*bounds) as unit:
            which, part = unit, "0"
            if blocks > 1:
                which = code.new(f"udiv i64 {unit}, {blocks}")
                part = code.new(f"urem i64 {unit}, {blocks}")
            counters = self._counters(which, stack)
            a, b, c = (self._pointer(view, counters) for view in (left, right, out))
            first = code.product(part, block)
            size = str(m if rows else n)
            if blocks > 1:
                rest = code.new(f"sub i64 {size}, {first}")
                size = code.least(rest, block)
                here = code.new(f"icmp slt i64 {first}, {m if rows else n}")
                size = code.new(f"select i1 {here}, i64 {size}, i64 0")
            if rows:
                a = code.offset(a, code.product(first, left.strides[-2]))
                c = code.offset(c, code.product(first, out.strides[-2]))
                sizes = (size, str(n), str(k))
            else:
                b = code.offset(b, code.product(first, right.strides[-1]))
                c = code.offset(c, code.product(first, out.strides[-1]))
                sizes = (str(m), size, str(k))
            self._one(product, (a, b, c), sizes)

    def _counters(self, which: str, stack: tuple[int, ...]) -> list[str]:
        """The place in each dimension of the stack, from the number of a matrix."""
        counters: list[str] = []
        for d in reversed(range(len(stack))):
            if d == 0:
                counters.append(which)
                break
            counters.append(self.code.new(f"urem i64 {which}, {stack[d]}"))
            which = self.code.new(f"udiv i64 {which}, {stack[d]}")
        return counters[::-1]

    def _one(
        self, product: Product, pointers: tuple[str, str, str], sizes: tuple[str, str, str]
    ) -> None:
        a, b, c = pointers
        m, n, k = sizes
        (a_rows, a_lead), (b_rows, b_lead), (c_rows, c_lead) = (
            _leading(view) for view in (product.left, product.right, product.output)
        )
        dtype = product.output.dtype
        if c_rows:  # Fortran sees rows as columns: the transposed result is right' times left'
            first, second, shape = (b, b_rows, b_lead), (a, a_rows, a_lead), (n, m, k)
        else:
            first, second, shape = (a, not a_rows, a_lead), (b, not b_rows, b_lead), (m, n, k)
        factor = product.factor if isinstance(product, Scaled) else 1.0
        self._gemm(dtype, first, second, shape, (c, c_lead), product.adds, factor)

    def _pointer(self, view: View, counters: list[str]) -> str:
        code = self.code
        base = self.arguments.setdefault((view.buffer, view.offset), f"%a{len(self.arguments)}")
        distance = "0"
        for counter, stride in zip(counters, view.strides[:-2], strict=True):
            distance = code.sum(distance, code.product(counter, stride))
        return code.offset(base, distance)

    def _gemm(
        self,
        dtype: Any,
        first: tuple[str, bool, int],
        second: tuple[str, bool, int],
        sizes: tuple[str, str, str],
        result: tuple[str, int],
        adds: bool,
        factor: float,
    ) -> None:
        kind = element_type(dtype)
        m, n, k = sizes
        arguments = [
            self._constant("i8", ord("N") if first[1] else ord("T")),
            self._constant("i8", ord("N") if second[1] else ord("T")),
            *(self._size(size) for size in (m, n, k)),
            self._constant(kind, factor, dtype),
            first[0],
            self._constant(self.integer, _at_least_one(first[2])),
            second[0],
            self._constant(self.integer, _at_least_one(second[2])),
            self._constant(kind, 1.0 if adds else 0.0, dtype),
            result[0],
            self._constant(self.integer, _at_least_one(result[1])),
        ]
        name = "dgemm" if dtype.itemsize == 8 else "sgemm"
        function = self.code.declare(f"taut.{name}", "void", ", ".join(["ptr"] * 13))
        self.code.do(f"call void {function}({', '.join('ptr ' + a for a in arguments)})")

    def _size(self, size: str) -> str:
        """A size in memory: a constant, or a variable of this unit."""
        if size.isdigit():  # also one that stands for a size
            return self._constant(self.integer, int(size))
        place = self.code.variable(self.integer)
        if self.integer != "i64":
            size = self.code.new(f"trunc i64 {size} to {self.integer}")
        self.code.do(f"store {self.integer} {size}, ptr {place}")
        return place

    def _constant(self, kind: str, number: float, dtype: Any = None) -> str:
        """A constant in memory, since Fortran takes everything by reference."""
        text = str(number) if dtype is None else constant(number, dtype, 1).text
        name = f"c.{kind}.{text}"
        self.code.shared.declared.setdefault(name, f"@{name} = private constant {kind} {text}")
        return "@" + name


def shape_of_product(product: Product) -> tuple[Hashable, list[tuple[int, int]]]:
    """All that a product's function depends on, with memory by number; and the memory in that order."""
    places: dict[tuple[int, int], int] = {}
    views = tuple(
        (places.setdefault((v.buffer, v.offset), len(places)), v.shape, v.strides, v.dtype)
        for v in (product.left, product.right, product.output)
    )
    factor = product.factor if isinstance(product, Scaled) else 1.0
    return ("product", views, product.adds, factor), list(places)


def _at_least_one(number: int) -> int:
    return max(1, number)


def _leading(view: View) -> tuple[bool, int]:
    found = leading(view)
    assert found is not None
    return found
