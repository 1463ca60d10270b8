"""Logic, comparisons, and what only copies or fills."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import V
from ..lowering import lower, number, operands


def truth(g: Any, x: Any) -> Any:
    """Whether each element is nonzero."""
    return x if isinstance(x, V) and x.dtype.kind == "b" else g.cast(x, np.bool_)


for _record, _kind in {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}.items():

    @lower(_record)
    def _logic(g: Any, s: Any, x: Any, y: Any, kind: str = _kind) -> Any:
        return g.op(kind, *(truth(g, number(g, a, np.bool_)) for a in (x, y)))


@lower("logical_not")
def _not(g: Any, s: Any, x: V) -> Any:
    return g.op("Not", truth(g, x))


for _record, _kind in {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor"}.items():

    @lower(_record)
    def _bits(g: Any, s: Any, x: Any, y: Any, kind: str = _kind) -> Any:
        return g.op(kind if s.out.dtype.kind == "b" else f"Bitwise{kind}", *operands(g, (x, y)))


@lower("bitwise_not")
def _bits_not(g: Any, s: Any, x: V) -> Any:
    return g.op("Not" if x.dtype.kind == "b" else "BitwiseNot", x)


@lower("bitwise_left_shift")
def _left_shift(g: Any, s: Any, x: Any, y: Any) -> Any:
    x, y = operands(g, (x, y))
    power = g.op("Pow", number(g, 2.0, np.float64), g.cast(y, np.float64))
    return g.op("Mul", x, g.cast(power, s.out.dtype))


_COMPARED = {
    "eq": "Equal",
    "lt": "Less",
    "le": "LessOrEqual",
    "gt": "Greater",
    "ge": "GreaterOrEqual",
}


def compared(g: Any, kind: str, x: Any, y: Any) -> Any:
    """Compare; booleans, which have no order in ONNX, as integers."""
    x, y = operands(g, (x, y))
    if kind != "Equal" and any(isinstance(a, V) and a.dtype.kind == "b" for a in (x, y)):
        x, y = g.cast(x, np.int32), g.cast(y, np.int32)
    return g.op(kind, x, y)


for _record, _kind in _COMPARED.items():

    @lower(_record)
    def _compare(g: Any, s: Any, x: Any, y: Any, kind: str = _kind) -> Any:
        return compared(g, kind, x, y)


@lower("ne")
def _ne(g: Any, s: Any, x: Any, y: Any) -> Any:
    return g.op("Not", compared(g, "Equal", x, y))


@lower("isnan")
def _isnan(g: Any, s: Any, x: V) -> Any:
    if x.dtype.kind in "biu":
        return g.expand(np.zeros((), np.bool_), x.shape)
    return g.op("IsNaN", x)


@lower("isinf", "isposinf", "isneginf")
def _isinf(g: Any, s: Any, x: V) -> Any:
    if x.dtype.kind in "biu":
        return g.expand(np.zeros((), np.bool_), x.shape)
    which = {"isposinf": {"detect_negative": 0}, "isneginf": {"detect_positive": 0}}
    return g.op("IsInf", x, **which.get(s.name, {}))


@lower("isfinite")
def _isfinite(g: Any, s: Any, x: V) -> Any:
    if x.dtype.kind in "biu":
        return g.expand(np.ones((), np.bool_), x.shape)
    return g.op("Not", g.op("Or", g.op("IsNaN", x), g.op("IsInf", x)))


@lower("isclose")
def _isclose(g: Any, s: Any, x: V, y: V, rtol: float, atol: float, equal_nan: bool) -> Any:
    room = g.op(
        "Add", g.op("Mul", g.op("Abs", y), number(g, rtol, x.dtype)), number(g, atol, x.dtype)
    )
    near = g.op("LessOrEqual", g.op("Abs", g.op("Sub", x, y)), room)
    close = g.op("Or", g.op("Equal", x, y), near)
    if equal_nan:
        close = g.op("Or", close, g.op("And", g.op("IsNaN", x), g.op("IsNaN", y)))
    return close


# ---- unchanged ---------------------------------------------------------------------------------------


@lower("clone", "alias", "to_device")
def _same(g: Any, s: Any, x: V, **_: Any) -> Any:
    return g.op("Identity", x)


@lower("to_copy")
def _to_copy(g: Any, s: Any, x: V, **_: Any) -> Any:
    return g.cast(x, s.out.dtype) if x.dtype != s.out.dtype else g.op("Identity", x)


@lower("masked_fill", "masked_fill_tensor")
def _masked_fill(g: Any, s: Any, x: V, mask: V, value: Any) -> Any:
    filled = (
        g.cast(value, s.out.dtype) if isinstance(value, V) and value.dtype != s.out.dtype else value
    )
    return g.op("Where", mask, number(g, filled, s.out.dtype), x)


@lower("copy")
def _copy(g: Any, s: Any, x: V, src: V) -> Any:
    return g.op("Expand", g.cast(src, s.out.dtype), g.ints(s.out.shape))


@lower("zero", "fill", "fill_tensor")
def _fill(g: Any, s: Any, x: V, value: Any = 0) -> Any:
    if isinstance(value, V):
        return g.expand(g.cast(value, s.out.dtype), s.out.shape)
    return g.expand(number(g, value, s.out.dtype), s.out.shape)
