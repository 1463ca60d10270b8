"""Forward values that recorded nodes saved, read by PyTorch's names for them.

`MulBackward0` keeps `_saved_self` and `_saved_other`, the values of its first and second input;
`ExpBackward0` keeps `_saved_result`, its own output. Only names with an unambiguous meaning are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .values import Memory, Value

_INPUTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("mul", "div", "maximum", "minimum", "atan2"), ("self", "other")),
    **dict.fromkeys(("mm", "bmm"), ("self", "mat2")),
    **dict.fromkeys(
        (
            *("log", "log2", "log10", "log1p", "sin", "cos", "tan", "abs", "gelu", "silu", "relu6"),
            *("softplus", "elu", "leaky_relu", "hardtanh", "erf", "clamp", "square"),
        ),
        ("self",),
    ),
    "pow": ("self", "exponent"),
    "addmm": ("", "mat1", "mat2"),
    "dot": ("self", "tensor"),
    "mv": ("self", "vec"),
    "native_layer_norm": ("input", "weight", "bias"),
    "convolution": ("input", "weight"),
    "mse_loss": ("self", "target"),
    "l1_loss": ("self", "target"),
    "nll_loss": ("self",),
    "scaled_dot_product_flash_attention_for_cpu": ("query", "key", "value"),
}
_RESULT = {"scaled_dot_product_flash_attention_for_cpu": "output"}
_NO_RESULT = frozenset(("native_layer_norm", "native_batch_norm", "pow"))


def saved_inputs(
    node: Any, operation: str, memory: Memory, known: Sequence[Value | None] = ()
) -> dict[int, Value]:
    """The values of the inputs, by position, where the node saved them and they are not known yet."""
    found = {}
    for place, name in enumerate(_INPUTS.get(operation, ())):
        if place < len(known) and known[place] is not None:
            continue
        value = _saved(node, name) if name else None
        if hasattr(value, "shape") and hasattr(value, "detach"):
            found[place] = memory.look(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found[place] = memory.of_array(np.array(float(value)), "number")
    return found


def saved_result(node: Any, operation: str, memory: Memory) -> Value | None:
    """The node's result, if it saved it."""
    if operation in _NO_RESULT:
        return None
    value = _saved(node, _RESULT.get(operation, "result"))
    return memory.look(value) if hasattr(value, "detach") else None


def saved_number(node: Any, name: str) -> float | None:
    """A plain number that a node saved, such as the exponent of `x ** 3`."""
    value = _saved(node, name)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return None


def kept_by(node: Any, tensor: Any) -> bool:
    """Whether a node saved this tensor: the same memory in the same shape."""
    for name in dir(node):
        if name.startswith("_saved_"):
            value = _saved(node, name.removeprefix("_saved_"))
            if hasattr(value, "data_ptr") and tuple(value.shape) == tuple(tensor.shape):
                try:
                    if value.dtype == tensor.dtype and value.data_ptr() == tensor.data_ptr():
                        return True
                except RuntimeError:  # a tensor without memory of its own
                    continue
    return False


def _saved(node: Any, name: str) -> Any:
    try:
        return getattr(node, f"_saved_{name}", None)
    except (RuntimeError, ValueError):  # released, or modified in place since
        return None
