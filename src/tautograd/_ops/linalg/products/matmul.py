"""`matmul`: the product of vectors, matrices and batches, made of `dot`, `mv`, `mm` and `bmm`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._autograd.apply import apply
from ...._autograd.autocast_state import EVER_USED
from ...._autograd.lifted import COUNTERPARTS, DIRECT
from ...._autograd.modes import modes
from ...._tensor.tensor import Tensor
from ...declare.elementwise_calls import check_broadcast
from ...declare.guarding import no_method
from ...declare.public import LINALG, public
from ...declare.record import unviewed
from ...declare.subclasses import unanswered
from ...shape.broadcasting import expand_to
from ...shape.permutations import t, transpose
from ...shape.squeeze import squeeze, squeeze_dim_op, unsqueeze
from ...shape.views import reshape_to, unsafe_view_op
from ..matrices import turn
from .blas import COLUMNS, FLOATS, ROWS, bmm, dot, mm, mm_op, mv, plain_product
from .product_checks import require

_ndarray = np.ndarray
_FLOAT32 = np.dtype(np.float32)

# PyTorch takes the extra dimension of a fresh result away in place.
_squeeze_op = unviewed(squeeze_dim_op, "SqueezeBackward4")


@public()
def matmul(input: Any, other: Any) -> Any:
    """The matrix product: of vectors, matrices, or batches of matrices broadcast together."""
    require("matmul", input=input, other=other)
    plain = plain_product(input, other)
    if plain is not None:
        return plain
    m, n = input._data.ndim, other._data.ndim
    if m == 2 and n == 2:
        return mm(input, other)
    if not m or not n:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {m}D and {n}D"
        )
    if n == 1 and m <= 2:
        return dot(input, other) if m == 1 else mv(input, other)
    if m == 1 and n == 2:
        result: Tensor = apply(_squeeze_op, (mm(unsqueeze(input, 0), other),), {"dim": 0})
        return result
    if _folds(input, other):
        return _folded(input, other)
    return _batched(input, other)


def _unsafe_view(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    result: Tensor = apply(unsafe_view_op, (x,), {"size": shape})
    return result


def _folds(input: Tensor, other: Tensor) -> bool:
    """Whether a batch times one matrix (or vector) is best done as one tall matrix times it."""
    larger = input._data.ndim >= other._data.ndim
    batch, small = (input._data, other) if larger else (turn(other._data), input)
    if batch.ndim < 3 or small._data.ndim > 2:
        return False
    if modes.grad and small.requires_grad:
        return True  # else its gradient would be a whole batch of matrices, summed
    if input._data.ndim == 2:
        return False
    if not batch.size:
        return True
    strides = getattr(batch, "strides", None)
    return strides is None or all(
        strides[i] == strides[i + 1] * batch.shape[i + 1] for i in range(batch.ndim - 2)
    )


def _folded(input: Tensor, other: Tensor) -> Any:
    flipped = other._data.ndim > input._data.ndim
    from ...shape.rearranging import contiguous

    batch, small = (transpose(other, -2, -1), input) if flipped else (input, other)
    if flipped and small._data.ndim == 2:
        small = t(small)
    shape = batch._data.shape
    rows = 1
    for extent in shape[:-1]:
        rows *= extent
    tall = reshape_to(batch, (rows, shape[-1]))
    if small._data.ndim == 1:
        return _unsafe_view(mv(tall, small), shape[:-1])
    result = _unsafe_view(mm(tall, small), (*shape[:-1], small._data.shape[1]))
    return contiguous(transpose(result, -2, -1)) if flipped else result


def _batched(input: Tensor, other: Tensor) -> Any:
    a, b = input._data.shape, other._data.shape
    if len(a) == len(b) == 3 and a[0] != b[0] and modes.grad:
        # A batch of one that wants a gradient is a plain matrix.
        if a[0] == 1 and input.requires_grad:
            return matmul(squeeze(input, 0), other)
        if b[0] == 1 and other.requires_grad:
            return matmul(input, squeeze(other, 0))
    n = a[-2] if len(a) > 1 else 1
    p = b[-1] if len(b) > 1 else 1
    check_broadcast(a[:-2], b[:-2])
    batch = np.broadcast_shapes(a[:-2], b[:-2])
    count = 1
    for extent in batch:
        count *= extent
    inner = b[-2] if len(b) > 1 else b[0]
    x = reshape_to(expand_to(input, (*batch, n, a[-1])), (count, n, a[-1]))
    if len(b) == 1:
        other = unsqueeze(other, 1)
    y = reshape_to(expand_to(other, (*batch, inner, p)), (count, inner, p))
    product = bmm(x, y)
    shape = (*batch, *((n,) if len(a) > 1 else ()), *((p,) if len(b) > 1 else ()))
    if len(b) == 1:
        product = squeeze(product, -1)
    return _unsafe_view(product, shape)


# --- operators and NumPy's names -----------------------------------------------------------------


def _matmul_operator(self: Any, other: Any) -> Any:
    if not isinstance(other, Tensor):
        return unanswered(_matmul_operator, self, other)
    try:
        plain = None if EVER_USED and modes.lower is not None else plain_product(self, other)
    except AttributeError:
        if isinstance(self, Tensor):
            raise
        raise no_method("matmul", (self,)) from None
    return matmul(self, other) if plain is None else plain


def _reflected(self: Any, other: Any) -> Any:
    if isinstance(other, Tensor):
        return matmul(other, self)
    return unanswered(_reflected, self, other)


_mm_in_rule = mm_op.function("apply_in_rule")


def _in_rule(a: Tensor, b: Any) -> Tensor | None:
    """A product of two tensors that are matrices of floats; None of anything else."""
    if not isinstance(b, Tensor):
        return None
    x, y = a._data, b._data
    if type(x) is not _ndarray or type(y) is not _ndarray:
        return None
    dtype = x.dtype
    if y.dtype is not dtype or (dtype is not _FLOAT32 and dtype.char not in FLOATS):
        return None
    shape, other = x.shape, y.shape
    if len(shape) != 2 or len(other) != 2 or shape[1] != other[0]:
        return plain_product(a, b)
    steps = y.strides
    found: Tensor = _mm_in_rule((a, b), COLUMNS if steps[0] < steps[1] else ROWS)
    return found


_tensor: Any = Tensor
_tensor.__matmul__, _tensor.__rmatmul__ = _matmul_operator, _reflected
COUNTERPARTS[np.matmul] = matmul
COUNTERPARTS[np.dot] = matmul
DIRECT[np.matmul] = _in_rule
LINALG["matmul"] = matmul
