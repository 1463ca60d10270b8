"""Variance, standard deviation, covariance and correlation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.checks import holds_throughout, require_all, require_nonzero
from ..._arrays.dtypes import LEGACY_NAMES, get_default_dtype
from ..._arrays.sums import exact_sum
from ..._tensor.tensor import Tensor
from ..._user_code.sites import warning_level
from ..declare.elementwise_calls import conj, require_tensor
from ..declare.promotion import plain_number
from ..declare.public import FUNCTIONS, public
from ..declare.record import Op
from ..declare.samples import Sample, T
from .reducing import axes_of, count, reduce_with, restore
from .sums_and_means import over_all, over_dims, spread_mean


def _deviation(x: Any, dim: Any) -> tuple[Any, Any]:
    """The mean, with reduced dimensions kept, and x minus it."""
    n = count(x.shape, dim)
    mean = exact_sum(x, dim, True) / n if n else np.sum(x, axis=dim, keepdims=True) * math.nan
    return mean, x - mean


def _var(x: Any, dim: Any, correction: float, keepdim: bool) -> tuple[Any, Any]:
    """Variance and mean: the mean first, so that what is squared is small."""
    mean, d = _deviation(x, dim)
    squares = np.real(d * np.conjugate(d)) if x.dtype.kind == "c" else d * d
    freedom = max(count(x.shape, dim) - correction, 0)
    total = exact_sum(squares, dim, keepdim)
    var = total / freedom if freedom else total / np.zeros_like(total)
    return var, mean if keepdim else np.reshape(mean, var.shape)


def _var_slope(x: Any, dim: Any, correction: float) -> Any:
    """d var / d conj(x) = 2 (x - mean) / (n - correction)."""
    n = count(x.shape, dim)
    d = x - np.mean(x, axis=dim, keepdims=True)
    if dim is None and n <= correction:
        return np.where(d == 0, math.nan, math.inf)
    return d * (2 / (n - correction)) if n != correction else d * math.inf


def _var_vjp(g: Any, x: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    return restore(g, x.shape, dim, keepdim) * _var_slope(x, dim, correction)


def _var_jvp(t: Any, x: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    along = conj(_var_slope(x, dim, correction)) * t
    return np.sum(np.real(along) if x.dtype.kind == "c" else along, axis=dim, keepdims=keepdim)


def _by_std(g: Any, std: Any) -> Any:
    """From a gradient of the deviation to one of the variance; 0 where the deviation is 0."""
    return np.where(std == 0, 0, g / (2 * std))


def _samples() -> list[Sample]:
    return [
        *over_all(),
        *(Sample(*s.args[:1], dim=s.args[1], **_keep(s)) for s in over_dims()),
        Sample(T(3, 4), (0, 1), correction=0),
        Sample(T(3, 4), 1, correction=2, keepdim=True),
        Sample(T(3, 4), 1, False),
        Sample(T(5), unbiased=False),
        Sample(T(0, 3), 0),
    ]


def _keep(sample: Sample) -> dict[str, Any]:
    return {"keepdim": True} if len(sample.args) > 2 else sample.kwargs


def _var_or_std(x: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    return _var(x, dim, correction, keepdim)[0]


var_op = Op(
    "var",
    _var_or_std,
    ("x",),
    vjp={"x": _var_vjp},
    jvp={"x": _var_jvp},
    samples=_samples,
)
std_op = Op(
    "std",
    lambda x, dim, correction, keepdim: np.sqrt(_var(x, dim, correction, keepdim)[0]),
    ("x",),
    vjp={
        "x": lambda g, x, out, dim, correction, keepdim: _var_vjp(
            _by_std(g, out), x, dim, correction, keepdim
        )
    },
    jvp={
        "x": lambda t, x, out, dim, correction, keepdim: _by_std(
            _var_jvp(t, x, dim, correction, keepdim), out
        )
    },
    samples=_samples,
)
var_mean_op = Op(
    "var_mean",
    _var,
    ("x",),
    vjp={
        "x": lambda g, x, dim, correction, keepdim: (
            _var_vjp(g[0], x, dim, correction, keepdim) + spread_mean(g[1], x.shape, dim, keepdim)
        )
    },
    jvp={
        "x": lambda t, x, dim, correction, keepdim: (
            _var_jvp(t, x, dim, correction, keepdim),
            np.mean(t, axis=dim, keepdims=keepdim),
        )
    },
    outputs=2,
    samples=_samples,
)


def _std_mean(x: Any, dim: Any, correction: float, keepdim: bool) -> tuple[Any, Any]:
    var, mean = _var(x, dim, correction, keepdim)
    return np.sqrt(var), mean


std_mean_op = Op(
    "std_mean",
    _std_mean,
    ("x",),
    vjp={
        "x": lambda g, x, out0, dim, correction, keepdim: (
            _var_vjp(_by_std(g[0], out0), x, dim, correction, keepdim)
            + spread_mean(g[1], x.shape, dim, keepdim)
        )
    },
    jvp={
        "x": lambda t, x, out0, dim, correction, keepdim: (
            _by_std(_var_jvp(t, x, dim, correction, keepdim), out0),
            np.mean(t, axis=dim, keepdims=keepdim),
        )
    },
    outputs=2,
    samples=_samples,
)

_UNSET: Any = object()


def _declare(op: Op, what: str) -> None:
    name = op.name

    def call(
        input: Any,
        dim: Any = None,
        unbiased: Any = _UNSET,
        keepdim: bool = False,
        *,
        correction: Any = _UNSET,
    ) -> Any:
        if not isinstance(input, Tensor):
            require_tensor(name, input)
        if isinstance(dim, bool):  # var(unbiased)
            dim, unbiased = None, dim
        if unbiased is not _UNSET:
            if correction is not _UNSET or not isinstance(unbiased, bool):
                raise TypeError(f"{name}() received an invalid combination of arguments")
            correction = int(unbiased)
        elif correction is _UNSET or correction is None:
            correction = 1
        else:
            correction = plain_number(correction)
        if not (input.dtype.is_floating_point or input.dtype.is_complex):
            raise RuntimeError(
                f"{name if '_' in name else 'std and var'} only support "
                "floating point and complex dtypes"
            )
        parameters = {
            "dim": axes_of(dim, input._data.ndim, name),
            "correction": correction,
            "keepdim": keepdim,
        }
        if count(input._data.shape, parameters["dim"]) <= correction:
            _warn_freedom(name)
        return reduce_with(op, name, input, parameters)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{what} over `dim`; squares are divided by n - `correction`, which is 1."
    public(name, method="_" not in name)(call)


def _warn_freedom(name: str) -> None:
    import warnings

    warnings.warn(
        f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
        "reduction factor (input numel divided by output numel).",
        UserWarning,
        stacklevel=warning_level(),
    )


_declare(var_op, "The variance")
_declare(std_op, "The standard deviation")
_declare(var_mean_op, "The variance and the mean")
_declare(std_mean_op, "The standard deviation and the mean")


# --- covariance ----------------------------------------------------------------------------------


@public()
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariance matrix of variables in rows, observations in columns."""
    require_tensor("cov", input)
    if input._data.ndim > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{input._data.ndim} dimensions"
        )
    if input._data.dtype.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input.view(1, -1) if input._data.ndim < 2 else input
    n = x._data.shape[1]
    if n == 1 and x._data.dtype.kind in "iu":  # where PyTorch computes in floats from the first
        x = x.to(get_default_dtype())
    weights = None
    if fweights is not None:
        _check_weights("fweights", fweights, n, "iu", "integral")
        weights = fweights
    if aweights is not None:
        _check_weights("aweights", aweights, n, "fV", "floating point")
        weights = aweights if weights is None else weights * aweights
    total = n if weights is None else weights.sum()
    if weights is not None and n:
        zero = "cov(): weights sum to zero, can't be normalized"
        require_nonzero(total._data, lambda _: RuntimeError(zero), waits=True)
    mean = (x if weights is None else x * weights).sum(1) / total
    if correction != 0 and weights is not None and aweights is not None:
        freedom = total - correction * (weights * aweights).sum() / total
    else:
        freedom = total - correction
    if freedom <= 0 if isinstance(freedom, int) else not _is_positive(freedom):
        import warnings

        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number "
            "of observations.",
            UserWarning,
            stacklevel=warning_level(),
        )
        freedom = 0
    x = x - mean.unsqueeze(1)
    weighted = (x if weights is None else x * weights).t().conj()
    return FUNCTIONS["mm"](x, weighted.to(x.dtype)).true_divide(freedom).squeeze()


def _is_positive(number: Any) -> bool:
    return holds_throughout(number._data, lambda x: np.logical_not(x <= 0), waits=True)


def _check_weights(name: str, weights: Any, n: int, kinds: str, spoken: str) -> None:
    kind, shape = weights._data.dtype, weights._data.shape
    if len(shape) > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
            f"{len(shape)} dimensions"
        )
    if kind.kind not in kinds:
        raise RuntimeError(
            f"cov(): expected {name} to have {spoken} dtype but got {name} with "
            f"{LEGACY_NAMES[weights.dtype]} dtype"
        )
    if weights._data.size != n:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input "
            f"but got {weights._data.size} != {n}"
        )
    require_all(
        weights._data,
        lambda x: np.logical_not(x < 0),
        lambda _: RuntimeError(f"cov(): {name} cannot be negative"),
        waits=True,
    )


@public()
def corrcoef(input: Any) -> Any:
    """The correlation matrix of variables in rows, observations in columns."""
    require_tensor("corrcoef", input)
    if input._data.ndim > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{input._data.ndim} dimensions"
        )
    c = cov(input)
    if not c._data.ndim:
        return c / c
    d = c.diag()
    deviation = (d.real if d.is_complex() else d).sqrt()
    c = c / deviation.view(-1, 1) / deviation.view(1, -1)
    if c.is_complex():
        return FUNCTIONS["complex"](c.real.clip(-1, 1), c.imag.clip(-1, 1))
    return c.clip(-1, 1)
