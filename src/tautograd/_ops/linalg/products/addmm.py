"""Products added to something: `beta * input + alpha * product`, for each kind of product."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...._arrays.dtypes import promote_types
from ...._arrays.result_layout import as_iterated
from ...._autograd.apply import apply
from ...._autograd.views import check_writable
from ...._tensor.tensor import Tensor
from ...declare.dims import wrap_dim
from ...declare.elementwise_calls import conj
from ...declare.in_place_twins import write_into
from ...declare.promotion import number_as, plain_number
from ...declare.public import attach, public
from ...declare.record import Op
from ...declare.samples import Sample, T
from ..matrices import adjoint, turn
from .blas import FLOATS, by_column, mat2_gradient
from .product_checks import (
    SPELLED,
    check_bmm,
    check_bool_sum,
    check_expandable,
    check_mm,
    check_mv,
    check_out_dtype,
    checked_factors,
    require,
    spoken,
)
from .shared_products import affine, product

_ndarray = np.ndarray
ADDED_ROWS = {"beta": 1, "alpha": 1, "columns": False}
ADDED_COLUMNS = {"beta": 1, "alpha": 1, "columns": True}


def times(x: Any, factor: Any) -> Any:
    """`x * factor`, nothing done for one."""
    return x if factor == 1 else x * factor


def cousin(factor: Any) -> Any:
    """The conjugate of a Python number."""
    return factor.conjugate() if isinstance(factor, complex) else factor


def _back(x: Any, factor: Any) -> Any:
    """What flows back through a product with a Python number."""
    return x if factor == 1 else x * cousin(factor)


def _sum_with_product(
    input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any, columns: bool
) -> Any:
    if beta == alpha == 1 and type(mat1) is type(mat2) is type(input) is _ndarray:
        found = affine(mat1, mat2, input)
        if found is not None:
            return found
        found = product(mat1, mat2)
        found += input  # no second array of this size
        return found
    return _plus(input, product(mat1, mat2), beta, alpha)


def _plus(input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """`beta * input + alpha * product`; a beta of zero ignores the input, NaN and all."""
    if alpha != 1:
        product = product * _as_number(alpha, product.dtype)
    if beta == 0:
        return product
    term = times(input, _as_number(beta, product.dtype))
    if isinstance(product, _ndarray) and isinstance(term, _ndarray):
        product += term
        return product
    return product + term


def _as_number(factor: Any, dtype: Any) -> Any:
    """An integer product takes an integer factor: PyTorch cuts the fraction off."""
    return number_as(int(factor), dtype) if dtype.kind in "iu" else factor


def _sum_of_products(x: Any, y: Any) -> Any:
    return np.tensordot(x, y, axes=((0, 2), (0, 1)))


addmm_op = Op(
    "addmm",
    _sum_with_product,
    ("input", "mat1", "mat2"),
    vjp={
        "input": lambda g, beta: _back(g, beta),
        "mat1": lambda g, mat2, alpha: _back(product(g, adjoint(mat2)), alpha),
        "mat2": lambda g, mat1, alpha, columns: _back(mat2_gradient(g, mat1, columns), alpha),
    },
    jvp={
        "input": lambda t, beta: times(t, beta),
        "mat1": lambda t, mat2, alpha: times(np.matmul(t, mat2), alpha),
        "mat2": lambda t, mat1, alpha: times(np.matmul(mat1, t), alpha),
    },
    samples=lambda: [
        Sample(T(2, 4), T(2, 3), T(3, 4)),
        Sample(T(4), T(2, 3), T(3, 4), beta=2, alpha=3),
        Sample(T(2, 1), T(2, 3, layout="transposed"), T(3, 4, layout="transposed"), alpha=-1),
        Sample(T(), T(2, 3), T(3, 2), beta=0),
        Sample(T(2, 2), T(2, 0), T(0, 2)),
    ],
)
addmv_op = Op(
    "addmv",
    lambda input, mat, vec, beta=1, alpha=1: _plus(input, np.matmul(mat, vec), beta, alpha),
    ("input", "mat", "vec"),
    vjp={
        "input": lambda g, beta: _back(g, beta),
        "mat": lambda g, vec, alpha: times(np.expand_dims(g, -1) * conj(vec), cousin(alpha)),
        "vec": lambda g, mat, alpha: times(np.matmul(adjoint(mat), g), cousin(alpha)),
    },
    jvp={
        "input": lambda t, beta: times(t, beta),
        "mat": lambda t, vec, alpha: times(np.matmul(t, vec), alpha),
        "vec": lambda t, mat, alpha: times(np.matmul(mat, t), alpha),
    },
    samples=lambda: [
        Sample(T(2), T(2, 3), T(3)),
        Sample(T(1), T(2, 3), T(3), beta=2, alpha=3),
        Sample(T(), T(2, 3), T(3), beta=0),
        Sample(T(2), T(2, 0), T(0)),
    ],
)
addbmm_op = Op(
    "addbmm",
    lambda input, batch1, batch2, beta=1, alpha=1: _plus(
        input, _sum_of_products(batch1, batch2), beta, alpha
    ),
    ("input", "batch1", "batch2"),
    vjp={
        "input": lambda g, beta: _back(g, beta),
        "batch1": lambda g, batch2, alpha: times(np.matmul(g, adjoint(batch2)), cousin(alpha)),
        "batch2": lambda g, batch1, alpha: times(np.matmul(adjoint(batch1), g), cousin(alpha)),
    },
    jvp={
        "input": lambda t, beta: times(t, beta),
        "batch1": lambda t, batch2, alpha: times(_sum_of_products(t, batch2), alpha),
        "batch2": lambda t, batch1, alpha: times(_sum_of_products(batch1, t), alpha),
    },
    samples=lambda: [
        Sample(T(2, 4), T(3, 2, 3), T(3, 3, 4)),
        Sample(T(4), T(3, 2, 3), T(3, 3, 4), beta=2, alpha=3),
        Sample(T(2, 2), T(0, 2, 3), T(0, 3, 2)),
        Sample(T(), T(1, 2, 3), T(1, 3, 2), beta=0),
    ],
)
baddbmm_op = Op(
    "baddbmm",
    lambda input, batch1, batch2, beta=1, alpha=1: _plus(
        input, np.matmul(batch1, batch2), beta, alpha
    ),
    ("input", "batch1", "batch2"),
    vjp={
        "input": lambda g, beta: _back(g, beta),
        "batch1": lambda g, batch2, alpha: times(np.matmul(g, adjoint(batch2)), cousin(alpha)),
        "batch2": lambda g, batch1, alpha: times(np.matmul(adjoint(batch1), g), cousin(alpha)),
    },
    jvp={
        "input": lambda t, beta: times(t, beta),
        "batch1": lambda t, batch2, alpha: times(np.matmul(t, batch2), alpha),
        "batch2": lambda t, batch1, alpha: times(np.matmul(batch1, t), alpha),
    },
    samples=lambda: [
        Sample(T(3, 2, 4), T(3, 2, 3), T(3, 3, 4)),
        Sample(T(4), T(3, 2, 3), T(3, 3, 4), beta=2, alpha=3),
        Sample(T(2, 1), T(2, 2, 3, layout="transposed"), T(2, 3, 2)),
        Sample(T(2, 2), T(0, 2, 3), T(0, 3, 2)),
    ],
)


def _addr(input: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any) -> Any:
    if input.dtype.kind == "b":
        product = np.expand_dims(vec1, -1) & vec2 & bool(alpha)
        return product if not beta else product | input
    product = np.expand_dims(times(vec1, _as_number(alpha, input.dtype)), -1) * vec2
    return product if beta == 0 else product + times(input, _as_number(beta, input.dtype))


addr_op = Op(
    "addr",
    _addr,
    ("input", "vec1", "vec2"),
    layout=lambda out, of: as_iterated(out, (of[0], np.expand_dims(of[1], -1), of[2])),
    vjp={
        "input": lambda g, beta: _back(g, beta),
        "vec1": lambda g, vec2, alpha: times(np.matmul(g, conj(vec2)), cousin(alpha)),
        "vec2": lambda g, vec1, alpha: times(np.matmul(turn(g), conj(vec1)), cousin(alpha)),
    },
    jvp={
        "input": lambda t, beta: times(t, beta),
        "vec1": lambda t, vec2, alpha: times(np.expand_dims(t, -1) * vec2, alpha),
        "vec2": lambda t, vec1, alpha: times(np.expand_dims(vec1, -1) * t, alpha),
    },
    samples=lambda: [
        Sample(T(2, 3), T(2), T(3)),
        Sample(T(3), T(2), T(3), beta=2, alpha=3),
        Sample(T(), T(2), T(3), beta=0),
        Sample(T(0, 3), T(0), T(3)),
    ],
)


@public(inplace=True)
def addmm(
    input: Any, mat1: Any, mat2: Any, out_dtype: Any = None, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`."""
    check_out_dtype("addmm", out_dtype)
    require("addmm", input=input, mat1=mat1, mat2=mat2)
    a, b = mat1._data, mat2._data
    if beta == alpha == 1 and _fits(input._data, a, b):
        plain: Tensor = addmm_op.apply(
            (input, mat1, mat2), ADDED_COLUMNS if by_column(b) else ADDED_ROWS
        )
        return plain
    for label, array in (("mat1", a), ("mat2", b)):
        if array.ndim != 2:
            raise RuntimeError(f"{label} must be a matrix, got {array.ndim}-D tensor")
    for label, tensor in (("self", input), ("mat1", mat1)):
        if tensor._data.dtype != b.dtype:
            raise RuntimeError(
                f"{label} and mat2 must have the same dtype, but got {spoken(tensor)} and "
                f"{spoken(mat2)}"
            )
    check_mm(mat1, mat2)
    check_bool_sum(beta, mat1, mat2)
    beta, alpha = checked_factors("addmm", input, beta, alpha)
    check_expandable(input, (a.shape[0], b.shape[1]))
    return _addmm(input, mat1, mat2, beta, alpha)


def _fits(z: Any, x: Any, y: Any) -> bool:
    """Whether these are a row or matrix of floats and two matrices that need no check before `z + x @ y`."""
    if not type(x) is type(y) is type(z) is _ndarray or x.ndim != 2 or y.ndim != 2:
        return False
    dtype = x.dtype
    if y.dtype is not dtype or z.dtype is not dtype or dtype.char not in FLOATS:
        return False
    if x.shape[1] != y.shape[0]:
        return False
    return bool(z.shape == (y.shape[1],) or z.shape == (x.shape[0], y.shape[1]))


def _addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    beta, alpha = plain_number(beta), plain_number(alpha)
    parameters = {"beta": beta, "alpha": alpha, "columns": by_column(mat2._data)}
    result: Tensor = apply(addmm_op, (input, mat1, mat2), parameters)
    return result


@public(inplace=True)
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`."""
    require("addmv", input=input, mat=mat, vec=vec)
    check_mv(input, mat, vec, input)
    beta, alpha = checked_factors("addmv", input, beta, alpha)
    result: Tensor = apply(addmv_op, (input, mat, vec), {"beta": beta, "alpha": alpha})
    return result


@public()
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * sum of the products batch1[i] @ batch2[i]`."""
    require("addbmm", input=input, batch1=batch1, batch2=batch2)
    a, b = batch1._data.shape, batch2._data.shape
    check_expandable(input, (a[wrap_dim(1, len(a))], b[wrap_dim(2, len(b))]))
    if len(a) != 3 or len(b) != 3:
        raise RuntimeError(f"batch{1 if len(a) != 3 else 2} must be a 3D tensor")
    if a[0] != b[0]:
        raise RuntimeError(
            f"batch1 and batch2 must have same number of batches, got {a[0]} and {b[0]}"
        )
    if a[2] != b[1]:
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({a[1]}x{a[2]} and {b[1]}x{b[2]})")
    for label, tensor in (("self", input), ("mat1", batch1)):
        if tensor._data.dtype != batch2._data.dtype:
            raise RuntimeError(
                f"{label} and mat2 must have the same dtype, but got {spoken(tensor)} and "
                f"{spoken(batch2)}"
            )
    check_bool_sum(beta, batch1, batch2)
    beta, alpha = checked_factors("addbmm", input, beta, alpha)
    result: Tensor = apply(addbmm_op, (input, batch1, batch2), {"beta": beta, "alpha": alpha})
    return result


def addbmm_(self: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """In-place version of `addbmm`; of all of these PyTorch lets it alone grow its tensor."""
    check_writable(self)
    result = addbmm(self, batch1, batch2, beta=beta, alpha=alpha)
    if self._data.shape != result._data.shape:
        self._data = np.empty_like(result._data)
    return write_into(self, result, "addbmm")


attach("addbmm_", addbmm_)


@public(inplace=True)
def baddbmm(
    input: Any, batch1: Any, batch2: Any, out_dtype: Any = None, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2)`, batch by batch."""
    check_out_dtype("baddbmm", out_dtype)
    require("baddbmm", input=input, batch1=batch1, batch2=batch2)
    a, b = batch1._data.shape, batch2._data.shape
    # The sizes of the result are read first, whatever else is wrong.
    rows = [a[wrap_dim(d, len(a), "size")] if a else wrap_dim(d, 0, "size") for d in (0, 1)]
    columns = b[wrap_dim(2, len(b), "size")] if b else wrap_dim(2, 0, "size")
    check_expandable(input, (*rows, columns))
    if not input._data.dtype == batch1._data.dtype == batch2._data.dtype:
        if input._data.dtype == batch1._data.dtype:
            raise RuntimeError(f"expected scalar type {spoken(batch1)} but found {spoken(batch2)}")
        kinds = [SPELLED[spoken(x)] for x in (input, batch1, batch2)]
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {kinds[0]}, batch1: {kinds[1]}, batch2: "
            f"{kinds[2]}"
        )
    check_bmm("baddbmm", batch1, batch2)
    beta, alpha = checked_factors("baddbmm", input, beta, alpha)
    result: Tensor = apply(baddbmm_op, (input, batch1, batch2), {"beta": beta, "alpha": alpha})
    return result


@public(inplace=True)
def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""
    require("addr", input=input, vec1=vec1, vec2=vec2)
    for label, vector in (("vec1", vec1), ("vec2", vec2)):
        if vector._data.ndim != 1:
            raise RuntimeError(
                f"addr: Expected 1-D argument {label}, but got {vector._data.ndim}-D"
            )
    check_expandable(input, (vec1._data.size, vec2._data.size))
    whole = all(x._data.dtype.kind in "iu" for x in (input, vec1, vec2))
    truths = all(x._data.dtype.kind == "b" for x in (input, vec1, vec2))
    for label, factor in (("beta", beta), ("alpha", alpha)):
        if whole and isinstance(factor, float):
            raise RuntimeError(
                f"For integral input tensors, argument {label} must not be a floating point number."
            )
        if isinstance(factor, bool) and not truths:
            raise RuntimeError(f"Boolean {label} only supported for Boolean results.")
    beta, alpha = checked_factors("addr", input, beta, alpha)
    kinds = [x.dtype for x in (input, vec1, vec2)]  # also of what has no dimensions
    compute = functools.reduce(promote_types, kinds).numpy
    result: Tensor = apply(addr_op, (input, vec1, vec2), {"beta": beta, "alpha": alpha}, compute)
    return result
