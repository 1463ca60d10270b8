"""Elementwise functions of two operands: masked tensors with the same mask, or one and any other operand."""

from __future__ import annotations

from typing import Any

import tautograd as torch

from .core import ANSWERS, _masks_match, is_masked_tensor, mask_of, plain, wrapped

BINARY_NAMES = [
    *("add", "atan2", "arctan2", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift",),
    *("bitwise_right_shift", "div", "divide", "floor_divide", "fmod", "logaddexp", "logaddexp2",),
    *("mul", "multiply", "nextafter", "remainder", "sub", "subtract", "true_divide", "eq", "ne",),
    *("le", "ge", "greater", "greater_equal", "gt", "less_equal", "lt", "less", "maximum",),
    *("minimum", "fmax", "fmin", "not_equal",),
]  # fmt: skip
_OUT_OF_PLACE = ("fmax", "fmin", "logaddexp", "logaddexp2", "maximum", "minimum")
INPLACE_BINARY_NAMES = [name + "_" for name in BINARY_NAMES if name not in _OUT_OF_PLACE]
NATIVE_BINARY_FNS = [getattr(torch.ops.aten, name) for name in BINARY_NAMES]
NATIVE_INPLACE_BINARY_FNS = [getattr(torch.ops.aten, name) for name in INPLACE_BINARY_NAMES]
_OPERATORS = (
    *("__eq__", "__ne__", "__floordiv__", "__and__", "__or__", "__xor__", "__lshift__"),
    *("__rshift__", "__mod__"),
)


def answer(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply such a function to two operands, at least one of which is masked."""
    if kwargs:
        raise ValueError("len(kwargs) must equal 0")
    if any(isinstance(other, torch.Tensor) for other in args[2:]):
        raise TypeError("MaskedTensor binary ops do not support additional Tensor arguments")
    if not _masks_match(*args[:2]):
        raise ValueError(
            "Input masks must match. If you need support for this, please open an issue on Github."
        )
    first, second, *rest = args
    mask = mask_of(first) if is_masked_tensor(first) else mask_of(second)
    if mask.layout != torch.strided:
        return wrapped(_of_values(function, mask, [plain(x) for x in args]), mask)
    return wrapped(function(first, second, *rest), mask)


def _of_values(function: Any, mask: Any, args: list[Any]) -> Any:
    """The same for sparse tensors, whose values are in the same order."""
    tensors = [x for x in args if isinstance(x, torch.Tensor) and x.layout == mask.layout]
    if any(isinstance(x, torch.Tensor) and x.layout != mask.layout and x.dim() for x in args):
        raise TypeError("data and mask must have the same layout.")
    values = function(*(x.values() if any(x is t for t in tensors) else x for x in args))
    some = tensors[0]
    if mask.layout == torch.sparse_coo:
        return torch.sparse_coo_tensor(some.indices(), values, some.shape, is_coalesced=True)
    return torch.sparse_csr_tensor(some.crow_indices(), some.col_indices(), values, some.shape)


ANSWERS.update(dict.fromkeys([*BINARY_NAMES, *INPLACE_BINARY_NAMES, *_OPERATORS], answer))
