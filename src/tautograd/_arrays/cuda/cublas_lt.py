"""A product plus a bias row in one kernel: cuBLASLt, called directly.

What cuBLASLt needs to know of a product is set up once per shape, with the kernel that it
recommends; a call then passes only addresses. Nothing else happens during capture, so calls
can be captured.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np

from .cublas import ROOM_FOR_WORK, loaded

# Codes of cudaDataType, cublasComputeType and cuBLASLt's attributes.
_KINDS = {"f": 0, "e": 2, "E": 14}
_FLOAT32 = 0
_COMPUTE_32F, _COMPUTE_TF32 = 68, 77
_TURN_A, _TURN_B, _EPILOGUE, _BIAS, _BIAS_KIND = 3, 4, 7, 8, 26
_ADD_BIAS = 4
_MOST_WORK, _ALIGNMENT_OF_A = 1, 5
_MOST_ALIGNED = 256  # bytes: higher alignment makes no difference

_INT, _ADDRESS, _LONG = ctypes.c_int, ctypes.c_size_t, ctypes.c_int64


class _Advice(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t: a kernel and its workspace size."""

    _fields_ = (
        ("algorithm", ctypes.c_uint64 * 8),
        ("work", ctypes.c_size_t),
        ("state", _INT),
        ("waves", ctypes.c_float),
        ("reserved", _INT * 4),
    )


class _Plan:
    """What all products of a shape have in common."""

    __slots__ = ("advice", "algorithm", "layouts", "operation", "work")

    def __init__(self, operation: Any, layouts: list[Any], advice: _Advice) -> None:
        self.operation = operation
        self.layouts = [layout.value for layout in layouts]
        self.advice = advice
        self.algorithm = ctypes.addressof(advice)
        self.work = advice.work


class Lt(threading.local):
    """cuBLASLt for this thread: a plan gets the bias's address before each call."""

    kinds = frozenset(_KINDS)
    tf32 = False  # whether any thread may compute float32 products in TF32

    def __init__(self, library: Any, rooms: Any) -> None:
        self.library = library
        self.rooms = rooms  # a workspace per stream
        self._plans: dict[tuple[Any, ...], _Plan | None] = {}
        handle = ctypes.c_void_p()
        self._check(library.cublasLtCreate(ctypes.byref(handle)))
        self.handle = int(handle.value or 0)
        self._numbers = np.array([1, 0], np.float32)
        self._one = int(self._numbers.ctypes.data)
        self._zero = self._one + 4
        library.cublasLtMatmul.argtypes = (
            *(_ADDRESS,) * 3, *(_ADDRESS,) * 4, *(_ADDRESS,) * 5, _ADDRESS, _ADDRESS, _ADDRESS, _ADDRESS,
        )  # fmt: skip
        library.cublasLtMatmulDescSetAttribute.argtypes = (_ADDRESS, _INT, _ADDRESS, _ADDRESS)
        library.cublasLtMatrixLayoutCreate.argtypes = (_ADDRESS, _INT, _LONG, _LONG, _LONG)
        library.cublasLtMatmulPreferenceSetAttribute.argtypes = (_ADDRESS, _INT, _ADDRESS, _ADDRESS)
        library.cublasLtMatmulDescCreate.argtypes = (_ADDRESS, _INT, _INT)
        library.cublasLtMatmulAlgoGetHeuristic.argtypes = (*(_ADDRESS,) * 7, _INT, *(_ADDRESS,) * 2)

    @classmethod
    def found(cls, rooms: Any) -> Lt | None:
        """cuBLASLt as cuBLAS has loaded it, or None."""
        library = loaded("libcublasLt")
        return None if library is None else cls(library, rooms)

    def affine(
        self, code: str, m: int, n: int, k: int, turn_a: int, turn_b: int, lda: int, ldb: int, a: int, b: int,
        bias: int, out: int, stream: int,
    ) -> bool:  # fmt: skip
        """out = a b + bias, all column-major, the bias a column; False if there is no kernel for it."""
        aligned = _aligned(a | b | out | bias)
        key = (code, m, n, k, turn_a, turn_b, lda, ldb, aligned, self.tf32)
        try:
            plan = self._plans[key]
        except KeyError:
            plan = self._plans[key] = self._planned(*key)
        if plan is None:
            return False
        where = ctypes.c_size_t(bias)
        library = self.library
        library.cublasLtMatmulDescSetAttribute(
            plan.operation.value, _BIAS, ctypes.addressof(where), 8
        )
        first, second, third = plan.layouts
        status = library.cublasLtMatmul(
            self.handle, plan.operation.value, self._one, a, first, b, second, self._zero, out, third, out,
            third, plan.algorithm, self.rooms.room(stream), plan.work, stream,
        )  # fmt: skip
        self._check(status)
        return True

    def _planned(
        self, code: str, m: int, n: int, k: int, turn_a: int, turn_b: int, lda: int, ldb: int, aligned: int,
        tf32: bool,
    ) -> _Plan | None:  # fmt: skip
        """The plan for products of a shape, or None if cuBLASLt has no kernel for it."""
        library, kind = self.library, _KINDS[code]
        compute = _COMPUTE_TF32 if tf32 and code == "f" else _COMPUTE_32F
        operation = ctypes.c_void_p()
        self._check(
            library.cublasLtMatmulDescCreate(ctypes.addressof(operation), compute, _FLOAT32)
        )
        for name, value in (
            (_TURN_A, turn_a),
            (_TURN_B, turn_b),
            (_EPILOGUE, _ADD_BIAS),
            (_BIAS_KIND, kind),
        ):
            number = ctypes.c_int32(value)
            self._check(
                library.cublasLtMatmulDescSetAttribute(
                    operation.value, name, ctypes.addressof(number), 4
                )
            )
        layouts = [
            self._layout(kind, *((k, m) if turn_a else (m, k)), lda),
            self._layout(kind, *((n, k) if turn_b else (k, n)), ldb),
            self._layout(kind, m, n, m),
        ]
        preference = ctypes.c_void_p()
        self._check(library.cublasLtMatmulPreferenceCreate(ctypes.byref(preference)))
        work = ctypes.c_uint64(ROOM_FOR_WORK)
        wishes: list[tuple[int, Any, int]] = [(_MOST_WORK, work, 8)]
        wishes += [(_ALIGNMENT_OF_A + i, ctypes.c_uint32(aligned), 4) for i in range(4)]
        for name, wish, size in wishes:
            self._check(
                library.cublasLtMatmulPreferenceSetAttribute(
                    preference.value, name, ctypes.addressof(wish), size
                )
            )
        advice, count = _Advice(), ctypes.c_int()
        first, second, third = (layout.value for layout in layouts)
        status = library.cublasLtMatmulAlgoGetHeuristic(
            self.handle, operation.value, first, second, third, third, preference.value, 1,
            ctypes.addressof(advice), ctypes.addressof(count),
        )  # fmt: skip
        library.cublasLtMatmulPreferenceDestroy(preference)
        if status or not count.value or advice.state:
            return None
        return _Plan(operation, layouts, advice)

    def _layout(self, kind: int, rows: int, columns: int, leading: int) -> Any:
        found = ctypes.c_void_p()
        status = self.library.cublasLtMatrixLayoutCreate(
            ctypes.addressof(found), kind, rows, columns, leading
        )
        self._check(status)
        return found

    @staticmethod
    def _check(status: int) -> None:
        if status:
            raise RuntimeError(f"CUDA error: cuBLASLt returned status {status}")


def _aligned(addresses: int) -> int:
    """The largest power of two that divides all addresses, which were combined by OR."""
    return min(addresses & -addresses, _MOST_ALIGNED) if addresses else _MOST_ALIGNED
