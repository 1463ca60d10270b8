"""Elementwise functions of one masked tensor: applied to the data, with the same mask."""

from __future__ import annotations

from typing import Any

import tautograd as torch

from .core import ANSWERS, is_masked_tensor, mask_of, wrapped

UNARY_NAMES = [
    *("abs", "absolute", "acos", "arccos", "acosh", "arccosh", "angle", "asin", "arcsin", "asinh",),
    *("arcsinh", "atan", "arctan", "atanh", "arctanh", "bitwise_not", "ceil", "clamp", "clip",),
    *("conj_physical", "cos", "cosh", "deg2rad", "digamma", "erf", "erfc", "erfinv", "exp",),
    *("exp2", "expm1", "fix", "floor", "frac", "lgamma", "log", "log10", "log1p", "log2", "logit",),
    *("i0", "isnan", "nan_to_num", "neg", "negative", "positive", "pow", "rad2deg", "reciprocal",),
    *("round", "rsqrt", "sigmoid", "sign", "sgn", "signbit", "sin", "sinc", "sinh", "sqrt",),
    *("square", "tan", "tanh", "trunc",),
]  # fmt: skip
INPLACE_UNARY_NAMES = [
    name + "_" for name in UNARY_NAMES if name not in ("angle", "isnan", "positive", "signbit")
]
NATIVE_UNARY_FNS = [getattr(torch.ops.aten, name) for name in UNARY_NAMES]
NATIVE_INPLACE_UNARY_FNS = [getattr(torch.ops.aten, name) for name in INPLACE_UNARY_NAMES]


def answer(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply such a function to a masked tensor."""
    first, *others = args
    if any(isinstance(other, torch.Tensor) for other in (*others, *kwargs.values())):
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    if not is_masked_tensor(first):
        raise TypeError(f"torch.{name}: a number cannot be given a masked tensor's mask")
    return wrapped(function(*args, **kwargs), mask_of(first))


ANSWERS.update(
    dict.fromkeys([*UNARY_NAMES, *INPLACE_UNARY_NAMES, "__rdiv__", "__invert__"], answer)
)
