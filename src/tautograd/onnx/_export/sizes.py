"""Numbers that differ from run to run: a batch size, a length, and all that Python computed from them.

A model is run at several sizes, and a `Size` holds a number's value in each of the runs. Arithmetic on it is
elementwise, so a lowering computes with a size as with an int. If a graph needs the
number at run time, `fitted` finds how to compute it from the dimensions of tensors that are available by then.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Number = Any  # an int, a float, or a Size


class Unclear(Exception):
    """A question about a size has different answers in different runs."""


class Size:
    """A number's value in each run."""

    __slots__ = ("values",)

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values

    def __repr__(self) -> str:
        return f"Size{self.values}"

    def __hash__(self) -> int:
        return hash(self.values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.values == other.values

    def _with(self, other: Number, do: Callable[[Any, Any], Any], turned: bool = False) -> Number:
        others = other.values if isinstance(other, Size) else (other,) * len(self.values)
        pairs = zip(self.values, others, strict=True)
        return of(do(b, a) if turned else do(a, b) for a, b in pairs)

    def _asked(self, other: Number, do: Callable[[Any, Any], bool]) -> bool:
        found = self._with(other, do)
        if isinstance(found, Size):
            raise Unclear(f"{self} beside {other}")
        return bool(found)

    def __add__(self, other: Number) -> Number:
        return self._with(other, operator.add)

    def __radd__(self, other: Number) -> Number:
        return self._with(other, operator.add, turned=True)

    def __sub__(self, other: Number) -> Number:
        return self._with(other, operator.sub)

    def __rsub__(self, other: Number) -> Number:
        return self._with(other, operator.sub, turned=True)

    def __mul__(self, other: Number) -> Number:
        return self._with(other, operator.mul)

    def __rmul__(self, other: Number) -> Number:
        return self._with(other, operator.mul, turned=True)

    def __floordiv__(self, other: Number) -> Number:
        return self._with(other, operator.floordiv)

    def __truediv__(self, other: Number) -> Number:
        return self._with(other, operator.truediv)

    def __mod__(self, other: Number) -> Number:
        return self._with(other, operator.mod)

    def __neg__(self) -> Number:
        return of(-v for v in self.values)

    def __lt__(self, other: Number) -> bool:
        return self._asked(other, operator.lt)

    def __le__(self, other: Number) -> bool:
        return self._asked(other, operator.le)

    def __gt__(self, other: Number) -> bool:
        return self._asked(other, operator.gt)

    def __ge__(self, other: Number) -> bool:
        return self._asked(other, operator.ge)


def of(values: Iterable[Any]) -> Number:
    """The number with these values in the runs: a plain one if it never differs."""
    found = tuple(values)
    first = found[0]
    if all(v == first and type(v) is type(first) for v in found[1:]):
        return first
    return Size(found)


def product(numbers: Iterable[Number]) -> Number:
    """The product of numbers, some of which may be sizes."""
    total: Number = 1
    for number in numbers:
        total = total * number
    return total


def is_fixed(numbers: Iterable[Number]) -> bool:
    """Whether none of them differs from run to run."""
    return not any(isinstance(n, Size) for n in numbers)


# ---- computing a size from others ------------------------------------------------------------------
# An expression is a tuple: ("dim", values), ("const", n), or (operator, left, right).

Expression = tuple[Any, ...]


def fitted(wanted: Size, known: Sequence[tuple[Any, ...]]) -> Expression | None:
    """How to compute a size from known dimensions, each given by its values in the runs.

    The simplest expression that gives the right number in every run; None if there is none.
    """
    v = wanted.values
    if v in known:
        return ("dim", v)
    if any(isinstance(n, float) for n in v):
        return _real(v, known)
    for a in known:
        found = _of_one(v, a)
        if found is not None:
            return found
    for i, a in enumerate(known):
        for b in known[i:]:
            found = _of_two(v, a, b)
            if found is not None:
                return found
    for i, a in enumerate(known):
        for j, b in enumerate(known[i:], i):
            both = tuple(x * y for x, y in zip(a, b, strict=True))
            for c in known[j:]:
                factor = _ratio(v, tuple(x * y for x, y in zip(both, c, strict=True)))
                if factor is not None:
                    whole = ("mul", ("mul", ("dim", a), ("dim", b)), ("dim", c))
                    return _times(whole, factor)
    return None


def _ratio(v: tuple[Any, ...], a: tuple[Any, ...]) -> int | None:
    """The integer that is `v / a` in every run."""
    if any(x == 0 for x in a) or any(y % x for x, y in zip(a, v, strict=True)):
        return None
    factors = {y // x for x, y in zip(a, v, strict=True)}
    return factors.pop() if len(factors) == 1 else None


def _times(expression: Expression, factor: int) -> Expression:
    return expression if factor == 1 else ("mul", expression, ("const", factor))


def _plus(expression: Expression, term: int) -> Expression:
    return expression if term == 0 else ("add", expression, ("const", term))


def _of_one(v: tuple[Any, ...], a: tuple[Any, ...]) -> Expression | None:
    """`p a + q`, or `a / d` rounded down or up."""
    pairs = sorted(set(zip(a, v, strict=True)))
    if len({x for x, _ in pairs}) < 2 or len({x for x, _ in pairs}) != len(pairs):
        return None
    (x0, y0), (x1, y1) = pairs[0], pairs[-1]
    if (y1 - y0) % (x1 - x0) == 0 and len(pairs) > 2:
        slope = (y1 - y0) // (x1 - x0)
        rest = y0 - slope * x0
        if slope and all(y == slope * x + rest for x, y in pairs):
            return _plus(_times(("dim", a), slope), rest)
    for d in range(2, 65):
        down = all(y == x // d for x, y in pairs)
        up = all(y == -(-x // d) for x, y in pairs)
        if down and (not up or all(x % d == 0 for x, _ in pairs)):
            return ("div", ("dim", a), ("const", d))
        if up and not down:
            return ("div", ("add", ("dim", a), ("const", d - 1)), ("const", d))
        least = max(y * d - x for x, y in pairs)
        most = min(y * d - x + d - 1 for x, y in pairs)
        if least == most:  # only one c satisfies `(a + c) / d`
            return ("div", ("add", ("dim", a), ("const", least)), ("const", d))
    return _of_rest(pairs, a)


def _of_rest(pairs: list[tuple[int, int]], a: tuple[Any, ...]) -> Expression | None:
    """`c + a % d`, `c - a % d`: the remainder to a multiple."""
    if len(pairs) < 3 or len({y for _, y in pairs}) < 2:
        return None
    for d in range(2, min(65, max(x for x, _ in pairs) + 1)):
        rest: Expression = ("mod", ("dim", a), ("const", d))
        for sign in (1, -1):
            shifts = {y - sign * (x % d) for x, y in pairs}
            if len(shifts) == 1:
                shift = shifts.pop()
                return _plus(rest, shift) if sign == 1 else ("sub", ("const", shift), rest)
    return None


def _of_two(v: tuple[Any, ...], a: tuple[Any, ...], b: tuple[Any, ...]) -> Expression | None:
    """`p a b + q`, `a + b + q`, `a - b + q`, `a b / d`."""
    both = tuple(x * y for x, y in zip(a, b, strict=True))
    factor = _ratio(v, both)
    if factor is not None:
        return _times(("mul", ("dim", a), ("dim", b)), factor)
    for sign, word in ((1, "add"), (-1, "sub")):
        rests = {y - p - sign * q for y, p, q in zip(v, a, b, strict=True)}
        if len(rests) == 1 and a != b:
            return _plus((word, ("dim", a), ("dim", b)), rests.pop())
    rests = {q - p for p, q in zip(a, b, strict=True)}
    rests = {y + p - q for y, p, q in zip(v, a, b, strict=True)}
    if len(rests) == 1 and a != b:
        return _plus(("sub", ("dim", b), ("dim", a)), rests.pop())
    for d in range(2, 17):
        if all(p % d == 0 and y == p // d for p, y in zip(both, v, strict=True)):
            return ("div", ("mul", ("dim", a), ("dim", b)), ("const", d))
    rests = {y - p for y, p in zip(v, both, strict=True)}
    return _plus(("mul", ("dim", a), ("dim", b)), rests.pop()) if len(rests) == 1 else None


def _real(v: tuple[Any, ...], known: Sequence[tuple[Any, ...]]) -> Expression | None:
    """`c (a + q)^p` for the usual powers."""
    for power in (1.0, -1.0, 0.5, -0.5):
        for a in known:
            for shift in (0, -1, 1):
                if any(x + shift <= 0 for x in a):
                    continue
                factors = [y / (x + shift) ** power for x, y in zip(a, v, strict=True)]
                spread = max(factors) - min(factors)
                if spread <= 1e-6 * abs(factors[0]) and len(set(a)) > 2:
                    return ("real", ("add", ("dim", a), ("const", shift)), power, factors[0])
    return None
