"""Running sums, products, log-sum-exps and extremes along a dimension."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.dtypes import from_numpy_dtype
from ..._arrays.sums import contiguous
from ..._autograd.lifted import counterpart
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import conj, require_tensor
from ..declare.out_rules import (
    EXPECTED_SCALAR_TYPE,
    accumulates,
    cpp_name,
    same_as_input,
    values_and_indices,
)
from ..declare.public import public
from ..declare.record import LINEAR, Op
from ..declare.return_types import RETURN_TYPES
from ..declare.samples import Sample, T
from ..declare.undefined_dtypes import no_kernel
from .reducing import axis_of, integer_result, places_along, reduce_with
from .scans import exclusive_product, linear_scan


def _along(**options: Any) -> list[Sample]:
    """Samples for an operation that runs along one dimension."""
    return [
        Sample(T(5, **options), 0),
        Sample(T(3, 4, **options), -1),
        Sample(T(2, 3, 4, **options), 1),
        Sample(T(3, 4, layout="transposed", **options), 0),
        Sample(T(**options), 0),
        Sample(T(1, **options), 0),
        Sample(T(2, 0, 3), 1),
    ]


def _run(accumulate: Any, x: Any, dim: int, dtype: Any) -> Any:
    """A running sum or product; float32 runs in float64, since its rounding would add up."""
    if not x.ndim:
        return x + x.dtype.type(0) if dtype is None else np.astype(x, dtype)
    if x.dtype == np.float32 or x.dtype == np.complex64:
        wide = np.float64 if x.dtype.kind == "f" else np.complex128
        return np.astype(contiguous(accumulate(x, axis=dim, dtype=wide)), x.dtype)
    return contiguous(accumulate(x, axis=dim, dtype=dtype))


def _reverse_sum(g: Any, dim: int) -> Any:
    return np.flip(np.cumsum(np.flip(g, dim), axis=dim), dim) if g.ndim else g


cumsum_op = Op(
    "cumsum",
    lambda x, dim, dtype: _run(np.cumsum, x, dim, dtype),
    ("x",),
    vjp={"x": _reverse_sum},
    jvp=LINEAR,
    samples=_along,
)


# --- products ------------------------------------------------------------------------------------


def _cumprod_vjp(g: Any, x: Any, dim: int) -> Any:
    """Σ_(i≥j) g_i Π_(k≤i, k≠j) x_k = (Π_(k<j) x_k) s_j with s_j = g_j + x_(j+1) s_(j+1)."""
    if not x.ndim:
        return g
    x = conj(x)
    along: tuple[slice, ...] = (slice(None),) * dim
    first = (*along, slice(0, 1))
    following = np.concatenate((x[(*along, slice(1, None))], np.zeros_like(x[first])), axis=dim)
    s = np.flip(linear_scan(np.flip(following, dim), np.flip(g, dim), dim), dim)
    return exclusive_product(x, dim) * s


def _cumprod_jvp(t: Any, x: Any, dim: int) -> Any:
    """y_i' = x_i y_(i-1)' + y_(i-1) t_i."""
    return linear_scan(x, exclusive_product(x, dim) * t, dim) if x.ndim else t


cumprod_op = Op(
    "cumprod",
    lambda x, dim, dtype: _run(np.cumprod, x, dim, dtype),
    ("x",),
    vjp={"x": _cumprod_vjp},
    jvp={"x": _cumprod_jvp},
    samples=lambda: [
        *_along(),
        Sample(T(6, kind="ties"), 0),
        Sample(T(4, 3, kind="ties"), 0),
        Sample(T(4, kind="zeros"), 0),
    ],
)


def _declare_running(op: Op, function: Any, what: str) -> None:
    name = op.name

    def call(input: Any, dim: Any, *, dtype: Any = None) -> Any:
        if not isinstance(input, Tensor):
            require_tensor(name, input)
        axis = axis_of(dim, input._data.ndim, name)
        parameters = {"dim": axis, "dtype": integer_result(input, dtype)}
        return reduce_with(op, name, input, parameters, dtype)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The running {what} along `dim`; integers and bools run in int64."
    public(name, out=accumulates)(call)

    def inplace(self: Any, dim: Any, *, dtype: Any = None) -> Any:
        if dtype is not None and dtype is not self.dtype:
            raise RuntimeError(
                f"Bad in-place call: input tensor dtype {cpp_name(self.dtype)} and output tensor "
                f"dtype {cpp_name(dtype)} should match"
            )
        if self._data.dtype.kind == "b" and self._data.ndim and self._data.size:
            raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")
        return call(self, dim, dtype=self.dtype)

    from ..declare.in_place_twins import inplace_twin
    from ..declare.public import attach

    attach(f"{name}_", inplace_twin(name, inplace))
    counterpart(function)(
        lambda x, axis=None, dtype=None: call(
            x, axis, dtype=None if dtype is None else from_numpy_dtype(dtype)
        )
    )


_declare_running(cumsum_op, np.cumsum, "sum")
_declare_running(cumprod_op, np.cumprod, "product")


# --- log-sum-exp ---------------------------------------------------------------------------------


def _log_add(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)) for complex numbers."""
    swap = np.real(a) < np.real(b)
    high, low = np.where(swap, b, a), np.where(swap, a, b)
    found = high + np.log1p(np.exp(low - high))
    top = np.real(high)
    found = np.where(
        (top == math.inf) & (np.real(low) == top), np.log(np.exp(a) + np.exp(b)), found
    )
    found = np.where(top == -math.inf, low, found)
    return np.where(np.isnan(a) | np.isnan(b), complex(math.nan, math.nan), found)


def _logcumsumexp(x: Any, dim: int) -> Any:
    if not x.ndim:
        return x + 0
    if x.dtype.kind == "f":
        # Roundings would add up over a long row: single precision runs in double.
        wide = np.astype(x, np.float64) if x.dtype.itemsize < 8 else x
        return np.astype(contiguous(np.logaddexp.accumulate(wide, axis=dim)), x.dtype, copy=False)
    # One by one, as PyTorch does: which of two numbers is the larger decides the branch of the
    # logarithm, so another order of summation would give other imaginary parts.
    along: tuple[slice, ...] = (slice(None),) * dim
    total: Any = np.full_like(x[(*along, slice(0, 1))], -math.inf)
    totals = []
    for i in range(x.shape[dim]):
        total = _log_add(x[(*along, slice(i, i + 1))], total)
        totals.append(total)
    return contiguous(np.concatenate(totals, axis=dim)) if totals else np.copy(x, order="C")


def _shares(x: Any, out: Any, dim: int) -> tuple[Any, Any, Any]:
    """Shares exp(x_i - out_i), steps exp(out_(i-1) - out_i), the first of which is 0, and what the
    share of an element in the result beside it has on top: NaN where both are -inf.

    Neither overflows, since a running log-sum-exp never falls. A step from an infinity to the same
    is 1, and what is -inf has no share in later results, so infinities spoil no other element.
    """
    along: tuple[slice, ...] = (slice(None),) * dim
    before, after = out[(*along, slice(0, -1))], out[(*along, slice(1, None))]
    step, share, nothing = before - after, x - out, np.zeros_like(out)
    if x.dtype.kind == "f":
        void = out == -math.inf
        step = np.where(before == after, 0, step)
        share, nothing = np.where(void, -math.inf, share), np.where(void, math.nan, nothing)
    first = np.zeros_like(out[(*along, slice(0, 1))])
    return np.exp(share), np.concatenate((first, np.exp(step)), axis=dim), nothing


def _logcumsumexp_vjp(g: Any, x: Any, out: Any, dim: int) -> Any:
    """Σ_(i≥j) g_i exp(x_j - out_i) = share_j s_j with s_j = g_j + step_(j+1) s_(j+1)."""
    if not x.ndim:
        return g
    shares, steps, nothing = (conj(v) for v in _shares(x, out, dim))
    along: tuple[slice, ...] = (slice(None),) * dim
    following = np.concatenate(
        (steps[(*along, slice(1, None))], steps[(*along, slice(0, 1))]), axis=dim
    )
    sums = np.flip(linear_scan(np.flip(following, dim), np.flip(g, dim), dim), dim)
    return shares * sums + nothing * g


def _logcumsumexp_jvp(t: Any, x: Any, out: Any, dim: int) -> Any:
    """out_i' = step_i out_(i-1)' + share_i t_i."""
    if not x.ndim:
        return t
    shares, steps, nothing = _shares(x, out, dim)
    return linear_scan(steps, shares * t, dim) + nothing * t


logcumsumexp_op = Op(
    "logcumsumexp",
    _logcumsumexp,
    ("x",),
    vjp={"x": _logcumsumexp_vjp},
    jvp={"x": _logcumsumexp_jvp},
    refuses=no_kernel("logcumsumexp_out_cpu", "bi"),
    samples=lambda: [
        *_along(),
        Sample(T(4, low=-30.0, high=30.0), 0),
        Sample(T(7, low=-4.0, high=4.0, kind="ties"), 0),
        Sample(T(2, 300, low=-5.0, high=5.0), 1),
    ],
)


@public(out=same_as_input(EXPECTED_SCALAR_TYPE))
def logcumsumexp(input: Any, dim: Any) -> Any:
    """`log(cumsum(exp(input)))` along `dim`, without overflow."""
    if not isinstance(input, Tensor):
        require_tensor("logcumsumexp", input)
    axis = axis_of(dim, input._data.ndim, "logcumsumexp")
    return reduce_with(logcumsumexp_op, "logcumsumexp", input, {"dim": axis})


# --- extremes ------------------------------------------------------------------------------------


def _declare_extreme(name: str, ufunc: Any, what: str) -> None:
    def forward(x: Any, dim: int) -> tuple[Any, Any]:
        if not x.ndim:
            return np.copy(x), np.zeros_like(x, dtype=np.int64)
        values = ufunc.accumulate(x, axis=dim)
        # An element that equals the running extreme, or is NaN, takes over as its place.
        takes_over = (x == values) | np.isnan(x) if x.dtype.kind == "f" else x == values
        shape = tuple([-1 if d == dim else 1 for d in range(x.ndim)])
        places = np.reshape(places_along(x, x.shape[dim]), shape)
        indices = np.maximum.accumulate(np.where(takes_over, places, 0), axis=dim)
        return contiguous(values), contiguous(indices)

    def vjp(g: Any, x_shape: Any, out1: Any, dim: int) -> Any:
        from ..indexing.gathering import scatter_add_op

        if not x_shape:
            return g
        return scatter_add_op(np.zeros_like(g), out1, g, dim=dim)

    op = Op(
        name,
        forward,
        ("x",),
        vjp={"x": vjp},
        jvp={
            "x": lambda t, out1, dim: (
                np.take_along_axis(t, out1, axis=dim) if t.ndim else t,
                None,
            )
        },
        outputs=2,
        differentiable_outputs=(0,),
        refuses=no_kernel(f"{name}_cpu", "c"),
        samples=lambda: _along(kind="distinct"),
    )

    def call(input: Any, dim: Any) -> Any:
        if not isinstance(input, Tensor):
            require_tensor(name, input)
        if not input._data.ndim and isinstance(dim, int) and dim not in (0, -1):
            raise IndexError(f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
        axis = axis_of(dim, input._data.ndim, name)
        return RETURN_TYPES[name](reduce_with(op, name, input, {"dim": axis}))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The running {what} along `dim`, and where it is: the last, where several tie."
    public(name, out=values_and_indices(EXPECTED_SCALAR_TYPE, EXPECTED_SCALAR_TYPE))(call)


_declare_extreme("cummax", np.maximum, "maximum")
_declare_extreme("cummin", np.minimum, "minimum")
