"""Normalisation of each example by itself: `layer_norm`, and the rows that `group_norm` shares.

The records give, beside the result, the mean and the inverse deviation they found, and the gradient
uses those. A group norm is the norm of the rows of groups, with a weight per channel. Large
arrays are worked off some rows at a time, so that what one pass leaves in the cache the next finds.
Where a rule is itself differentiated, mean and deviation are computed anew from the input.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.sums import row_dot
from ..._autograd.apply import apply
from ..._autograd.lifted import counterpart
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import refuse, require_tensor
from ..declare.record import Op
from ..declare.samples import Sample, T
from ..declare.undefined_dtypes import no_kernel
from . import native_norms
from .losses.reduction import function, functional

_ndarray = np.ndarray
_BLOCK = 1 << 17  # how many elements are worked on at a time


@counterpart(np.vecdot)
def _(x: Any, y: Any) -> Any:
    return (x * y).sum(-1)


# --- rows ----------------------------------------------------------------------------------------


def statistics(x: Any, axes: Any, eps: float) -> tuple[Any, Any, Any]:
    """x minus its mean over these axes, the mean, and one over the deviation."""
    count = math.prod(x.shape[a] for a in axes)
    mean = np.sum(x, axis=axes, keepdims=True) / count
    centred = x - mean
    if axes == (-1,):
        variance = np.expand_dims(row_dot(centred, centred), -1) / count
    else:
        variance = np.sum(centred * centred, axis=axes, keepdims=True) / count
    return centred, mean, 1 / np.sqrt(variance + eps)


def rows_of(x: Any, mean: Any, inverse: Any, eps: float) -> tuple[Any, Any]:
    """The normalised rows, and one over their deviations."""
    if hasattr(x, "apply_lifted"):
        centred, _, inverse = statistics(x, (-1,), eps)
        return centred * inverse, inverse
    return (x - mean) * inverse, inverse


def row_norms(x: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any]:
    """Normalise the last dimension; weight and bias broadcast against the rows."""
    if type(x) is not _ndarray or not _plain(weight, bias):
        centred, mean, inverse = statistics(x, (-1,), eps)
        out = centred * inverse
        out = out if weight is None else out * weight
        return out if bias is None else out + bias, mean, inverse
    found = native_norms.row_norms(x, weight, bias, eps)
    if found is not None:
        return found  # type: ignore[no-any-return]
    if x.ndim == 1:
        parts = row_norms(x[None], weight, bias, eps)
        return parts[0][0], parts[1][0], parts[2][0]
    count, width = math.prod(x.shape[:-1]), x.shape[-1]
    out = np.empty_like(x, order="C")
    mean = np.add.reduce(x, axis=-1, keepdims=True)
    mean /= width
    inverse = np.empty_like(mean)
    for x_part, out_part, mean_part, inverse_part, w, b in _blocks(
        count, width, weight, bias, x, out, mean, inverse
    ):
        np.subtract(x_part, mean_part, out=out_part)
        variance = row_dot(out_part, out_part)
        variance /= width
        variance += eps
        np.sqrt(variance, out=variance)
        np.divide(1, variance, out=inverse_part[..., 0])
        out_part *= inverse_part
        if w is not None:
            out_part *= w
        if b is not None:
            out_part += b
    return out, mean, inverse


def _plain(*values: Any) -> bool:
    return all(v is None or type(v) is _ndarray for v in values)


def _blocks(count: int, width: int, weight: Any, bias: Any, *arrays: Any) -> Any:
    """Some rows of each array at a time, with their weights and biases."""
    if count * width <= 2 * _BLOCK:
        yield (*arrays, weight, bias)
        return
    rank = arrays[0].ndim
    deep = [v is not None and v.ndim == rank and v.shape[0] > 1 for v in (weight, bias)]
    rows = arrays[0].shape[0]
    step = max(1, _BLOCK * rows // (count * width))
    for start in range(0, rows, step):
        part = slice(start, start + step)
        affine = [v[part] if d else v for v, d in zip((weight, bias), deep, strict=True)]
        yield (*(a[part] for a in arrays), *affine)


def row_gradient(g: Any, normal: Any, inverse: Any, weight: Any) -> Any:
    """inverse * (h - mean(h) - n mean(h n)), with h = g w and n the normalised rows."""
    width = normal.shape[-1]
    if type(g) is not _ndarray or type(normal) is not _ndarray or not _plain(weight):
        h = g if weight is None else g * weight
        mean = np.sum(h, axis=-1, keepdims=True) / width
        along = np.expand_dims(row_dot(h, normal), -1) / width
        return (h - mean - normal * along) * inverse
    h = np.copy(g, order="C") if weight is None else g * weight
    along = row_dot(h, normal)[..., None]
    along /= width
    mean = np.add.reduce(h, axis=-1, keepdims=True)
    mean /= width
    h -= mean
    np.multiply(normal, along, out=normal)
    h -= normal
    h *= inverse
    return h


# --- layer norm ----------------------------------------------------------------------------------


def _flat(x: Any, rank: int) -> Any:
    """The last `rank` dimensions as one; as they are, if they are one."""
    if rank == 1:
        return x
    lead = tuple(x.shape)[: x.ndim - rank]
    return np.reshape(x, (*lead, math.prod(x.shape[x.ndim - rank :])))


def _layer_norm(x: Any, weight: Any, bias: Any, rank: int, eps: float) -> Any:
    w, b = [None if v is None else _flat(v, rank) for v in (weight, bias)]
    out, mean, inverse = row_norms(_flat(x, rank), w, b, eps)
    if rank == 1:
        return out, mean, inverse
    ones = (1,) * (rank - 1)
    wide = [np.reshape(v, (*v.shape, *ones)) for v in (mean, inverse)]
    return np.reshape(out, x.shape), *wide


def _columns(x: Any, y: Any = None) -> Any:
    """The sum of x (or of x y) over all dimensions but the last."""
    if type(x) is _ndarray and x.size >= _BLOCK and (y is None or type(y) is _ndarray):
        rows = np.reshape(x, (-1, x.shape[-1]))
        if y is None:
            return np.ones(rows.shape[0], x.dtype) @ rows
        return np.einsum("ij,ij->j", rows, np.reshape(y, rows.shape))
    x = x if y is None else x * y
    return np.sum(x, axis=tuple(range(x.ndim - 1))) if x.ndim > 1 else x


def _layer_norm_vjp(
    g: Any,
    x: Any,
    weight: Any,
    out1: Any,
    out2: Any,
    needs: tuple[bool, ...],
    rank: int,
    eps: float,
) -> Any:
    shape = x.shape
    lead = tuple(shape)[: len(shape) - rank]
    rows = _flat(x, rank)
    g, w = _flat(g, rank), None if weight is None else _flat(weight, rank)
    mean, inverse = (np.reshape(v, (*lead, 1)) for v in (out1, out2))
    found = native_norms.row_gradients(g, rows, w, mean, inverse, needs)
    grads: list[Any] = [None, None, None] if found is None else found
    if found is not None:
        grads[0] = None if grads[0] is None else np.reshape(grads[0], shape)
    elif needs[2]:
        grads[2] = _columns(g)
    if found is None and (needs[0] or needs[1]):
        normal, inverse = rows_of(rows, mean, inverse, eps)
        if needs[1]:
            grads[1] = _columns(g, normal)
        if needs[0]:
            grads[0] = np.reshape(row_gradient(g, normal, inverse, w), shape)
    if rank > 1:
        inner = tuple(shape)[len(lead) :]
        grads[1:] = [None if v is None else np.reshape(v, inner) for v in grads[1:]]
    return tuple(grads)


def rows_tangent(t: Any, x: Any, axes: Any, eps: float) -> Any:
    """The tangent of normalised rows: as the gradient is, the map is its own transpose."""
    count = math.prod(x.shape[a] for a in axes)
    centred, _, inverse = statistics(x, axes, eps)
    normal = centred * inverse
    mean = np.sum(t, axis=axes, keepdims=True) / count
    along = np.sum(t * normal, axis=axes, keepdims=True) / count
    return (t - mean - normal * along) * inverse


def normalised(x: Any, axes: Any, eps: float) -> Any:
    centred, _, inverse = statistics(x, axes, eps)
    return centred * inverse


def scaled(x: Any, weight: Any) -> Any:
    return x if weight is None else x * weight


layer_norm_op = Op(
    "layer_norm",
    _layer_norm,
    ("x", "weight", "bias"),
    vjp=_layer_norm_vjp,
    jvp={
        "x": lambda t, x, weight, rank, eps: (
            scaled(rows_tangent(t, x, tuple(range(-rank, 0)), eps), weight),
            None,
            None,
        ),
        "weight": lambda t, x, rank, eps: (
            t * normalised(x, tuple(range(-rank, 0)), eps),
            None,
            None,
        ),
        "bias": lambda t, x_shape: (np.broadcast_to(t, x_shape), None, None),
    },
    outputs=3,
    differentiable_outputs=(0,),
    node="NativeLayerNormBackward0",
    refuses=no_kernel("LayerNormKernelImpl", "bic"),
    samples=lambda: [
        Sample(T(3, 5), (5,)),
        Sample(T(2, 3, 5), [5], T(5), T(5, seed=1)),
        Sample(T(2, 3, 4), (3, 4), T(3, 4), T(3, 4, seed=1), 1e-2),
        Sample(T(5, 3, layout="transposed"), (3,), T(3)),
        Sample(T(2, 3), (3,), None, T(3)),
        Sample(T(4), (4,), T(4), T(4)),
        Sample(T(0, 3), (3,), T(3)),
    ],
)


def check_normalized(name: str, input: Tensor, shape: Any, **affine: Any) -> tuple[int, ...]:
    require_tensor(name, input)
    if isinstance(shape, int):
        raise TypeError(
            f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, not int"
        )
    shape = tuple(shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []"
        )
    for label, value in affine.items():
        if value is not None and tuple(value._data.shape) != shape:
            raise RuntimeError(
                f"Expected {label} to be of same shape as normalized_shape, but got {label} of shape "
                f"{list(value._data.shape)} and normalized_shape = {list(shape)}"
            )
    given = tuple(input._data.shape)
    if given[len(given) - len(shape) :] != shape or len(given) < len(shape):
        star = "*" if name == "rms_norm" else "*, "
        inner = ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{star}{inner}], but "
            f"got input of size{list(given)}"
        )
    return shape  # type: ignore[no-any-return]


def check_mixed(input: Tensor, *others: Any) -> None:
    """Parameters have the dtype of the input, or float32 beside an input in half precision."""
    kind = input._data.dtype
    for other in others:
        if other is None or other._data.dtype == kind:
            continue
        if not (input.dtype.is_half and other._data.dtype == np.float32):
            raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


@function
@functional
def layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """Each example minus its mean over the last dimensions, over its deviation."""
    shape = check_normalized("layer_norm", input, normalized_shape, weight=weight, bias=bias)
    if weight is not None or bias is not None:
        check_mixed(input, weight, bias)
    refuse(layer_norm_op, input._data.dtype)
    parameters = {"rank": len(shape), "eps": eps}
    found: Tensor = apply_mixed(layer_norm_op, (input, weight, bias), parameters)[0]
    return found


def apply_mixed(op: Op, inputs: tuple[Any, ...], parameters: dict[str, Any]) -> Any:
    """Apply, with the result in the dtype of the first input."""
    kind = inputs[0]._data.dtype
    for other in inputs[1:]:
        if other is not None and other._data.dtype != kind:
            return apply(op, inputs, parameters, kind)
    return apply(op, inputs, parameters)
