"""Products of matrices and vectors, each one call of BLAS.

Rules hand BLAS transposed views, never copies. A gradient takes the layout of its operand: where
`mat2` lay in memory by columns (`weight.t()`), so does its gradient, and transposing it back gives
a contiguous gradient of `weight` at no cost (`columns` in the parameters says so).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._autograd.lifted import COUNTERPARTS
from ...._autograd.modes import modes
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import conj
from ...declare.public import public
from ...declare.record import MULTILINEAR, Op
from ...declare.samples import Sample, T
from ...shape.views import reshape_to, unsafe_view_op
from ..matrices import adjoint, turn
from .product_checks import (
    SPELLED,
    check_bmm,
    check_mm,
    check_mv,
    check_out_dtype,
    check_vectors,
    require,
    spoken,
)
from .shared_products import matmul, product

_ndarray = np.ndarray
FLOATS = frozenset("fdFD")
# Whether the second matrix lies in memory by columns: its gradient will, too.
ROWS = {"columns": False}
COLUMNS = {"columns": True}


def mat2_gradient(g: Any, mat1: Any, columns: bool) -> Any:
    if columns:
        return turn(product(turn(g), conj(mat1)))
    return product(adjoint(mat1), g)


mm_op = Op(
    "mm",
    lambda mat1, mat2, columns: product(mat1, mat2),
    ("mat1", "mat2"),
    vjp={"mat1": lambda g, mat2: product(g, adjoint(mat2)), "mat2": mat2_gradient},
    jvp=MULTILINEAR,
    samples=lambda: [
        Sample(T(2, 3), T(3, 4)),
        Sample(T(2, 3, layout="transposed"), T(3, 4, layout="transposed")),
        Sample(T(1, 1), T(1, 1)),
        Sample(T(0, 3), T(3, 2)),
        Sample(T(2, 0), T(0, 3)),
        Sample(T(2, 3), mat2=T(3, 1)),
    ],
)
bmm_op = Op(
    "bmm",
    lambda x, y: matmul(x, y),
    ("x", "y"),
    vjp={
        "x": lambda g, y: matmul(g, adjoint(y)),
        "y": lambda g, x: matmul(adjoint(x), g),
    },
    jvp=MULTILINEAR,
    samples=lambda: [
        Sample(T(2, 3, 4), T(2, 4, 2)),
        Sample(T(2, 3, 4, layout="transposed"), mat2=T(2, 4, 2, layout="transposed")),
        Sample(T(0, 3, 2), T(0, 2, 3)),
        Sample(T(2, 3, 0), T(2, 0, 2)),
    ],
)
mv_op = Op(
    "mv",
    lambda mat, vec: np.matmul(mat, vec),
    ("mat", "vec"),
    vjp={
        "mat": lambda g, vec: np.expand_dims(g, -1) * conj(vec),
        "vec": lambda g, mat: np.matmul(adjoint(mat), g),
    },
    jvp=MULTILINEAR,
    samples=lambda: [
        Sample(T(2, 3), T(3)),
        Sample(T(3, 2, layout="transposed"), vec=T(2)),
        Sample(T(0, 2), T(2)),
        Sample(T(2, 0), T(0)),
    ],
)
dot_op = Op(
    "dot",
    lambda x, y: np.dot(x, y),
    ("x", "y"),
    vjp={"x": lambda g, y: g * conj(y), "y": lambda g, x: g * conj(x)},
    jvp=MULTILINEAR,
    samples=lambda: [Sample(T(3), T(3)), Sample(T(1), tensor=T(1)), Sample(T(0), T(0))],
)
vdot_op = Op(
    "vdot",
    lambda x, y: np.vdot(x, y),
    ("x", "y"),
    vjp={"x": lambda g, y: conj(g) * y, "y": lambda g, x: g * x},
    jvp=MULTILINEAR,
    samples=lambda: [Sample(T(3), T(3)), Sample(T(1), other=T(1)), Sample(T(0), T(0))],
)


def by_column(array: Any) -> bool:
    """Whether a matrix lies in memory column by column."""
    strides = getattr(array, "strides", None)
    return strides is not None and strides[0] < strides[1]


def plain_product(a: Tensor, b: Tensor) -> Tensor | None:
    """The product of two vectors or matrices, or of two batches of them, where nothing has to be
    checked, expanded or cast; else None.

    A product of batches has the nodes that a user meets (`UnsafeViewBackward0` over `BmmBackward0`);
    the views that PyTorch puts below them, which change nothing, are left out.
    """
    x, y = a._data, b._data
    if type(x) is not _ndarray or type(y) is not _ndarray:
        return None
    if x.dtype is not y.dtype or x.dtype.char not in FLOATS:
        return None
    shape, other = x.shape, y.shape
    found: Tensor
    if len(shape) == 2:
        if len(other) == 2 and shape[1] == other[0]:
            steps = y.strides
            found = mm_op.apply((a, b), COLUMNS if steps[0] < steps[1] else ROWS)
            return found
        if len(other) == 1 and shape[1] == other[0]:
            found = mv_op.apply((a, b))
            return found
        return None
    if len(shape) < 2:
        if not shape or shape != other:
            return None
        found = dot_op.apply((a, b))
        return found
    if shape[:-2] != other[:-2] or shape[-1] != other[-2] or modes.way[0] is None:
        return None
    found = bmm_op.apply((a, b))
    node = found._node
    if node is not None:
        size = {"size": found._data.shape}
        found._node = unsafe_view_op.record((found,), (node,), size, found._data)
    return found


@public()
def mm(input: Any, mat2: Any, out_dtype: Any = None) -> Tensor:
    """The product of two matrices."""
    check_out_dtype("mm", out_dtype)
    require("mm", input=input, mat2=mat2)
    a, b = input._data, mat2._data
    if a.ndim != 2 or b.ndim != 2:
        raise RuntimeError(f"{'self' if a.ndim != 2 else 'mat2'} must be a matrix")
    if a.dtype != b.dtype:
        raise RuntimeError(
            "expected m1 and m2 to have the same dtype, but got: "
            f"{SPELLED[spoken(input)]} != {SPELLED[spoken(mat2)]}"
        )
    check_mm(input, mat2)
    result: Tensor = mm_op.apply((input, mat2), COLUMNS if by_column(b) else ROWS)
    return result


@public()
def bmm(input: Any, mat2: Any, out_dtype: Any = None) -> Tensor:
    """The products of two batches of matrices, pair by pair."""
    check_out_dtype("bmm", out_dtype)
    require("bmm", input=input, mat2=mat2)
    check_bmm("bmm", input, mat2)
    if input._data.dtype != mat2._data.dtype:
        raise RuntimeError(f"expected scalar type {spoken(input)} but found {spoken(mat2)}")
    result: Tensor = bmm_op.apply((input, mat2))
    return result


@public()
def mv(input: Any, vec: Any) -> Tensor:
    """The product of a matrix and a vector."""
    require("mv", input=input, vec=vec)
    check_mv(None, input, vec, vec)
    result: Tensor = mv_op.apply((input, vec))
    return result


@public()
def dot(input: Any, tensor: Any) -> Tensor:
    """The sum of the products of two vectors' elements (neither is conjugated)."""
    require("dot", input=input, tensor=tensor)
    check_vectors(input, tensor)
    result: Tensor = dot_op.apply((input, tensor))
    return result


@public()
def vdot(input: Any, other: Any) -> Tensor:
    """The inner product of two vectors, the first one conjugated."""
    require("vdot", input=input, other=other)
    check_vectors(input, other)
    result: Tensor = vdot_op.apply((input, other))
    return result


@public(aliases=("ger",))
def outer(input: Any, vec2: Any) -> Tensor:
    """The matrix of all products of two vectors' elements."""
    require("outer", input=input, vec2=vec2)
    for label, vector in (("self", input), ("vec2", vec2)):
        if vector._data.ndim != 1:
            raise RuntimeError(
                f"outer: Expected 1-D argument {label}, but got {vector._data.ndim}-D"
            )
    column: Any = reshape_to(input, (input._data.size, 1))
    result: Tensor = column * vec2
    return result


COUNTERPARTS[np.vdot] = vdot
COUNTERPARTS[np.outer] = outer
