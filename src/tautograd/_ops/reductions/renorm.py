"""`renorm`: slices scaled down to a largest norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.result_layout import in_c_order
from ..._autograd.apply import apply
from ..declare.dims import wrap_dim
from ..declare.elementwise_calls import conj, require_tensor
from ..declare.promotion import plain_number
from ..declare.public import public
from ..declare.record import Op
from ..declare.samples import Sample, T
from .vector_norms import norm_slope, norm_slope_along, vector_norm, vector_norm_of, vector_norm_op

_TINY = 1e-7  # what PyTorch adds to a norm before it divides by it


def _other_dims(x: Any, dim: int) -> tuple[int, ...]:
    return tuple([d for d in range(x.ndim) if d != dim])


def _renorm(x: Any, p: float, dim: int, maxnorm: float, factor_dtype: Any) -> Any:
    """In half precision PyTorch rounds the factor (of `factor_dtype`) before it multiplies."""
    size = vector_norm_of(x, p, _other_dims(x, dim), True)
    factor = np.where(size > maxnorm, maxnorm / (size + _TINY), 1)
    if factor_dtype is not None:
        factor = np.astype(np.astype(factor, factor_dtype), x.dtype)
    return x * factor


def _renorm_vjp(g: Any, x: Any, p: float, dim: int, maxnorm: float) -> Any:
    dims = _other_dims(x, dim)
    size = vector_norm_op(x, ord=p, dim=dims, keepdim=True)
    inverse = 1 / (size + _TINY)
    along = np.sum(np.real(conj(x) * g), axis=dims, keepdims=True)
    cut = maxnorm * inverse * (g - inverse * norm_slope(along, x, size, p, dims))
    return np.where(size > maxnorm, cut, g)


def _renorm_jvp(t: Any, x: Any, p: float, dim: int, maxnorm: float) -> Any:
    dims = _other_dims(x, dim)
    size = vector_norm_op(x, ord=p, dim=dims, keepdim=True)
    inverse = 1 / (size + _TINY)
    along = norm_slope_along(t, x, size, p, dims, True)
    return np.where(size > maxnorm, maxnorm * inverse * (t - inverse * x * along), t)


renorm_op = Op(
    "renorm",
    _renorm,
    ("x",),
    layout=in_c_order,
    vjp={"x": _renorm_vjp},
    jvp={"x": _renorm_jvp},
    samples=lambda: [
        Sample(T(3, 4), 2, 0, 1.0),
        Sample(T(3, 4), 1.5, 1, 2.0),
        Sample(T(2, 3, 4), 3, -1, 1.5),
        Sample(T(2, 3), 2, 0, 100.0),
        Sample(T(0, 3), 2, 1, 1.0),
    ],
)


@public(inplace=True)
def renorm(input: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    """The slices along `dim`, each scaled down to p-norm `maxnorm` if its own is larger."""
    require_tensor("renorm", input)
    p, maxnorm = plain_number(p), plain_number(maxnorm)
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise TypeError(f"renorm(): argument 'p' must be Number, not {type(p).__name__}")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input._data.ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input._data.ndim} dimensions"
        )
    axis = wrap_dim(dim, input._data.ndim, "renorm")
    if input._data.dtype.kind in "biu":
        vector_norm(input)  # an error: integers have no norm
    half = input._data.dtype if input.dtype.is_half else None
    parameters = {"p": p, "dim": axis, "maxnorm": maxnorm, "factor_dtype": half}
    return apply(renorm_op, (input,), parameters)
