"""Matrix products by calls of BLAS, one for each matrix of a stack; and where BLAS is found.

NumPy's own BLAS is taken if it can be found, since it is loaded already and gives the bits that eager
mode gives; else SciPy's.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import os
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np

from ..ir import Product, View
from .code import Code, Shared
from .normal import leading
from .types import constant, element_type


class Blas(NamedTuple):
    """Addresses of BLAS's functions by name, and the bits of its integers."""

    addresses: dict[str, int]
    integer: int


@functools.cache
def blas() -> Blas | None:
    """Fortran's interface to a BLAS in this process."""
    folder = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
    for path in glob.glob(os.path.join(folder, "libscipy_openblas*")):
        library = ctypes.CDLL(path)
        for form, bits in (("scipy_{}_64_", 64), ("scipy_{}_", 32)):
            functions = [getattr(library, form.format(n), None) for n in ("sgemm", "dgemm")]
            if all(f is not None for f in functions):
                found = [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in functions]  # type: ignore[arg-type]
                return Blas(dict(zip(("sgemm", "dgemm"), found, strict=True)), bits)
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
    """A function that multiplies: its text, and the memory it is to be given."""

    def __init__(self, product: Product, declared: dict[str, str]) -> None:
        found = blas()
        assert found is not None
        self.integer = f"i{found.integer}"
        self.arguments: dict[tuple[int, int], str] = {}
        self.code = Code(Shared(declared))
        self._emit(product)

    def text(self, name: str) -> str:
        lines = [f"define internal void @{name}(ptr %args) nounwind {{", "entry:"]
        for place, argument in enumerate(self.arguments.values()):
            lines.append(f"  {argument}p = getelementptr ptr, ptr %args, i64 {place}")
            lines.append(f"  {argument} = load ptr, ptr {argument}p")
        return "\n".join([*lines, *self.code.lines, "  ret void", "}"])

    def _emit(self, product: Product) -> None:
        left, right, out = product.left, product.right, product.output
        (m, n), k = out.shape[-2:], left.shape[-1]
        code = self.code
        with ExitStack() as stack:
            counters = [stack.enter_context(code.loop("0", str(size))) for size in out.shape[:-2]]
            a, b, c = (self._pointer(view, counters) for view in (left, right, out))
            (a_rows, a_lead), (b_rows, b_lead), (c_rows, c_lead) = (
                _leading(view) for view in (left, right, out)
            )
            if c_rows:  # Fortran sees rows as columns: the transposed result is right' times left'
                self._gemm(
                    out.dtype,
                    (b, b_rows, b_lead),
                    (a, a_rows, a_lead),
                    (n, m, k),
                    (c, c_lead),
                    product.adds,
                )
            else:
                self._gemm(
                    out.dtype,
                    (a, not a_rows, a_lead),
                    (b, not b_rows, b_lead),
                    (m, n, k),
                    (c, c_lead),
                    product.adds,
                )

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
        sizes: tuple[int, int, int],
        result: tuple[str, int],
        adds: bool,
    ) -> None:
        kind = element_type(dtype)
        m, n, k = sizes
        arguments = [
            self._constant("i8", ord("N") if first[1] else ord("T")),
            self._constant("i8", ord("N") if second[1] else ord("T")),
            *(self._constant(self.integer, size) for size in (m, n, k)),
            self._constant(kind, 1.0, dtype),
            first[0],
            self._constant(self.integer, max(first[2], 1)),
            second[0],
            self._constant(self.integer, max(second[2], 1)),
            self._constant(kind, 1.0 if adds else 0.0, dtype),
            result[0],
            self._constant(self.integer, max(result[1], 1)),
        ]
        name = "dgemm" if dtype.itemsize == 8 else "sgemm"
        function = self.code.declare(f"taut.{name}", "void", ", ".join(["ptr"] * 13))
        self.code.do(f"call void {function}({', '.join('ptr ' + a for a in arguments)})")

    def _constant(self, kind: str, number: float, dtype: Any = None) -> str:
        """A constant in memory, since Fortran takes everything by reference."""
        text = str(int(number)) if dtype is None else constant(number, dtype, 1).text
        name = f"c.{kind}.{text}"
        self.code.shared.declared.setdefault(name, f"@{name} = private constant {kind} {text}")
        return "@" + name


def _leading(view: View) -> tuple[bool, int]:
    found = leading(view)
    assert found is not None
    return found
