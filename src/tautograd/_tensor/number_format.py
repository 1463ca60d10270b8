"""Number texts: one notation is chosen for a whole array, then every value is written in it.

The choice between whole numbers (``3.``), fixed point (``3.1416``) and scientific notation
(``3.1416e+00``) depends only on the finite non-zero values, and so does the column width:
zeros, infinities and NaNs follow the notation the others chose and never widen a column.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Beyond these, fixed point would show either mostly zeros or more digits than it can align.
LARGEST_RATIO = 1000.0
LARGEST_FIXED = 1.0e8
SMALLEST_FIXED = 1.0e-4


class NumberTexts(NamedTuple):
    """One text per value, in order, and the column width that decides how many fit on a line."""

    texts: list[str]
    width: int


def number_texts(array: np.ndarray, precision: int, sci_mode: bool | None) -> NumberTexts:
    """Write every element of ``array`` (in row-major order), right-aligned to a common width."""
    kind = array.dtype.kind
    if kind in "biu":
        return _aligned([str(value) for value in array.ravel().tolist()])
    if kind == "c":
        flat = array.ravel()
        return _complex_texts(flat.real.tolist(), flat.imag.tolist(), precision, sci_mode)
    if kind != "f":
        # The extension floats (bfloat16) have no numpy kind of their own; float64 holds each
        # of their values exactly. Casting a signalling NaN would raise an irrelevant warning.
        with np.errstate(invalid="ignore"):
            array = array.astype(np.float64)
    return _float_texts(array.ravel().tolist(), precision, sci_mode)


def _aligned(texts: list[str]) -> NumberTexts:
    width = max(map(len, texts))
    return NumberTexts([text.rjust(width) for text in texts], width)


def _float_texts(values: Sequence[float], precision: int, sci_mode: bool | None) -> NumberTexts:
    deciding = [value for value in values if value and isfinite(value)]
    write = _choose_notation(deciding, precision, sci_mode)
    # Only the deciding values set the width; any other text may overhang it.
    width = max([len(write(value)) for value in deciding], default=1)
    return NumberTexts([write(value).rjust(width) for value in values], width)


def _complex_texts(
    reals: Sequence[float], imags: Sequence[float], precision: int, sci_mode: bool | None
) -> NumberTexts:
    real_part = _float_texts(reals, precision, sci_mode)
    imag_part = _float_texts(imags, precision, sci_mode)
    texts = []
    for real, padded_imag in zip(real_part.texts, imag_part.texts, strict=True):
        # The imaginary part hugs its sign, so only the real parts line up.
        imag = padded_imag.lstrip()
        sign = "" if imag[0] == "-" else "+"
        texts.append(f"{real}{sign}{imag}j")
    # The "j" counts towards the width, but the sign between the two parts does not.
    return NumberTexts(texts, real_part.width + imag_part.width + 1)


def _choose_notation(
    deciding: Sequence[float], precision: int, sci_mode: bool | None
) -> Callable[[float], str]:
    """The function that writes one value, given the finite non-zero values of the array."""
    if not deciding:
        return _whole
    if sci_mode is None:
        sci_mode = _needs_scientific(deciding)
    if sci_mode:
        return f"{{:.{precision}e}}".format
    if all(value.is_integer() for value in deciding):
        return _whole
    return f"{{:.{precision}f}}".format


def _needs_scientific(deciding: Sequence[float]) -> bool:
    magnitudes = [abs(value) for value in deciding]
    smallest, largest = min(magnitudes), max(magnitudes)
    return (
        largest / smallest > LARGEST_RATIO or largest > LARGEST_FIXED or smallest < SMALLEST_FIXED
    )


def _whole(value: float) -> str:
    """``3.``: the trailing point says that the tensor is of floats; ``inf`` and ``nan`` do too."""
    return f"{value:.0f}." if isfinite(value) else str(value)
