"""What each elementwise function is in instructions, by the name of NumPy's ufunc.

Arithmetic, comparisons, rounding and logic give NumPy's bits. The functions of `vector_math` are
polynomials within two units in the last place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import vector_math
from .algebra import Term, where
from .code import Code
from .types import (
    BOOL,
    FLOAT32,
    Value,
    convert,
    is_bfloat16,
    is_float,
    is_half,
    is_known,
    is_signed,
)

Rule = Callable[..., Term]


def _either(of_floats: Rule, of_integers: Rule, of_bools: Rule | None = None) -> Rule:
    def rule(*terms: Term) -> Term:
        kind = terms[0].dtype.kind
        if kind == "b" and of_bools is not None:
            return of_bools(*terms)
        return (of_floats if terms[0].is_float else of_integers)(*terms)

    return rule


def _extreme(how: str, ignores_nan: bool) -> Rule:
    def rule(x: Term, y: Term) -> Term:
        if x.dtype.kind == "b":
            return x | y if how == "gt" else x & y
        if not x.is_float:
            return where(x.compare(how, y), x, y)
        wanted = where(x.compare(how, y), x, y)  # y if one of them is NaN
        if ignores_nan:
            return where(y.is_nan(), x, wanted)
        return where(x.is_nan(), x, wanted)

    return rule


def _sign(x: Term) -> Term:
    one = where(x.compare("gt", 0), x.like(1), 0)
    if x.is_float:
        signed = where(x.compare("lt", 0), x.like(-1), one)
        return where(x.is_nan(), x, signed)
    return where(x.compare("lt", 0), x.like(-1), one) if is_signed(x.dtype) else one


def _divide_integers(x: Term, y: Term) -> Term:
    """Rounded down; 0 where the divisor is 0, as NumPy answers."""
    quotient, remainder = _quotient(x, y)
    if is_signed(x.dtype):
        lower = remainder.compare("ne", 0) & (remainder ^ y).compare("lt", 0)
        quotient = where(lower, quotient - 1, quotient)
    return where(y.compare("eq", 0), x.like(0), quotient)


def _remainder_integers(x: Term, y: Term) -> Term:
    _, remainder = _quotient(x, y)
    if is_signed(x.dtype):
        lower = remainder.compare("ne", 0) & (remainder ^ y).compare("lt", 0)
        remainder = where(lower, remainder + y, remainder)
    return where(y.compare("eq", 0), x.like(0), remainder)


def _quotient(x: Term, y: Term) -> tuple[Term, Term]:
    """Rounded to zero, with a divisor that never traps."""
    safe = where(y.compare("eq", 0), y.like(1), y)
    if not is_signed(x.dtype):
        return x.integer("udiv", safe), x.integer("urem", safe)
    lowest = int(np.iinfo(x.dtype).min)
    trap = x.compare("eq", lowest) & y.compare("eq", -1)
    safe = where(trap, y.like(1), safe)
    return x.integer("sdiv", safe), x.integer("srem", safe)


def _fmod(x: Term, y: Term) -> Term:
    return (
        x.integer("frem", y)
        if x.is_float
        else where(y.compare("eq", 0), x.like(0), _quotient(x, y)[1])
    )


def _modulo(x: Term, y: Term) -> tuple[Term, Term]:
    """The remainder with the divisor's sign, and the quotient rounded down, as Python has them."""
    rest = x.integer("frem", y)
    whole = (x - rest) / y
    lower = rest.compare("ne", 0) & (y.compare("lt", 0) ^ rest.compare("lt", 0))
    nonzero = rest.compare("ne", 0)
    whole = where(lower, whole - 1.0, whole)
    result = where(lower, rest + y, where(nonzero, rest, y.like(0).call("copysign", y)))
    down = whole.call("floor")
    down = where((whole - down).compare("gt", 0.5), down + 1.0, down)
    down = where(whole.compare("ne", 0), down, (x / y).like(0).call("copysign", x / y))
    by_zero = y.compare("eq", 0)
    return where(by_zero, rest, result), where(by_zero, x / y, down)


def _power(x: Term, y: Term) -> Term:
    if x.is_float:
        return vector_math.power(x, y)
    result, base, left = x.like(1), x, y
    exponent = y.value.number()
    bits = 8 * x.dtype.itemsize if exponent is None else int(exponent).bit_length()
    for bit in range(bits):
        odd = (left & 1).compare("eq", 1)
        result = where(odd, result * base, result)
        if bit < bits - 1:
            base = base * base
            left = left.integer("lshr", 1)
    return result


def _heaviside(x: Term, y: Term) -> Term:
    step = where(x.compare("gt", 0), x.like(1), where(x.compare("eq", 0), y, x.like(0)))
    return where(x.is_nan(), x, step)


def _shift(name: str) -> Rule:
    def rule(x: Term, y: Term) -> Term:
        width = 8 * x.dtype.itemsize
        outside = Term(
            x.code,
            Value(
                x.code.new(f"icmp uge {y.value.typed}, {y.like(width).value.text}"), BOOL, x.lanes
            ),
        )
        if name == "right" and is_signed(x.dtype):
            return x.integer("ashr", where(outside, y.like(width - 1), y))
        safe = where(outside, y.like(0), y)
        return where(outside, x.like(0), x.integer("shl" if name == "left" else "lshr", safe))

    return rule


def _compare(how: str) -> Rule:
    return lambda x, y: x.compare(how, y)


def _infinite(x: Term) -> Term:
    return x.abs().compare("eq", np.inf)


def _truths(combine: Rule) -> Rule:
    return lambda *terms: combine(*(x.to(BOOL) for x in terms))


RULES: dict[str, Rule] = {
    "add": _either(Term.__add__, Term.__add__, Term.__or__),
    "subtract": Term.__sub__,
    "multiply": _either(Term.__mul__, Term.__mul__, Term.__and__),
    "divide": Term.__truediv__,
    "negative": Term.__neg__,
    "positive": lambda x: x,
    "conjugate": lambda x: x,
    "absolute": Term.abs,
    "fabs": Term.abs,
    "square": lambda x: x * x if x.dtype.kind != "b" else x,
    "reciprocal": _either(lambda x: 1.0 / x, lambda x: _divide_integers(x.like(1), x)),
    "sqrt": lambda x: x.call("sqrt"),
    "sign": _sign,
    "floor": _either(lambda x: x.call("floor"), lambda x: x),
    "ceil": _either(lambda x: x.call("ceil"), lambda x: x),
    "trunc": _either(lambda x: x.call("trunc"), lambda x: x),
    "rint": _either(lambda x: x.call("roundeven"), lambda x: x),
    "maximum": _extreme("gt", False),
    "minimum": _extreme("lt", False),
    "fmax": _extreme("gt", True),
    "fmin": _extreme("lt", True),
    "copysign": lambda x, y: x.call("copysign", y),
    "signbit": lambda x: x.bits().compare("lt", 0),
    "isnan": _either(Term.is_nan, lambda x: x.like(False, BOOL)),
    "isinf": _either(_infinite, lambda x: x.like(False, BOOL)),
    "isfinite": _either(lambda x: x.abs().compare("lt", np.inf), lambda x: x.like(True, BOOL)),
    "logical_and": _truths(Term.__and__),
    "logical_or": _truths(Term.__or__),
    "logical_xor": _truths(Term.__xor__),
    "logical_not": _truths(Term.__invert__),
    "bitwise_and": Term.__and__,
    "bitwise_or": Term.__or__,
    "bitwise_xor": Term.__xor__,
    "invert": Term.__invert__,
    "left_shift": _shift("left"),
    "right_shift": _shift("right"),
    "floor_divide": _either(lambda x, y: _modulo(x, y)[1], _divide_integers),
    "remainder": _either(lambda x, y: _modulo(x, y)[0], _remainder_integers),
    "fmod": _fmod,
    "power": _power,
    "heaviside": _heaviside,
    "where": where,
    "cast": lambda x: x,
    "deg2rad": lambda x: x * (np.pi / 180.0),
    "rad2deg": lambda x: x * (180.0 / np.pi),
    "greater": _compare("gt"),
    "greater_equal": _compare("ge"),
    "less": _compare("lt"),
    "less_equal": _compare("le"),
    "equal": _compare("eq"),
    "not_equal": _compare("ne"),
    **vector_math.RULES,
}
_FLOATS_ONLY = {"divide", "sqrt", "copysign", "signbit", "heaviside", "deg2rad", "rad2deg", "fabs"}
_FLOATS_ONLY |= set(vector_math.RULES)


def cannot(function: str, loop: tuple[Any, ...]) -> str | None:
    """Why a function in these dtypes has no rule, or None if it has one."""
    if function not in RULES:
        return f"no rule for {function}"
    for dtype in loop:
        if not is_known(dtype):
            return "complex numbers" if dtype.kind == "c" else f"no rule for {dtype}"
    inputs = loop[:-1]
    if function in _FLOATS_ONLY and not is_float(inputs[0]):
        return f"no rule for {function} of {inputs[0]}"
    if function == "power" and not is_float(inputs[0]) and len(set(inputs)) > 1:
        return "whole numbers to a power of another dtype"
    alike = inputs[1:] if function == "where" else inputs
    if function not in ("cast", "logical_and", "logical_or", "logical_xor") and len(set(alike)) > 1:
        return f"{function} of different dtypes"
    return None


def apply(code: Code, function: str, values: list[Value], loop: tuple[Any, ...]) -> Value:
    """The instructions of a function on values of its loop's dtypes; half precision by way of float32."""
    rule = RULES[function]
    if function == "cast":
        return convert(code, values[0], loop[-1])
    halves = any(is_half(v.dtype) for v in values)
    terms = [Term(code, convert(code, v, FLOAT32) if is_half(v.dtype) else v) for v in values]
    result = rule(*terms).value
    if function == "sign" and is_bfloat16(loop[-1]):  # keeps the sign of zero, in ml_dtypes
        result = Term(code, result).call("copysign", terms[0]).value
    if halves and is_float(result.dtype):
        return convert(code, result, loop[-1])
    return result if result.dtype == loop[-1] else convert(code, result, loop[-1])
