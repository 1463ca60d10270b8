"""`finfo` and `iinfo`: a dtype's limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import as_dtype, dtype, get_default_dtype

# Bits of the significand after the point, and of the exponent; decimal digits that are preserved.
_FORMATS = {
    "float16": (10, 5, 3),
    "bfloat16": (7, 8, 2),
    "float32": (23, 8, 6),
    "float64": (52, 11, 15),
}
# Largest, smallest normal, and the distance from one to the next, for formats without infinities.
_EIGHT_BITS = {
    "float8_e4m3fn": (448.0, 2.0**-6, 0.125),
    "float8_e4m3fnuz": (240.0, 2.0**-7, 0.125),
    "float8_e5m2": (57344.0, 2.0**-14, 0.25),
    "float8_e5m2fnuz": (57344.0, 2.0**-15, 0.25),
}


class finfo:  # noqa: N801 - PyTorch's name
    """The limits of a floating-point dtype (of its parts, if it is complex)."""

    __module__ = "torch"

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: Any = None) -> None:
        kind = get_default_dtype() if type is None else _dtype_argument("finfo", type)
        real = kind.to_real()
        if real.name in _EIGHT_BITS:
            self.bits, self.dtype, self.resolution = 8, real.name, 1.0
            self.max, self.tiny, self.eps = _EIGHT_BITS[real.name]
            self.min, self.smallest_normal = -self.max, self.tiny
            return
        if real.name not in _FORMATS:
            raise TypeError(
                f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                f"'{kind!r}'"
            )
        fraction, exponent, digits = _FORMATS[real.name]
        self.bits = 8 * real.itemsize
        self.eps = 2.0**-fraction
        highest = 2 ** (exponent - 1) - 1
        self.max = (2.0 - self.eps) * 2.0**highest
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - highest)
        self.resolution = float(f"1e-{digits}")
        self.dtype = real.name

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        shown = ", ".join(f"{name}={getattr(self, name):g}" for name in names)
        return f"finfo({shown}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(("finfo", self.dtype))


class iinfo:  # noqa: N801 - PyTorch's name
    """The limits of an integer dtype."""

    __module__ = "torch"

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: Any) -> None:
        kind = _dtype_argument("iinfo", type)
        if kind.name == "bool":
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if kind.is_floating_point or kind.is_complex:
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle "
                f"'{kind!r}'"
            )
        limits = np.iinfo(kind.numpy)
        self.bits, self.dtype = limits.bits, kind.name
        self.min, self.max = int(limits.min), int(limits.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(("iinfo", self.dtype))


def _dtype_argument(name: str, given: Any) -> dtype:
    try:
        return as_dtype(given)
    except TypeError:
        raise TypeError(
            f"{name}(): argument 'type' (position 1) must be torch.dtype, not "
            f"{given.__class__.__name__}"
        ) from None
