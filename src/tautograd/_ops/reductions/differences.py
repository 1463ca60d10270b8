"""Differences along a dimension, and integrals by the trapezoid rule."""

from __future__ import annotations

from typing import Any

from ..declare.dims import no_signature, wrap_dim
from ..declare.elementwise_calls import require_tensor
from ..declare.promotion import plain_number
from ..declare.public import FUNCTIONS, public


@public()
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The n-th differences of neighbours along `dim`; bools differ by exclusive or."""
    require_tensor("diff", input)
    if not input._data.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = wrap_dim(dim, input._data.ndim, "diff")
    for extra in (prepend, append):
        if extra is not None:
            _check_extra(input, extra, axis)
    parts = [part for part in (prepend, input, append) if part is not None]
    out = FUNCTIONS["cat"](parts, axis) if len(parts) > 1 else input
    if n == 0:
        return input.clone()  # as it was, whatever would have been put before and behind it
    for _ in range(min(n, out._data.shape[axis])):
        count = out._data.shape[axis]
        later, earlier = out.narrow(axis, 1, count - 1), out.narrow(axis, 0, count - 1)
        out = later.logical_xor(earlier) if out._data.dtype.kind == "b" else later - earlier
    return out


def _check_extra(input: Any, extra: Any, axis: int) -> None:
    have, want = extra._data.shape, input._data.shape
    if len(have) != len(want):
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for d, (m, k) in enumerate(zip(have, want, strict=True)):
        if m != k and d != axis:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input "
                f"except along the differencing dimension; input.size({d}) = {k}, but got "
                f"tensor.size({d}) = {m}"
            )


def _neighbours(y: Any, axis: int) -> tuple[Any, Any]:
    n = max(y._data.shape[axis] - 1, 0)
    return y.narrow(axis, 0, n), y.narrow(axis, y._data.shape[axis] - n, n)


def _widths(x: Any, y: Any, axis: int, name: str) -> Any:
    """The distances between sample points, shaped to multiply y's neighbours."""
    if x._data.ndim == 1:
        if x._data.shape[0] != y._data.shape[axis]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        shape = [1] * y._data.ndim
        shape[axis] = x._data.shape[0]
        x = x.view(shape)
    elif x._data.ndim < y._data.ndim:
        x = x.view([1] * (y._data.ndim - x._data.ndim) + list(x._data.shape))
    left, right = _neighbours(x, axis)  # a dimension of y's, even where x has more
    return right - left


def _check(y: Any, name: str) -> None:
    require_tensor(name, y, "y")
    if not y._data.ndim:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")


def _no_bool(name: str, *tensors: Any) -> None:
    for tensor, letter in zip(tensors, "yx", strict=False):
        if tensor is not None and tensor._data.dtype.kind == "b":
            raise RuntimeError(
                f"{name}: received a bool input for `{letter}`, but bool is not supported"
            )


def trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Any:
    """The integral of `y` along `dim`, over points `x` or with spacing `dx`."""
    _check(y, "trapezoid")
    if x is not None and dx is not None:
        raise no_signature("trapezoid", y, x, dx)
    axis = wrap_dim(dim, y._data.ndim, "trapezoid")
    _no_bool("trapezoid", y, x)
    if y._data.shape[axis] == 0:
        rest = y._data.shape[:axis] + y._data.shape[axis + 1 :]
        none = y.new_zeros(rest)  # which has no history
        return none.to_sparse() if y.is_sparse else none
    if x is not None:
        left, right = _neighbours(y, axis)
        return ((left + right) * _widths(x, y, axis, "trapezoid")).sum(axis) / 2.0
    ends = y.select(axis, 0) + y.select(axis, -1)
    return (y.sum(axis) - ends * 0.5) * (1.0 if dx is None else dx)


public("trapezoid", method=False)(trapezoid)
public("trapz", method=False)(trapezoid)


@public(method=False)
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Any:
    """The running integral of `y` along `dim`."""
    require_tensor("cumulative_trapezoid", y, "y")
    if not y._data.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if x is not None and dx is not None:
        raise no_signature("cumulative_trapezoid", y, x, dx)
    axis = wrap_dim(dim, y._data.ndim, "cumulative_trapezoid")
    _no_bool("cumulative_trapezoid", y, x)
    left, right = _neighbours(y, axis)
    if x is not None:
        widths = _widths(x, y, axis, "cumulative_trapezoid")
        return ((left + right) * widths).cumsum(axis) / 2.0
    return ((1.0 if dx is None else plain_number(dx)) / 2.0 * (left + right)).cumsum(axis)
