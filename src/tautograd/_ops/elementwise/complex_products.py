"""Products of complex numbers by the rules of C: infinity survives a NaN beside it (Annex G)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .complex import join


def product_of_c(z: Any, w: Any) -> Any:
    """`z * w`, infinite where both parts are NaN although a factor or a term was infinite."""
    near = z * w
    if isinstance(near, (np.ndarray, np.generic)) and not np.any(np.isnan(near)):
        return near  # nothing to mend
    a, b, c, d = np.real(z), np.imag(z), np.real(w), np.imag(w)
    z_endless, w_endless = np.isinf(a) | np.isinf(b), np.isinf(c) | np.isinf(d)
    overflown = np.isinf(a * c) | np.isinf(b * d) | np.isinf(a * d) | np.isinf(b * c)
    a, b = _boxed(a, z_endless), _boxed(b, z_endless)
    c, d = _boxed(c, w_endless), _boxed(d, w_endless)
    a, b = (_zero_for_nan(v, w_endless | overflown) for v in (a, b))
    c, d = (_zero_for_nan(v, z_endless | overflown) for v in (c, d))
    far = join(np.inf * (a * c - b * d), np.inf * (a * d + b * c))
    lost = np.isnan(np.real(near)) & np.isnan(np.imag(near))
    return np.where(lost & (z_endless | w_endless | overflown), far, near)


def _boxed(part: Any, endless: Any) -> Any:
    """An infinite number's part as 1 if it is the infinite one and 0 if not, with its sign."""
    return np.where(endless, np.copysign(np.astype(np.isinf(part), part.dtype), part), part)


def _zero_for_nan(part: Any, condition: Any) -> Any:
    return np.where(condition & np.isnan(part), np.copysign(0, part), part)
