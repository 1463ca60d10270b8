"""How many additions and multiplications a call needs: products, convolutions and attention.

Those are nearly all of a model's work, and are counted as other counters do, PyTorch's own among them:
a multiplication and an addition count as two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Counter = Callable[[Any, Any, Any], int]


def _size(shape: Any) -> int:
    return math.prod(int(n) for n in shape)


def _product(args: Any, kwargs: Any, result: Any) -> int:
    return 2 * _size(result.shape) * int(args[0].shape[-1])


def _added_product(args: Any, kwargs: Any, result: Any) -> int:
    return 2 * _size(result.shape) * int(args[1].shape[-1])


def _convolution(args: Any, kwargs: Any, result: Any) -> int:
    weight = args[1] if len(args) > 1 else kwargs["weight"]
    return 2 * _size(result.shape) * _size(weight.shape[1:])


def _transposed(args: Any, kwargs: Any, result: Any) -> int:
    weight = args[1] if len(args) > 1 else kwargs["weight"]
    return 2 * _size(args[0].shape) * _size(weight.shape[1:])


def _attention(args: Any, kwargs: Any, result: Any) -> int:
    query, key, value = args[0], args[1], args[2]
    rows, columns = int(query.shape[-2]), int(key.shape[-2])
    width = int(query.shape[-1]) + int(value.shape[-1])
    return 2 * _size(query.shape[:-2]) * rows * columns * width


def _any_convolution(args: Any, kwargs: Any, result: Any) -> int:
    """tautograd's own has PyTorch's node name; a transposed one is passed its result's size."""
    is_transposed = "size" in kwargs or bool(kwargs.get("transposed"))
    return (_transposed if is_transposed else _convolution)(args, kwargs, result)


def _multi_head(args: Any, kwargs: Any, result: Any, batch: int) -> int:
    query, key, value = args[0], args[1], args[2]
    width = int(query.shape[-1])
    batches = int(query.shape[batch]) if query.dim() == 3 else 1
    rows, columns = (_size(t.shape[:-1]) // batches for t in (query, key))
    inward = width * (_size(query.shape) + _size(key.shape) + _size(value.shape))
    outward = width * _size(query.shape)
    return 2 * (inward + outward) + 4 * batches * rows * columns * width


def _recurrent(args: Any, kwargs: Any, result: Any) -> int:
    """A product with each of the weights, for every step of every sequence."""
    given = args[2] if isinstance(args[2], (list, tuple)) else _own_weights(args)
    weights = [t for t in given if t is not None and t.dim() == 2]
    return 2 * _size(args[0].shape[:-1]) * sum(_size(t.shape) for t in weights)


def _own_weights(args: Any) -> Any:
    """tautograd's layers pass them one by one: input, states of equal width, then weights."""
    states = 2 if args[2].shape == args[1].shape else 1
    return args[1 + states :]


COUNTERS: dict[str, Counter] = {
    **dict.fromkeys(("linear", "matmul", "mm", "bmm", "mv", "dot", "__matmul__"), _product),
    **dict.fromkeys(("addmm", "baddbmm", "addmv"), _added_product),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _convolution),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _transposed),
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), _recurrent),
    "convolution": _any_convolution,
    "scaled_dot_product_attention": _attention,
    "multi_head_attention_forward": lambda a, k, r: _multi_head(a, k, r, 1),
    "_native_multi_head_attention": lambda a, k, r: _multi_head(a, k, r, 0),
}
UNCOUNTED = frozenset(
    ("einsum", "bilinear", "cdist", "_transformer_encoder_layer_fwd", "tensordot")
)
"""Calls that compute products but are not counted here: a summary names them."""
