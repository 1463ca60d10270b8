"""Tolerances for comparing numbers: by default, the precision of their dtypes."""

from __future__ import annotations

from typing import Any

from .._arrays.dtypes import (
    bfloat16,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int64,
)
from ._disagreement import Disagreement

Tolerances = tuple[float, float]  # relative, absolute

_BY_DTYPE: dict[dtype, Tolerances] = {
    float16: (1e-3, 1e-5),
    bfloat16: (1.6e-2, 1e-5),
    float32: (1.3e-6, 1e-5),
    float64: (1e-7, 1e-7),
    complex64: (1.3e-6, 1e-5),
    complex128: (1e-7, 1e-7),
}
_WIDE: dict[dtype, Tolerances] = {
    float16: (1e-3, 1e-3),
    float32: (1e-4, 1e-5),
    float64: (1e-5, 1e-8),
}
_OF_NUMBERS: dict[type, dtype] = {int: int64, float: float64, complex: complex128}


def default_tolerances(*kinds: dtype, wide: bool = False) -> Tolerances:
    """The loosest of the tolerances of these dtypes; zero for integers."""
    table = _WIDE if wide else _BY_DTYPE
    relative, absolute = zip(*(table.get(kind, (0.0, 0.0)) for kind in kinds), strict=True)
    return max(relative), max(absolute)


def tolerances(
    rtol: float | None, atol: float | None, path: tuple[Any, ...], *kinds: Any
) -> Tolerances:
    """The requested tolerances, or else the defaults for these dtypes or number types."""
    if (rtol is None) != (atol is None):
        raise Disagreement(
            ValueError,
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}.",
            path,
        )
    if rtol is not None and atol is not None:
        return rtol, atol
    return default_tolerances(*(_OF_NUMBERS.get(kind, kind) for kind in kinds))
