"""Linear and bilinear maps: `input @ weight.T + bias` and `input1 @ weight @ input2 + bias`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._autograd.apply import apply, edge_of
from ..._autograd.modes import modes, shared
from ..._tensor.tensor import Tensor, make
from ..declare.elementwise_calls import conj, require_tensor
from ..declare.public import NN_FUNCTIONAL, public
from ..declare.record import MULTILINEAR, NO_PARAMETERS, Op
from ..declare.samples import Sample, T
from ..linalg.addmm import ADDED_COLUMNS, ADDED_ROWS, addmm, addmm_op
from ..linalg.matmul import matmul
from ..linalg.product_checks import check_not_bool, require
from ..linalg.products import COLUMNS, FLOATS, ROWS, mm_op
from ..shape.permutations import t, t_op
from ..shape.views import reshape_to, view_op, view_to

_ndarray = np.ndarray
_FLOAT32 = np.dtype(np.float32)


def plain_linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor | None:
    """`input @ weight.T + bias` for matrices of one float dtype: `mm` or `addmm` of the transposed
    weight; None where something has to be checked, expanded or cast."""
    x, w = input._data, weight._data
    kind, dtype = type(x), x.dtype
    if kind is not _ndarray and not hasattr(kind, "raw"):
        return None
    if type(w) is not kind or w.dtype is not dtype:
        return None
    if dtype is not _FLOAT32 and dtype.char not in FLOATS:
        return None
    shape, weight_shape = x.shape, w.shape
    if len(shape) != 2 or len(weight_shape) != 2 or shape[1] != weight_shape[1]:
        return None
    if bias is not None:
        z = bias._data
        if type(z) is not kind or z.dtype is not dtype:
            return None
        if z.shape != weight_shape[:1] and z.shape != (shape[0], weight_shape[0]):
            return None
    recording = True if shared.ordinary else modes.way[0]
    if recording is None:
        return None
    # A view that nobody sees needs no more than its node and the weight's versions.
    turned = make(w.T)
    turned._version_box = weight._version_box
    if recording:
        edge = edge_of(weight)
        if edge is not None:
            turned._node = t_op.record((weight,), (edge,), NO_PARAMETERS, turned._data)
    steps = w.strides
    by_columns = steps[1] < steps[0]  # of the transposed weight
    out: Tensor
    if bias is None:
        out = mm_op.apply((input, turned), COLUMNS if by_columns else ROWS)
    else:
        out = addmm_op.apply((bias, input, turned), ADDED_COLUMNS if by_columns else ADDED_ROWS)
    return out


def _affine(input: Any, weight: Any, bias: Any) -> Any:
    plain = plain_linear(input, weight, bias)
    return addmm(bias, input, t(weight)) if plain is None else plain


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
    flat = plain_linear(tall, weight, bias)
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
        plain = plain_linear(input, weight, None)
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
