"""Products that sum over chosen dimensions, or over none: tensordot, inner, vecdot, kron, cross."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...._arrays.result_layout import in_c_order
from ...._autograd.apply import apply
from ...._autograd.lifted import counterpart
from ...._autograd.modes import modes
from ...._tensor.tensor import Tensor
from ...declare.dims import wrap_dim
from ...declare.elementwise_calls import check_broadcast, conj
from ...declare.out_argument import warn_of_resize
from ...declare.public import LINALG, public
from ...declare.record import MULTILINEAR, Op
from ...declare.samples import Sample, T
from ...shape.permutations import permute_to
from ...shape.views import reshape_to, unsafe_view_op
from .blas import dot, mm, vdot
from .product_checks import require, spoken

# --- over chosen dimensions ----------------------------------------------------------------------


@public(method=False)
def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Tensor:
    """The sum of products over `dims` dimensions: the last of `a` with the first of `b`, or a pair
    of lists that says which."""
    require("tensordot", a=a, b=b)
    if out is not None:
        return _copied_into(out, tensordot(a, b, dims))
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, (tuple, list)):
        of_a, of_b = dims
        for chosen in (of_a, of_b):
            if not isinstance(chosen, Sequence):
                raise TypeError(
                    "tensordot(): argument 'dims_self' (position 3) must be tuple of ints, not "
                    f"{type(chosen).__name__}"
                )
        return _tensordot(a, b, list(of_a), list(of_b))
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(a._data.ndim, b._data.ndim):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return _tensordot(a, b, list(range(-dims, 0)), list(range(dims)))


def _copied_into(out: Tensor, result: Tensor) -> Tensor:
    """`out` as a copy of the result, with its history: PyTorch computes this one aside."""
    if out.shape != result.shape:
        if modes.grad and out.requires_grad:
            raise RuntimeError(
                "tensordot(): the 'out' tensor was specified and requires gradients, and its shape does "
                "not match the expected result. Either remove the 'out' argument, ensure it does not "
                "require gradients, or make sure its shape matches the expected output."
            )
        warn_of_resize(out, result.shape)
        out.resize_(result.shape)
    return out.copy_(result)


def _tensordot(a: Any, b: Any, of_a: list[int], of_b: list[int]) -> Tensor:
    if len(of_a) != len(of_b):
        raise RuntimeError("both dimension lists should have same length")
    if a._data.dtype != b._data.dtype:
        raise RuntimeError("both inputs should have same dtype")
    first = [wrap_dim(d, a._data.ndim) for d in of_a]
    second = [wrap_dim(d, b._data.ndim) for d in of_b]
    for dims in (first, second):
        for i, d in enumerate(dims):
            if d in dims[:i]:
                raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    for i, (m, n) in enumerate(zip(first, second, strict=True)):
        p, q = a._data.shape[m], b._data.shape[n]
        if q == 1 and p != 1:
            a = a.sum(m, keepdim=True)
        elif p == 1 and q != 1:
            b = b.sum(n, keepdim=True)
        elif p != q:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {p} in dim {of_a[i]} and "
                f"second has size {q} in dim {of_b[i]}"
            )
    rest_a = [d for d in range(a._data.ndim) if d not in first]
    rest_b = [d for d in range(b._data.ndim) if d not in second]
    shape = tuple([a._data.shape[d] for d in rest_a] + [b._data.shape[d] for d in rest_b])
    inner, rows, columns = 1, 1, 1
    for d in first:
        inner *= a._data.shape[d]
    for d in rest_a:
        rows *= a._data.shape[d]
    for d in rest_b:
        columns *= b._data.shape[d]
    x, y = permute_to(a, (*rest_a, *first)), permute_to(b, (*second, *rest_b))
    if x._data.ndim == y._data.ndim == len(first) == 1:
        product = dot(x, y)
    else:
        product = mm(reshape_to(x, (rows, inner)), reshape_to(y, (inner, columns)))
    return reshape_to(product, shape)


@public()
def inner(input: Any, other: Any) -> Tensor:
    """The sum of products over the last dimension of both."""
    require("inner", input=input, other=other)
    a, b = input._data.shape, other._data.shape
    if not a or not b:
        result: Tensor = input * other
        return result
    if a[-1] != b[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(a)} and {list(b)}"
        )
    return _tensordot(input, other, [-1], [-1])


@public(method=False, namespace=LINALG)
def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """The inner product along a dimension, the first operand conjugated."""
    require("linalg_vecdot", x=x, y=y)
    if x._data.dtype.kind not in "fcV":
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {spoken(x)}"
        )
    if x._data.dtype != y._data.dtype:
        raise RuntimeError(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{spoken(x)} and y of type {spoken(y)} instead"
        )
    if x._data.ndim == y._data.ndim == 1:
        wrap_dim(dim, 1)
        return vdot(x, y)
    result: Tensor = ((x.conj() if x._data.dtype.kind == "c" else x) * y).sum(dim)
    return result


# --- over none -----------------------------------------------------------------------------------


@public()
def kron(input: Any, other: Any) -> Tensor:
    """The Kronecker product: `other`, scaled by each element of `input` in turn."""
    require("kron", input=input, other=other)
    rank = max(input._data.ndim, other._data.ndim)
    a = (1,) * (rank - input._data.ndim) + input._data.shape
    b = (1,) * (rank - other._data.ndim) + other._data.shape
    left = tuple([n for extent in a for n in (extent, 1)])
    right = tuple([n for extent in b for n in (1, extent)])
    x: Any = apply(unsafe_view_op, (input,), {"size": left})
    product = x * apply(unsafe_view_op, (other,), {"size": right})
    size = tuple([m * n for m, n in zip(a, b, strict=True)])
    result: Tensor = apply(unsafe_view_op, (product,), {"size": size})
    return result


def _cross(x: Any, y: Any, dim: int) -> Any:
    """The i-th component is x[i+1] y[i+2] - x[i+2] y[i+1], indices modulo three."""
    return np.roll(x, -1, dim) * np.roll(y, -2, dim) - np.roll(x, -2, dim) * np.roll(y, -1, dim)


cross_op: Op = Op(
    "linalg_cross",
    _cross,
    ("x", "y"),
    layout=in_c_order,
    vjp={
        "x": lambda g, y, dim: cross_op(conj(y), g, dim=dim),
        "y": lambda g, x, dim: cross_op(g, conj(x), dim=dim),
    },
    jvp=MULTILINEAR,
    public="linalg.cross",
    samples=lambda: [
        Sample(T(3), T(3)),
        Sample(T(2, 3), T(2, 3)),
        Sample(T(3, 4), T(3, 1), dim=0),
        Sample(T(0, 3), T(1, 3), dim=-1),
        Sample(T(3, 3, layout="transposed"), T(3, 3), dim=1),
    ],
)


@public("cross", method=False, namespace=LINALG)
def linalg_cross(input: Any, other: Any, *, dim: int = -1) -> Tensor:
    """The vector product of three-dimensional vectors along `dim`."""
    require("linalg_cross", input=input, other=other)
    a, b = input._data, other._data
    if a.ndim != b.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = wrap_dim(dim, a.ndim)
    if not a.ndim or a.shape[axis] != 3 or b.shape[axis] != 3:
        found = (a.shape[axis], b.shape[axis]) if a.ndim else (1, 1)
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {found[0]} and "
            f"{found[1]}"
        )
    check_broadcast(a.shape, b.shape)
    if a.dtype != b.dtype:
        raise RuntimeError(f"expected scalar type {spoken(input)} but found {spoken(other)}")
    if a.dtype.kind == "b":  # no vectors are as bad as some, unlike for matrix products
        raise NotImplementedError("\"cross\" not implemented for 'Bool'")
    result: Tensor = apply(cross_op, (input, other), {"dim": axis})
    return result


@public()
def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """The vector product along `dim`, or along the first dimension of size three."""
    require("cross", input=input, other=other)
    if dim is None:
        threes = [d for d, extent in enumerate(input._data.shape) if extent == 3]
        if not threes:
            raise RuntimeError("no dimension of size 3 in input")
        dim = threes[0]
    return linalg_cross(input, other, dim=dim)


@counterpart(np.tensordot)
def _np_tensordot(a: Tensor, b: Tensor, axes: Any = 2) -> Any:
    return tensordot(a, b, axes)
