"""Linear and bilinear maps: `input @ weight.T + bias` and `input1 @ weight @ input2 + bias`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor
from ..declare.dims import wrap_dim
from ..declare.elementwise_calls import conj, require_tensor
from ..declare.public import NN_FUNCTIONAL, public
from ..declare.record import MULTILINEAR, Op
from ..declare.samples import Sample, T
from ..linalg.products.addmm import ADDED_COLUMNS, ADDED_ROWS, addmm, addmm_op
from ..linalg.products.blas import COLUMNS, ROWS, mm_op
from ..linalg.products.matmul import matmul
from ..linalg.products.product_checks import check_not_bool, require
from ..shape.permutations import t, t_op
from ..shape.views import reshape_to, view_op, view_to

# `x @ w.T` and `b + x @ w.T`; None where something has to be checked, expanded or cast.
times_transposed = mm_op.function("transposed", turned=t_op, rows=ROWS, columns=COLUMNS)
plus_transposed = addmm_op.function(
    "transposed", turned=t_op, rows=ADDED_ROWS, columns=ADDED_COLUMNS
)


def _affine(input: Any, weight: Any, bias: Any) -> Any:
    plain = plus_transposed(bias, input, weight)
    return addmm(bias, input, t(weight)) if plain is None else plain


def quick_linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor | None:
    """`linear` of tensors that need no check and no cast; None where they may."""
    if len(input._data.shape) > 2:
        return tall_linear(input, weight, bias)
    plain: Tensor | None
    if bias is None:
        plain = times_transposed(input, weight)
    else:
        plain = plus_transposed(bias, input, weight)
    return plain


def tall_linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor | None:
    """`linear` of rows in several dimensions that lie one after the other: what it does, in fewer steps."""
    x = input._data
    kind = type(x)
    if bias is None or (kind is not np.ndarray and not hasattr(kind, "raw")):
        return None
    if not x.size or not x.flags.c_contiguous:
        return None
    shape = x.shape
    size: tuple[int, ...] = x.size // shape[-1], shape[-1]
    tall = view_op.apply((input,), {"size": size}, x.reshape(size))
    flat = plus_transposed(bias, tall, weight)
    if flat is None:
        return None
    size = (*shape[:-1], flat._data.shape[1])
    out: Tensor = view_op.apply((flat,), {"size": size}, flat._data.reshape(size))
    return out


@public(namespace=NN_FUNCTIONAL, method=False)
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """`input @ weight.T + bias`, over the last dimension of the input."""
    require("linear", input=input, weight=weight)
    x, w = input._data, weight._data
    if not x.ndim or not w.ndim:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {x.ndim}D and {w.ndim}D"
        )
    if bias is None:
        plain = times_transposed(input, weight)
        return matmul(input, t(weight)) if plain is None else plain
    if not isinstance(bias, Tensor):
        require_tensor("linear", bias, "bias", 3)
    if x.ndim == 2:
        return _affine(input, weight, bias)
    flags = getattr(x, "flags", None)
    if flags is None or flags.c_contiguous:
        rows = x.size // x.shape[-1] if x.shape[-1] else 1
        if not x.shape[-1]:
            for extent in x.shape[:-1]:
                rows *= extent
        tall = reshape_to(input, (rows, x.shape[-1]))
        flat = _affine(tall, weight, bias)
        return reshape_to(flat, (*x.shape[:-1], flat._data.shape[1]))
    product: Any = matmul(input, t(weight))
    result: Tensor = product + bias
    return result


def _trilinear(x: Any, w: Any, y: Any) -> Any:
    """out[b, o] = sum over i and j of x[b, i] w[o, i, j] y[b, j]."""
    half = np.tensordot(x, w, axes=((1,), (1,)))
    return np.matmul(half, np.expand_dims(y, -1))[..., 0]


trilinear_op = Op(
    "trilinear",
    _trilinear,
    ("x", "w", "y"),
    vjp={
        "x": lambda g, w, y: np.einsum("bo,oij,bj->bi", g, conj(w), conj(y), optimize=True),
        "w": lambda g, x, y: np.einsum("bo,bi,bj->oij", g, conj(x), conj(y), optimize=True),
        "y": lambda g, x, w: np.einsum("bo,bi,oij->bj", g, conj(x), conj(w), optimize=True),
    },
    jvp=MULTILINEAR,
    public="bilinear",
    samples=lambda: [
        Sample(T(2, 3), T(2, 4), T(5, 3, 4), T(5)),
        Sample(T(3), T(4), T(2, 3, 4)),
        Sample(T(2, 2, 3), T(2, 2, 4), T(1, 3, 4)),
    ],
)


@public(method=False, out=False)
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Tensor:
    """`input1 @ weight[o] @ input2` for each output `o`, over the last dimensions, plus a bias."""
    require("bilinear", input1=input1, input2=input2, weight=weight)
    a, b, w = input1._data.shape, input2._data.shape, weight._data.shape
    for shape, dim in ((a, -1), (b, -1), (w, 1), (w, 2)):
        if not shape:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        wrap_dim(dim, len(shape))
    if len(a) != len(b):
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {len(a)} and {len(b)}")
    for d in range(len(a) - 1):
        if a[d] != b[d]:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {d}: got {a[d]} and {b[d]}"
            )
    for label, found, wanted in (("input1", a[-1], w[1]), ("input2", b[-1], w[2])):
        if found != wanted:
            raise RuntimeError(
                f"bilinear(): {label} size does not match weight size: got {found} but expected "
                f"{wanted}"
            )
    if bias is not None and bias._data.shape[0] != w[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias._data.shape[0]} but "
            f"expected {w[0]}"
        )
    check_not_bool("bmm", input1, input2, weight)
    rows = 1
    for extent in a[:-1]:
        rows *= extent
    x, y = reshape_to(input1, (rows, a[-1])), reshape_to(input2, (rows, b[-1]))
    out: Any = view_to(apply(trilinear_op, (x, weight, y)), (*a[:-1], w[0]))
    result: Tensor = out if bias is None else out + bias
    return result


NN_FUNCTIONAL["bilinear"] = bilinear
