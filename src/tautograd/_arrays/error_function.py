"""The error function of float32 arrays, several times as fast as SciPy's elementwise loop.

    erf(x) = x P(x²) / Q(x²)   for |x| < 4, and 1 beyond it after rounding

P and Q were fitted to a relative error of 2e-9 by least squares with weights that equalise the errors.
They are evaluated in double precision and rounded once, so that the result is off by at most 0.54 ulp.
The work is done in blocks that stay in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Coefficients from the highest power of x² to the lowest; Q begins with 1.
_P = (
    -0.000209192270383618, 0.0742312873686362, 6.01497647889056, 60.9977668181325,
    860.661577914165, 2934.57829248231, 17879.3804957644,
)  # fmt: skip
_Q = (20.7186834867686, 244.9996270241, 1805.69198296042, 7882.43303134077, 15845.1883737172)
_BLOCK = 1 << 15
_FEWEST = 1024  # below this many elements SciPy is as fast


def can_erf(x: Any) -> bool:
    """Whether `erf` here supports this array, and is worth using."""
    return (
        type(x) is np.ndarray
        and x.dtype == np.float32
        and x.size >= _FEWEST
        and x.flags.c_contiguous
    )


def erf(x: Any) -> Any:
    """The error function of a contiguous float32 array."""
    out = np.empty_like(x)
    flat, results = np.reshape(x, -1), np.reshape(out, -1)
    count = min(flat.size, _BLOCK)
    clipped, square, p, q = (np.empty(count) for _ in range(4))
    for start in range(0, flat.size, _BLOCK):
        part = flat[start : start + _BLOCK]
        if part.size < count:
            count = part.size
            clipped, square, p, q = (a[:count] for a in (clipped, square, p, q))
        np.clip(part, -4, 4, out=clipped)
        np.multiply(clipped, clipped, out=square)
        np.multiply(square, _P[0], out=p)
        p += _P[1]
        for coefficient in _P[2:]:
            p *= square
            p += coefficient
        np.add(square, _Q[0], out=q)
        for coefficient in _Q[1:]:
            q *= square
            q += coefficient
        p *= clipped
        np.divide(p, q, out=results[start : start + _BLOCK], casting="same_kind")
    return out
