"""Sums, means, log-sum-exps, truth and counts over dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.dtypes import LEGACY_NAMES, as_dtype, from_numpy_dtype, get_default_dtype
from ..._arrays.sums import add_up, contiguous, exact_sum
from ..._autograd.apply import apply
from ..._autograd.lifted import counterpart
from ..._tensor.tensor import Tensor, make
from ..declare.elementwise_calls import conj, require_tensor
from ..declare.out_rules import accumulates, floating_result, given_dtype, nansum_result
from ..declare.public import FUNCTIONS, SPECIAL, public
from ..declare.record import LINEAR, Op
from ..declare.samples import Sample, T
from ..declare.undefined_dtypes import refusal
from .reducing import INT64, axes_of, count, integer_result, reduce_with, restore, spread


def over_dims(**options: Any) -> list[Sample]:
    """Samples for a reduction that takes several dimensions."""
    return [
        Sample(T(3, 4, **options), 1),
        Sample(T(2, 3, 4, **options), (0, -1)),
        Sample(T(2, 3, 4, **options), -2, True),
        Sample(T(3, 4, layout="transposed", **options), 0),
        Sample(T(**options), 0),
        Sample(T(1, **options), 0, keepdim=True),
    ]


def over_all(**options: Any) -> list[Sample]:
    """Samples for a reduction of everything."""
    return [
        Sample(T(3, 4, **options)),
        Sample(T(**options)),
        Sample(T(1, **options)),
        Sample(T(2, 3, 2, layout="transposed", **options)),
        Sample(T(4, layout="strided", **options)),
    ]


_ALL = [Sample(T(0, 2)), Sample(T(3, dtype="float32"), dtype="float64")]
_SOME = [Sample(T(2, 0, 3), 1), Sample(T(2, 3, dtype="float32"), 1, dtype="float64")]


def _spread(g: Any, x_shape: Any, dim: Any, keepdim: bool) -> Any:
    return spread(g, x_shape, dim, keepdim)


# --- sums ----------------------------------------------------------------------------------------


def _sum(x: Any, dtype: Any) -> Any:
    if type(x) is np.ndarray and not x.flags.c_contiguous:
        return exact_sum(x, None, False, dtype)
    return add_up(x, axis=None, dtype=dtype)


sum_op = Op(
    "sum",
    _sum,
    ("x",),
    vjp={"x": lambda g, x_shape: spread(g, x_shape, None, False)},
    jvp=LINEAR,
    samples=lambda: [*over_all(), *_ALL],
)
sum_dim_op = Op(
    "sum_dim",
    exact_sum,
    ("x",),
    vjp={"x": _spread},
    jvp=LINEAR,
    node="SumBackward1",
    public="sum",
    samples=lambda: [*over_dims(), *_SOME],
)
nansum_op = Op(
    "nansum",
    lambda x, dim, keepdim, dtype: exact_sum(_without_nan(x), dim, keepdim, dtype),
    ("x",),
    vjp={
        "x": lambda g, x, dim, keepdim: (
            restore(g, x.shape, dim, keepdim) * np.logical_not(np.isnan(x))
        )
    },
    jvp={
        "x": lambda t, x, dim, keepdim: np.sum(
            np.where(np.isnan(x), 0, t), axis=dim, keepdims=keepdim
        )
    },
    refuses=refusal("nansum on CPU does not support complex inputs", "c"),
    samples=lambda: [*over_all(), *over_dims(), Sample(T(2, 0, 3), 1)],
)


def _without_nan(x: Any) -> Any:
    return np.where(np.isnan(x), 0, x) if x.dtype.kind == "f" else x


@public(out=accumulates)
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum over `dim`, or of everything; integers and bools add up in int64."""
    if not isinstance(input, Tensor):
        require_tensor("sum", input)
    data = input._data
    compute = None
    if dtype is None:
        wide = INT64 if data.dtype.kind in "biu" else None
    else:
        compute, wide = as_dtype(dtype).numpy, integer_result(input, dtype)
    if dim is None and not keepdim:
        return apply(sum_op, (input,), {"dtype": wide}, compute)
    if isinstance(dim, (tuple, list)) and not dim and hasattr(data, "sparse_dim"):
        return _over_nothing(input, keepdim, dtype)
    parameters = {"dim": axes_of(dim, data.ndim, "sum"), "keepdim": keepdim, "dtype": wide}
    return apply(sum_dim_op, (input,), parameters, compute)


def _over_nothing(input: Tensor, keepdim: bool, dtype: Any) -> Any:
    """Of a dense tensor that is the sum of everything, of a sparse one that tensor."""
    from ..sparse.products import sum as sparse_sum

    if keepdim:
        raise RuntimeError("sum(): of a sparse tensor, keepdim needs dimensions to keep")
    wide = dtype is None and input._data.dtype.kind in "biu"
    return sparse_sum(input, (), from_numpy_dtype(INT64) if wide else dtype)


@public(out=nansum_result)
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum with NaN counted as zero."""
    if not isinstance(input, Tensor):
        require_tensor("nansum", input)
    if dtype is None and input._data.dtype.kind in "biu":
        return sum(input, dim, keepdim)
    parameters = {
        "dim": axes_of(dim, input._data.ndim, "nansum"),
        "keepdim": keepdim,
        "dtype": integer_result(input, dtype),
    }
    if dtype is not None and input.dtype.is_floating_point and parameters["dtype"] is not None:
        # NaN goes before the cast: no integer is NaN.
        input = make(_without_nan(input._data))
    return reduce_with(nansum_op, "nansum", input, parameters, dtype)


@counterpart(np.sum)
def _np_sum(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return sum(x, axis, keepdims, dtype=None if dtype is None else from_numpy_dtype(dtype))


# --- means ---------------------------------------------------------------------------------------


def _mean(x: Any, dim: Any, keepdim: bool) -> Any:
    total = _sum(x, None) if dim is None and not keepdim else exact_sum(x, dim, keepdim)
    n = count(x.shape, dim)
    return total / n if n else total / np.zeros_like(total)


def spread_mean(g: Any, x_shape: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of a mean; over nothing, there is nothing to divide."""
    return spread(g / (count(x_shape, dim) or 1), x_shape, dim, keepdim)


mean_op = Op(
    "mean",
    lambda x: _mean(x, None, False),
    ("x",),
    vjp={"x": lambda g, x_shape: spread_mean(g, x_shape, None, False)},
    jvp=LINEAR,
    samples=lambda: [*over_all(), *_ALL],
)
mean_dim_op = Op(
    "mean_dim",
    _mean,
    ("x",),
    vjp={"x": spread_mean},
    jvp=LINEAR,
    node="MeanBackward1",
    public="mean",
    samples=lambda: [*over_dims(), *_SOME],
)


@public(out=given_dtype)
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean over `dim`, or of everything; integers need a floating-point `dtype`."""
    if not isinstance(input, Tensor):
        require_tensor("mean", input)
    compute = None if dtype is None else as_dtype(dtype).numpy
    if (compute or input._data.dtype).kind in "biu":
        wanted = input.dtype if dtype is None else as_dtype(dtype)
        whose = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {whose} dtype must be either a floating point "
            f"or complex dtype. Got: {LEGACY_NAMES[wanted]}"
        )
    if dim is None and not keepdim:
        return apply(mean_op, (input,), {}, compute)
    parameters = {"dim": axes_of(dim, input._data.ndim, "mean"), "keepdim": keepdim}
    return apply(mean_dim_op, (input,), parameters, compute)


@public()
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean of what is not NaN."""
    if not isinstance(input, Tensor):
        require_tensor("nanmean", input)
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{LEGACY_NAMES[input.dtype]}"
        )
    numbers = FUNCTIONS["isnan"](input.detach()).logical_not()
    return nansum(input, dim, keepdim, dtype=dtype) / sum(numbers, dim, keepdim)


@counterpart(np.mean)
def _np_mean(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return mean(x, axis, keepdims, dtype=None if dtype is None else from_numpy_dtype(dtype))


# --- logsumexp -----------------------------------------------------------------------------------


def _logsumexp(x: Any, dim: Any, keepdim: bool) -> Any:
    if not x.ndim:
        if x.dtype.kind == "c":  # the logarithm's imaginary part is an angle
            return np.log(np.exp(x - np.real(x))) + np.real(x)
        return x + 0
    if count(x.shape, dim) == 0:
        return contiguous(np.log(np.sum(np.exp(x), axis=dim, keepdims=keepdim)))
    top = np.maximum.reduce(np.real(x) if x.dtype.kind == "c" else x, axis=dim, keepdims=True)
    top = np.where(np.isinf(top), 0, top)
    total = np.log(exact_sum(np.exp(x - top), dim, True)) + top
    return total if keepdim else np.squeeze(total, axis=dim)


logsumexp_op = Op(
    "logsumexp",
    _logsumexp,
    ("x",),
    vjp={
        "x": lambda g, x, out, dim, keepdim: (
            restore(g, x.shape, dim, keepdim)
            * conj(np.exp(x - restore(out, x.shape, dim, keepdim)))
        )
    },
    jvp={
        "x": lambda t, x, out, dim, keepdim: np.sum(
            t * np.exp(x - restore(out, x.shape, dim, keepdim)), axis=dim, keepdims=keepdim
        )
    },
    samples=lambda: [*over_dims(), Sample(T(2, 0, 3), 1), Sample(T(3, low=500.0, high=900.0), 0)],
)


@public(out=floating_result)
def logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Any:
    """`log(sum(exp(input)))` over `dim`, without overflow."""
    if not isinstance(input, Tensor):
        require_tensor("logsumexp", input)
    if dim is None:
        raise TypeError("logsumexp(): argument 'dim' must be tuple of ints, not NoneType")
    parameters = {"dim": axes_of(dim, input._data.ndim, "logsumexp"), "keepdim": keepdim}
    dtype = get_default_dtype() if input._data.dtype.kind in "biu" else None
    return reduce_with(logsumexp_op, "logsumexp", input, parameters, dtype)


SPECIAL["logsumexp"] = logsumexp
