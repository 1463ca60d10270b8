"""Arithmetic, comparisons, elementary functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..graph import V
from ..lowering import lower, number, operands, simple
from .comparing import truth

for _record, _kind in {
    "erf": "Erf",
    "neg": "Neg",
    "abs": "Abs",
    "exp": "Exp",
    "log": "Log",
    "sqrt": "Sqrt",
    "reciprocal": "Reciprocal",
    "sin": "Sin",
    "cos": "Cos",
    "tan": "Tan",
    "sinh": "Sinh",
    "cosh": "Cosh",
    "tanh": "Tanh",
    "asin": "Asin",
    "acos": "Acos",
    "atan": "Atan",
    "asinh": "Asinh",
    "acosh": "Acosh",
    "atanh": "Atanh",
    "sign": "Sign",
    "sgn": "Sign",
    "sub": "Sub",
    "div": "Div",
}.items():
    simple(_kind, _record)


@lower("where")
def _where(g: Any, s: Any, condition: V, x: Any, y: Any) -> Any:
    kind = s.out.dtype
    parts = [
        g.cast(a, kind) if isinstance(a, V) and a.dtype != kind else number(g, a, kind)
        for a in (x, y)
    ]
    return g.op("Where", truth(g, condition), *parts)


@lower("floor", "ceil", "round")
def _rounded(g: Any, s: Any, x: V) -> Any:
    if x.dtype.kind in "iu":
        return g.op("Identity", x)
    return g.op(s.name.capitalize(), x)


@lower("trunc")
def _trunc(g: Any, s: Any, x: V) -> Any:
    return x if x.dtype.kind in "iu" else _truncated(g, x)


def _truncated(g: Any, x: Any) -> Any:
    return g.op("Mul", g.op("Sign", x), g.op("Floor", g.op("Abs", x)))


@lower("round_decimals")
def _round_decimals(g: Any, s: Any, x: V, decimals: int) -> Any:
    ten = number(g, 10.0**decimals, x.dtype)
    return g.op("Div", g.op("Round", g.op("Mul", x, ten)), ten)


@lower("frac")
def _frac(g: Any, s: Any, x: V) -> Any:
    return g.op("Sub", x, _truncated(g, x))


# ---- arithmetic --------------------------------------------------------------------------------------


@lower("add")
def _add(g: Any, s: Any, x: Any, y: Any) -> Any:
    x, y = operands(g, (x, y))
    return g.op("Or" if s.out.dtype.kind == "b" else "Add", x, y)


@lower("mul")
def _mul(g: Any, s: Any, x: Any, y: Any) -> Any:
    x, y = operands(g, (x, y))
    return g.op("And" if s.out.dtype.kind == "b" else "Mul", x, y)


@lower("add_scaled", "sub_scaled")
def _scaled(g: Any, s: Any, x: Any, y: Any, alpha: Any) -> Any:
    x, y = operands(g, (x, y))
    return g.op(s.name[:3].capitalize(), x, g.op("Mul", y, number(g, alpha, s.out.dtype)))


@lower("rsub")
def _rsub(g: Any, s: Any, x: Any, y: Any, alpha: Any) -> Any:
    x, y = operands(g, (x, y))
    return g.op("Sub", y, g.op("Mul", x, number(g, alpha, s.out.dtype)))


@lower("rsub_scalar")
def _rsub_scalar(g: Any, s: Any, x: V, y: Any, alpha: Any) -> Any:
    return g.op("Sub", number(g, y, x.dtype), g.op("Mul", x, number(g, alpha, x.dtype)))


def floored(g: Any, x: Any, y: Any, kind: Any) -> Any:
    """The quotient, rounded down; ONNX rounds integer quotients towards zero."""
    q = g.op("Div", x, y)
    if kind.kind == "f":
        return g.op("Floor", q)
    if kind.kind == "u":
        return q
    rest = g.op("Sub", x, g.op("Mul", q, y))
    zero = number(g, 0, kind)
    uneven = g.op("Not", g.op("Equal", rest, zero))
    apart = g.op("Xor", g.op("Less", rest, zero), g.op("Less", y, zero))
    return g.op("Sub", q, g.cast(g.op("And", uneven, apart), kind))


@lower("floor_divide")
def _floor_divide(g: Any, s: Any, x: Any, y: Any) -> Any:
    a, b = operands(g, (x, y))
    return floored(g, a, b, s.out.dtype)


@lower("div_rounded")
def _div_rounded(g: Any, s: Any, x: Any, y: Any, rounding_mode: str) -> Any:
    x, y = operands(g, (x, y))
    if rounding_mode == "floor":
        return floored(g, x, y, s.out.dtype)
    q = g.op("Div", x, y)
    return _truncated(g, q) if s.out.dtype.kind == "f" else q


def _modulo(g: Any, x: Any, y: Any, kind: Any) -> Any:
    if kind.kind == "f":
        return g.op("Sub", x, g.op("Mul", g.op("Floor", g.op("Div", x, y)), y))
    return g.op("Mod", x, y)


@lower("remainder")
def _remainder(g: Any, s: Any, x: Any, y: Any) -> Any:
    a, b = operands(g, (x, y))
    return _modulo(g, a, b, s.out.dtype)


@lower("remainder_scalar")
def _remainder_scalar(g: Any, s: Any, x: V, y: Any) -> Any:
    return _modulo(g, x, number(g, y, x.dtype), s.out.dtype)


@lower("remainder_of_number")
def _remainder_of_number(g: Any, s: Any, y: V, x: Any) -> Any:
    return _modulo(g, number(g, x, y.dtype), y, s.out.dtype)


@lower("fmod")
def _fmod(g: Any, s: Any, x: Any, y: Any) -> Any:
    return g.op("Mod", *operands(g, (x, y)), fmod=1)


@lower("fmod_scalar")
def _fmod_scalar(g: Any, s: Any, x: V, y: Any) -> Any:
    return g.op("Mod", x, number(g, y, x.dtype), fmod=1)


@lower("pow")
def _pow(g: Any, s: Any, x: Any, y: Any) -> Any:
    return g.op("Pow", *operands(g, (x, y)))


@lower("pow_scalar")
def _pow_scalar(g: Any, s: Any, x: V, exponent: Any) -> Any:
    known = {
        2: lambda: g.op("Mul", x, x),
        0.5: lambda: g.op("Sqrt", x),
        1: lambda: g.op("Identity", x),
    }
    if not isinstance(exponent, (int, float)) or exponent not in known:
        return g.op("Pow", x, number(g, exponent, x.dtype))
    return known[exponent]()


@lower("pow_base")
def _pow_base(g: Any, s: Any, y: V, base: Any) -> Any:
    return g.op("Pow", number(g, base, y.dtype), y)


@lower("maximum", "fmax", "clamp_min_tensor")
def _maximum(g: Any, s: Any, x: Any, y: Any) -> Any:
    return _extreme(g, s, "Max", "Greater", x, y)


@lower("minimum", "fmin", "clamp_max_tensor")
def _minimum(g: Any, s: Any, x: Any, y: Any) -> Any:
    return _extreme(g, s, "Min", "Less", x, y)


def _extreme(g: Any, s: Any, kind: str, beats: str, x: Any, y: Any) -> Any:
    x, y = operands(g, (x, y))
    if s.out.dtype.kind == "b":
        return g.op("Or" if kind == "Max" else "And", x, y)
    if s.name in ("fmax", "fmin") and s.out.dtype.kind == "f":
        first = g.op("Or", g.op("IsNaN", y), g.op(beats, x, y))
        return g.op("Where", first, x, y)
    return g.op(kind, x, y)


@lower("clamp", "clamp_min", "clamp_max")
def _clamp(g: Any, s: Any, x: V, lo: Any, hi: Any) -> Any:
    return g.op("Clip", x, *(number(g, b, x.dtype) for b in (lo, hi)))


@lower("clamp_tensor")
def _clamp_tensor(g: Any, s: Any, x: Any, lo: Any, hi: Any) -> Any:
    x, lo, hi = operands(g, (x, lo, hi))
    return g.op("Min", g.op("Max", x, lo), hi)


@lower("lerp")
def _lerp(g: Any, s: Any, x: V, y: V, weight: Any) -> Any:
    return g.op("Add", x, g.op("Mul", number(g, weight, x.dtype), g.op("Sub", y, x)))


@lower("lerp_scalar")
def _lerp_scalar(g: Any, s: Any, x: V, y: V, weight: Any) -> Any:
    return _lerp(g, s, x, y, weight)


@lower("addcmul", "addcdiv")
def _addc(g: Any, s: Any, x: V, a: V, b: V, value: Any) -> Any:
    part = g.op("Mul" if s.name == "addcmul" else "Div", a, b)
    return g.op("Add", x, g.op("Mul", part, number(g, value, s.out.dtype)))


@lower("hypot")
def _hypot(g: Any, s: Any, x: V, y: V) -> Any:
    big = g.op("Max", g.op("Abs", x), g.op("Abs", y))
    small = g.op("Min", g.op("Abs", x), g.op("Abs", y))
    zero, one = number(g, 0, x.dtype), number(g, 1, x.dtype)
    ratio = g.op("Where", g.op("Equal", big, zero), zero, g.op("Div", small, big))
    return g.op("Mul", big, g.op("Sqrt", g.op("Add", one, g.op("Mul", ratio, ratio))))


@lower("atan2")
def _atan2(g: Any, s: Any, x: Any, y: Any) -> Any:
    """`x` is the height, `y` the width, as in atan2(height, width)."""
    x, y = operands(g, (x, y))
    kind = s.out.dtype
    zero, pi = number(g, 0, kind), number(g, math.pi, kind)
    flat = g.op("Equal", y, zero)
    angle = g.op("Atan", g.op("Div", x, g.op("Where", flat, number(g, 1, kind), y)))
    turned = g.op("Where", g.op("Less", x, zero), g.op("Neg", pi), pi)
    left = g.op("Where", g.op("Less", y, zero), g.op("Add", angle, turned), angle)
    upright = g.op("Mul", g.op("Sign", x), number(g, math.pi / 2, kind))
    return g.op("Where", flat, upright, left)


@lower("copysign")
def _copysign(g: Any, s: Any, x: Any, y: Any) -> Any:
    x, y = operands(g, (x, y))
    size = g.op("Abs", x)
    return g.op("Where", _is_negative(g, y, s.out.dtype), g.op("Neg", size), size)


@lower("copysign_scalar")
def _copysign_scalar(g: Any, s: Any, x: V, y: Any) -> Any:
    size = g.op("Abs", x)
    return g.op("Neg", size) if math.copysign(1, y) < 0 else size


def _is_negative(g: Any, y: Any, kind: Any) -> Any:
    """The sign bit, of zeros too: 1 / -0 is minus infinity."""
    zero = number(g, 0, kind)
    one = number(g, 1, kind)
    is_zero = g.op("Equal", y, zero)
    # A nonzero number has its own sign, and zero that of its reciprocal.
    told = g.op("Where", is_zero, g.op("Reciprocal", g.op("Where", is_zero, y, one)), y)
    return g.op("Less", told, zero)


@lower("heaviside")
def _heaviside(g: Any, s: Any, x: Any, values: Any) -> Any:
    x, values = operands(g, (x, values))
    zero = number(g, 0, s.out.dtype)
    step = g.cast(g.op("Greater", x, zero), s.out.dtype)
    return g.op("Where", g.op("Equal", x, zero), values, step)


@lower("nan_to_num")
def _nan_to_num(g: Any, s: Any, x: V, nan: Any, posinf: Any, neginf: Any) -> Any:
    if x.dtype.kind != "f":
        return g.op("Identity", x)
    info = np.finfo(x.dtype)
    for kind, value, attributes in (
        ("IsNaN", 0.0 if nan is None else nan, {}),
        ("IsInf", info.max if posinf is None else posinf, {"detect_negative": 0}),
        ("IsInf", info.min if neginf is None else neginf, {"detect_positive": 0}),
    ):
        x = g.op("Where", g.op(kind, x, **attributes), number(g, value, s.out.dtype), x)
    return x


# ---- functions ---------------------------------------------------------------------------------------


@lower("rsqrt")
def _rsqrt(g: Any, s: Any, x: V) -> Any:
    return g.op("Reciprocal", g.op("Sqrt", x))


@lower("exp2")
def _exp2(g: Any, s: Any, x: V) -> Any:
    return g.op("Pow", number(g, 2, x.dtype), x)


@lower("log2", "log10")
def _log_to(g: Any, s: Any, x: V) -> Any:
    return g.op("Div", g.op("Log", x), number(g, math.log(int(s.name[3:])), x.dtype))


def log1p(g: Any, x: Any, kind: Any) -> Any:
    """`log(u) x / (u - 1)` for u = 1 + x: the rounding error of u cancels."""
    one = number(g, 1, kind)
    u = g.op("Add", x, one)
    small = g.op("Equal", u, one)
    away = g.op("Or", small, g.op("IsInf", u))
    v = g.op("Where", away, number(g, 2, kind), g.op("Sub", u, one))
    exact = g.op("Mul", g.op("Log", u), g.op("Div", g.op("Where", away, v, x), v))
    return g.op("Where", small, x, exact)


@lower("log1p")
def _log1p(g: Any, s: Any, x: V) -> Any:
    return log1p(g, x, x.dtype)


@lower("expm1")
def _expm1(g: Any, s: Any, x: V) -> Any:
    """`(u - 1) x / log(u)` for u = exp(x), where x is small."""
    one = number(g, 1, x.dtype)
    u = g.op("Exp", x)
    less = g.op("Sub", u, one)
    flat = g.op("Equal", u, one)
    log = g.op("Log", g.op("Where", flat, number(g, 2, x.dtype), u))
    near = g.op("Less", g.op("Abs", x), number(g, 0.5, x.dtype))
    exact = g.op("Where", flat, x, g.op("Div", g.op("Mul", less, x), log))
    return g.op("Where", near, exact, less)


@lower("erfc")
def _erfc(g: Any, s: Any, x: V) -> Any:
    return g.op("Sub", number(g, 1, x.dtype), g.op("Erf", x))


@lower("special_ndtr")
def _ndtr(g: Any, s: Any, x: V) -> Any:
    half = number(g, 0.5, x.dtype)
    bell = g.op("Erf", g.op("Mul", x, number(g, math.sqrt(0.5), x.dtype)))
    return g.op("Add", half, g.op("Mul", half, bell))


@lower("deg2rad", "rad2deg")
def _turned(g: Any, s: Any, x: V) -> Any:
    return g.op(
        "Mul", x, number(g, math.pi / 180 if s.name == "deg2rad" else 180 / math.pi, x.dtype)
    )


@lower("sinc")
def _sinc(g: Any, s: Any, x: V) -> Any:
    zero, one = number(g, 0, x.dtype), number(g, 1, x.dtype)
    at_zero = g.op("Equal", x, zero)
    y = g.op("Mul", g.op("Where", at_zero, one, x), number(g, math.pi, x.dtype))
    return g.op("Where", at_zero, one, g.op("Div", g.op("Sin", y), y))


@lower("logaddexp")
def _logaddexp(g: Any, s: Any, x: V, y: V) -> Any:
    kind = s.out.dtype
    same = g.op("Equal", x, y)  # infinities, too
    apart = g.op("Where", same, number(g, 0, kind), g.op("Abs", g.op("Sub", x, y)))
    return g.op("Add", g.op("Max", x, y), log1p(g, g.op("Exp", g.op("Neg", apart)), kind))


@lower("logaddexp2")
def _logaddexp2(g: Any, s: Any, x: V, y: V) -> Any:
    kind = s.out.dtype
    same = g.op("Equal", x, y)
    apart = g.op("Where", same, number(g, 0, kind), g.op("Abs", g.op("Sub", x, y)))
    rest = log1p(g, g.op("Pow", number(g, 2, kind), g.op("Neg", apart)), kind)
    return g.op("Add", g.op("Max", x, y), g.op("Mul", rest, number(g, 1 / math.log(2), kind)))


@lower("special_entr")
def _entr(g: Any, s: Any, x: V) -> Any:
    zero = number(g, 0, s.out.dtype)
    inside = g.op("Neg", g.op("Mul", x, g.op("Log", x)))
    found = g.op("Where", g.op("Equal", x, zero), zero, inside)
    return g.op("Where", g.op("Less", x, zero), number(g, -math.inf, s.out.dtype), found)


@lower("ldexp")
def _ldexp(g: Any, s: Any, x: V, y: V, kind: Any = None) -> Any:
    two = number(g, 2, s.out.dtype)
    return g.op("Mul", g.cast(x, s.out.dtype), g.op("Pow", two, g.cast(y, s.out.dtype)))


def _xlogy(g: Any, x: Any, y: Any, kind: Any) -> Any:
    zero = number(g, 0, kind)
    nothing = g.op("And", g.op("Equal", x, zero), g.op("Not", g.op("IsNaN", y)))
    return g.op("Where", nothing, zero, g.op("Mul", x, g.op("Log", y)))


@lower("xlogy")
def _xlogy_of_tensors(g: Any, s: Any, x: V, y: V) -> Any:
    return _xlogy(g, x, y, s.out.dtype)


@lower("xlogy_of_number")
def _xlogy_of_number(g: Any, s: Any, y: V, x: Any) -> Any:
    return _xlogy(g, number(g, x, y.dtype), y, s.out.dtype)


@lower("xlogy_by_number")
def _xlogy_by_number(g: Any, s: Any, x: V, y: Any) -> Any:
    return _xlogy(g, x, number(g, y, x.dtype), s.out.dtype)


@lower("logit")
def _logit(g: Any, s: Any, x: V, eps: Any) -> Any:
    if eps is not None:
        x = g.op("Clip", x, number(g, eps, s.out.dtype), number(g, 1 - eps, s.out.dtype))
    return g.op("Log", g.op("Div", x, g.op("Sub", number(g, 1, s.out.dtype), x)))
