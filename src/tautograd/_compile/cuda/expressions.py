"""What each elementwise function is in C, by the name of NumPy's ufunc: an expression of operands a, b, c.

`T` is the type that the function computes in. Each operation is rounded by itself, as NumPy's are (the
kernels are compiled without contraction); functions beyond arithmetic are CUDA's own, of one or two units in
the last place.
"""

from __future__ import annotations

from typing import Any

from ..native.llvm.scalar_ops import cannot as cannot_natively
from ..native.llvm.types import is_bfloat16, is_half
from .scalars import FLOAT32, converted, is_float, register

_NAN_FIRST = "(a != a || a {how} b) ? a : b"
_NAN_LAST = "(b != b || a {how} b) ? a : b"

# Of floats, or of any numbers where nothing else is said.
EXPRESSIONS: dict[str, str] = {
    "add": "a + b",
    "subtract": "a - b",
    "multiply": "a * b",
    "divide": "a / b",
    "negative": "-a",
    "positive": "a",
    "conjugate": "a",
    "absolute": "fabs(a)",
    "fabs": "fabs(a)",
    "square": "a * a",
    "reciprocal": "(T)1 / a",
    "sqrt": "sqrt(a)",
    "sign": "a != a ? a : (T)((a > (T)0) - (a < (T)0))",
    "floor": "floor(a)",
    "ceil": "ceil(a)",
    "trunc": "trunc(a)",
    "rint": "rint(a)",
    "maximum": _NAN_FIRST.format(how=">"),
    "minimum": _NAN_FIRST.format(how="<"),
    "fmax": _NAN_LAST.format(how=">"),
    "fmin": _NAN_LAST.format(how="<"),
    "copysign": "copysign(a, b)",
    "signbit": "signbit(a) != 0",
    "isnan": "a != a",
    "isinf": "fabs(a) == (T)WITHOUT_END",
    "isfinite": "fabs(a) < (T)WITHOUT_END",
    "logical_and": "a && b",
    "logical_or": "a || b",
    "logical_xor": "a != b",
    "logical_not": "!a",
    "floor_divide": "floored(a, b)",
    "remainder": "modulo(a, b)",
    "fmod": "fmod(a, b)",
    "power": "pow(a, b)",
    "heaviside": "a != a ? a : a > (T)0 ? (T)1 : a == (T)0 ? b : (T)0",
    "where": "a ? b : c",
    "deg2rad": "a * (T)0.017453292519943295",
    "rad2deg": "a * (T)57.29577951308232",
    "greater": "a > b",
    "greater_equal": "a >= b",
    "less": "a < b",
    "less_equal": "a <= b",
    "equal": "a == b",
    "not_equal": "a != b",
    "arcsin": "asin(a)",
    "arccos": "acos(a)",
    "arctan": "atan(a)",
    "arcsinh": "asinh(a)",
    "arccosh": "acosh(a)",
    "arctanh": "atanh(a)",
    "arctan2": "atan2(a, b)",
    "expit": "(T)1 / ((T)1 + exp(-a))",
    "logaddexp": "added_exponents(a, b)",
    "xlogy": "(a == (T)0 && b == b) ? (T)0 : a * log(b)",
    "log_expit": "(a > (T)0 ? (T)0 : a) - log1p(exp(-fabs(a)))",
    **{
        name: f"{name}(a)"
        for name in (
            *("exp", "exp2", "expm1", "tanh", "sinh", "cosh", "log", "log1p", "log2", "log10"),
            *("sin", "cos", "tan", "erf", "erfc", "cbrt"),
        )
    },
    "hypot": "hypot(a, b)",
}
_OF_INTEGERS: dict[str, str] = {
    "absolute": "a < (T)0 ? (T)-a : a",
    "negative": "(T)((T)0 - a)",
    "reciprocal": "whole_quotient((T)1, a)",
    "sign": "(T)((a > (T)0) - (a < (T)0))",
    **dict.fromkeys(("floor", "ceil", "trunc", "rint"), "a"),
    "maximum": "a > b ? a : b",
    "minimum": "a < b ? a : b",
    "fmax": "a > b ? a : b",
    "fmin": "a < b ? a : b",
    "isnan": "false",
    "isinf": "false",
    "isfinite": "true",
    "bitwise_and": "a & b",
    "bitwise_or": "a | b",
    "bitwise_xor": "a ^ b",
    "invert": "~a",
    "left_shift": "shifted_left(a, b)",
    "right_shift": "shifted_right(a, b)",
    "floor_divide": "whole_quotient(a, b)",
    "remainder": "whole_rest(a, b)",
    "fmod": "c_rest(a, b)",
    "power": "whole_power(a, b)",
}
_OF_BOOLS: dict[str, str] = {
    "add": "a || b",
    "multiply": "a && b",
    "maximum": "a || b",
    "minimum": "a && b",
    "fmax": "a || b",
    "fmin": "a && b",
    "absolute": "a",
    "square": "a",
    "positive": "a",
    "invert": "!a",
    "bitwise_and": "a && b",
    "bitwise_or": "a || b",
    "bitwise_xor": "a != b",
}
_SMALL_POWERS = {1.0: "a", 2.0: "a * a", -1.0: "(T)1 / a", 0.5: "sqrt(a)"}


def expression(function: str, dtype: Any, exponent: float | None = None) -> str | None:
    """The expression of a function that computes in a dtype; of a power, a simple one for some exponents."""
    if function == "power" and is_float(dtype) and exponent in _SMALL_POWERS:
        return _SMALL_POWERS[exponent]
    if dtype.kind == "b" and function in _OF_BOOLS:
        return _OF_BOOLS[function]
    if not is_float(dtype) and function in _OF_INTEGERS:
        return None if dtype.kind == "b" else _OF_INTEGERS[function]
    return EXPRESSIONS.get(function)


def cannot(function: str, loop: tuple[Any, ...]) -> str | None:
    """Why a function in these dtypes has no expression, or None if it has one."""
    why = cannot_natively(function, loop)
    if why is not None or function == "cast":
        return why
    if expression(function, _computed_in(function, loop)) is None:
        return f"no rule for {function} of {loop[0]}"
    return None


def _computed_in(function: str, loop: tuple[Any, ...]) -> Any:
    dtype = loop[1] if function == "where" else loop[0]
    return FLOAT32 if is_half(dtype) else dtype


_TRUTHS = frozenset(("logical_and", "logical_or", "logical_xor", "logical_not"))


def applied(
    function: str, values: list[str], loop: tuple[Any, ...], exponent: float | None = None
) -> str:
    """A function of values of its loop's dtypes, as an expression of its result's dtype."""
    result = loop[-1]
    if function == "cast":
        return converted(values[0], loop[0], result)
    dtype = _computed_in(function, loop)
    if function in _TRUTHS:
        values = [f"({v} != 0)" for v in values]
    kind = register(dtype)
    text = expression(function, dtype, exponent)
    assert text is not None
    if function == "sign" and is_bfloat16(result):  # keeps the sign of zero, in ml_dtypes
        text = f"copysign((T)({text}), a)"
    names = dict(zip("abc", values, strict=False))
    found = _filled(text, names, kind)
    gives_bool = result.kind == "b"
    given = result if gives_bool else dtype
    return converted(f"({found})" if gives_bool else f"(({kind})({found}))", given, result)


def _filled(text: str, names: dict[str, str], kind: str) -> str:
    """An expression with its operands and its type put in."""
    out: list[str] = []
    word = ""
    for character in [*text, " "]:
        if character.isalnum() or character == "_":
            word += character
            continue
        if word:
            out.append(kind if word == "T" else names.get(word, word))
            word = ""
        out.append(character)
    return "".join(out).rstrip()
