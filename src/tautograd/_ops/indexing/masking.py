"""Boolean masks: fill, pick and place where a mask is true, and where elements are not zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.blend import filled
from ..._arrays.dtypes import LEGACY_NAMES
from ..._arrays.result_layout import in_c_order
from ..._arrays.strided import has_memory, is_distributed
from ..._autograd.apply import apply
from ..._tensor.arguments import as_element, number
from ..._tensor.tensor import Tensor, make
from ..declare.elementwise_calls import check_broadcast
from ..declare.public import public
from ..declare.record import LINEAR, Op
from ..declare.samples import Sample, T
from .index_arguments import count, own_copy, require_tensors, spoken, taken
from .take_put import put_op


def _mask(*shape: int, **options: Any) -> T:
    return T(*shape, dtype="bool", **options)


masked_fill_op: Op = Op(
    "masked_fill",
    filled,
    ("x", "mask", "value"),
    layout=in_c_order,
    vjp={"x": lambda g, mask: masked_fill_op(g, mask, 0)},
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(2, 3), _mask(2, 3), 2),
        Sample(T(2, 3), _mask(3), 1.5),
        Sample(T(3), _mask(2, 1), 0),
        Sample(T(), _mask(), 1),
        Sample(T(0, 2), _mask(2), 1),
        Sample(T(3, 2, layout="transposed"), _mask(3, 2), 1),
    ],
)
masked_fill_tensor_op = Op(
    "masked_fill_tensor",
    filled,
    ("x", "mask", "value"),
    layout=in_c_order,
    vjp={
        "x": lambda g, mask: masked_fill_op(g, mask, 0),
        # The engine sums over what the 0-dim value was broadcast to.
        "value": lambda g, mask: np.where(mask, g, np.zeros_like(g)),
    },
    jvp=LINEAR,
    node="MaskedFillBackward1",
    opmath=False,
    public="masked_fill",
    samples=lambda: [Sample(T(2, 3), _mask(3), T()), Sample(T(), _mask(2), T())],
)


def _broadcast(x: Any, mask: Any) -> tuple[Any, Any]:
    shape = np.broadcast_shapes(x.shape, mask.shape)
    return np.broadcast_to(x, shape), np.broadcast_to(mask, shape)


def _masked_select(x: Any, mask: Any) -> Any:
    values, chosen = _broadcast(x, mask)
    if is_distributed(chosen):
        return taken(np.reshape(values, (-1,)), np.flatnonzero(chosen))
    return values[chosen]


def _masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    values, chosen = _broadcast(x, mask)
    flat = np.reshape(own_copy(values, mask, source), (-1,))
    if count(source.shape):
        np.place(flat, np.reshape(chosen, (-1,)), np.reshape(source, (-1,)))
    return np.reshape(flat, values.shape)


def _picked_in_order(g: Any, mask: Any, shape: tuple[int, ...]) -> Any:
    """The k-th element of g under the mask as element k of an array of this shape, then zeros.

    How many there are only the mask's values tell: so each goes by its rank to its place, and the
    others to one place more, which is dropped.
    """
    size = count(shape)
    chosen = np.reshape(np.broadcast_to(mask, g.shape), (-1,))
    places = np.where(chosen, np.cumsum(chosen, axis=0) - 1, size)
    room = np.zeros_like(g, shape=(size + 1,))
    return np.reshape(put_op(room, places, np.reshape(g, (-1,)), accumulate=True)[:size], shape)


masked_select_op = Op(
    "masked_select",
    _masked_select,
    ("x", "mask"),
    vjp={
        "x": lambda g, mask, x_shape: masked_scatter_op(
            np.zeros_like(g, shape=np.broadcast_shapes(x_shape, mask.shape)), mask, g
        )
    },
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(2, 3), _mask(2, 3)),
        Sample(T(2, 3), _mask(3)),
        Sample(T(3), _mask(2, 1)),
        Sample(T(), _mask()),
        Sample(T(3, 2, layout="transposed"), _mask(3, 2, layout="transposed")),
        Sample(T(0, 2), _mask(2)),
    ],
)
masked_scatter_op: Op = Op(
    "masked_scatter",
    _masked_scatter,
    ("x", "mask", "source"),
    vjp={
        "x": lambda g, mask: masked_fill_op(g, mask, 0),
        "source": lambda g, mask, source_shape: _picked_in_order(g, mask, source_shape),
    },
    jvp=LINEAR,
    opmath=False,
    samples=lambda: [
        Sample(T(2, 3), _mask(2, 3), T(2, 4)),
        Sample(T(2, 3), _mask(3), T(7)),
        Sample(T(), _mask(), T()),
        Sample(T(3, 2, layout="transposed"), _mask(3, 2), T(6)),
        Sample(T(0, 2), _mask(2), T(0)),
    ],
)

_C_NAMES = {
    "int64": "long int", "int32": "int", "int16": "short int", "int8": "signed char",
    "uint8": "unsigned char", "float32": "float", "float64": "double", "float16": "c10::Half",
    "bfloat16": "c10::BFloat16", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip


@public(inplace=True)
def masked_fill(input: Any, mask: Any, value: Any) -> Tensor:
    """`input` with a number where `mask` is true."""
    require_tensors("masked_fill", input=input)
    if not isinstance(mask, Tensor):
        raise TypeError(
            "masked_fill() received an invalid combination of arguments - got "
            f"({type(mask).__name__}, {type(value).__name__})"
        )
    if mask._data.dtype != np.bool_:
        raise RuntimeError(
            "masked_fill_ only supports boolean masks, but got mask with dtype "
            f"{_C_NAMES[mask.dtype.name]}"
        )
    check_broadcast(mask._data.shape, input._data.shape)
    if isinstance(value, Tensor):
        if value._data.ndim:
            raise RuntimeError(
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value._data.ndim} dimension(s)."
            )
        result: Tensor = apply(masked_fill_tensor_op, (input, mask, value))
        return result
    try:
        filled = number("masked_fill", value, "value", 2)
    except TypeError:
        raise TypeError(
            "masked_fill() received an invalid combination of arguments - got "
            f"(Tensor, {type(value).__name__})"
        ) from None
    out: Tensor = apply(masked_fill_op, (input, mask, as_element(filled, input.dtype)))
    return out


@public()
def masked_select(input: Any, mask: Any) -> Tensor:
    """The elements where `mask` is true, as a vector."""
    require_tensors("masked_select", input=input, mask=mask)
    if mask._data.dtype != np.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    check_broadcast(mask._data.shape, input._data.shape)
    result: Tensor = apply(masked_select_op, (input, mask))
    return result


@public(inplace=True)
def masked_scatter(input: Any, mask: Any, source: Any) -> Tensor:
    """`input` with the elements of `source`, one after another, where `mask` is true."""
    require_tensors("masked_scatter", input=input, mask=mask, source=source)
    if input._data.dtype != source._data.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got"
            f"{spoken(input)} and {spoken(source)}"
        )
    if mask._data.dtype != np.bool_:
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            f"{LEGACY_NAMES[mask.dtype]}"
        )
    check_broadcast(mask._data.shape, input._data.shape)
    if has_memory(mask._data):
        shape = np.broadcast_shapes(input._data.shape, mask._data.shape)
        repeats = count(shape) // max(mask._data.size, 1)
        if source._data.size < int(np.count_nonzero(mask._data)) * repeats:
            raise RuntimeError("Number of elements of source < number of ones in mask")
    result: Tensor = apply(masked_scatter_op, (input, mask, source))
    return result


# --- where elements are not zero ------------------------------------------------------------------


def _nonzero(x: Any) -> Any:
    # PyTorch writes one row per dimension and shows the transpose.
    if x.ndim == 0:
        return np.zeros_like(x, shape=(int(np.count_nonzero(x)), 0), dtype=np.int64)
    return np.transpose(np.stack(np.nonzero(x)))


nonzero_op = Op(
    "nonzero",
    _nonzero,
    ("x",),
    opmath=False,
    samples=lambda: [
        Sample(T(2, 3, kind="ties")),
        Sample(T()),
        Sample(T(0, 2)),
        Sample(T(4, kind="ties"), as_tuple=True),
        Sample(T(3, 2, kind="ties", layout="transposed")),
    ],
)


def _one_out(name: str, args: Any, kwargs: Any, out: Any) -> Any:
    """`nonzero` writes into one tensor only, never into a tuple of vectors."""
    if isinstance(out, (tuple, list)):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if kwargs.get("as_tuple"):
        raise RuntimeError(f"{name} does not support the out kwarg when as_tuple is True")
    return args


@public(out=_one_out)
def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero: a row each, or a vector per dimension."""
    require_tensors("nonzero", input=input)
    if not as_tuple:
        return apply(nonzero_op, (input,))
    vectors = apply(
        nonzero_op, (input if input._data.ndim else make(np.reshape(input._data, (1,))),)
    )
    return tuple(make(np.copy(vectors._data[:, d])) for d in range(vectors._data.shape[1]))


@public(out=False)
def argwhere(input: Any) -> Tensor:
    """The indices of the elements that are not zero, a row each."""
    require_tensors("argwhere", input=input)
    result: Tensor = apply(nonzero_op, (input,))
    return result
