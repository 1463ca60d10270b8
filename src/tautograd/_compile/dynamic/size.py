"""A whole number that depends on sizes: a polynomial in symbols, of which one value is known as an example.

Lowering computes with it as with any other number. What it computes is exact, for every value of the symbols. What
it decides (`if n % 16`, `a == b`) is decided as it is for all values from `LEAST` on, where that can be proved, and
else as it is for the example; then the decision is noted in `Ways`, and what was lowered holds only for sizes that
decide alike. A decision that is a matter of speed alone is made by the example (`example`), and noted nowhere. So a
number cannot lose its symbol in silence: whoever needs a plain one (`range`, `int`) gets an error, `NotSymbolic`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Numbers in a kernel's text that stand for sizes begin with these digits. (4607182418800017408 is a double's 1.0.)
PREFIX = "87654321"
TOKEN = int(PREFIX) * 10**11
LEAST = 2  # sizes of 0 and 1 mean other things (nothing to do, broadcasting): they have records of their own
Monomial = tuple[tuple[Any, int], ...]  # atoms with their powers, in order
Terms = tuple[tuple[Monomial, int], ...]


class NotSymbolic(Exception):
    """Something that does not go on with a symbol in place of a number; what."""


class Ways:
    """How the symbols' example decided what depends on their values."""

    def __init__(self, example: Mapping[str, int]) -> None:
        self.example = dict(example)
        self.noted: dict[tuple[str, Any], bool] = {}
        self._proved: dict[tuple[str, Any], bool | None] = {}
        self.tokens: list[Size] = []  # as they stand in the text of a kernel
        self._token_of: dict[Terms, str] = {}

    def decides(self, relation: str, terms: Any, value: int) -> bool:
        """Whether a number is 0 (`==`) or less than 0 (`<`)."""
        key = relation, terms
        if key not in self._proved:
            self._proved[key] = _proved(relation, terms)
        found = self._proved[key]
        if found is None:
            found = self.noted[key] = value == 0 if relation == "==" else value < 0
        return found

    def token(self, size: Size) -> str:
        """What stands for a size in the text of a kernel until its numbers are taken out of it."""
        found = self._token_of.get(size.terms)
        if found is None:
            found = self._token_of[size.terms] = str(TOKEN + len(self.tokens))
            self.tokens.append(size)
        return found

    def of_token(self, number: int) -> Any:
        """The size that a number stands for; any other number is itself."""
        place = number - TOKEN
        return self.tokens[place] if 0 <= place < len(self.tokens) else number


class Size:
    """A number that is not known yet; see the module."""

    __slots__ = ("terms", "value", "ways")

    def __init__(self, terms: Terms, value: int, ways: Ways) -> None:
        self.terms = terms
        self.value = value
        self.ways = ways

    @classmethod
    def symbol(cls, name: str, ways: Ways) -> Size:
        return cls(((((name, 1),), 1),), ways.example[name], ways)

    # --- what stays exact --------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        if type(other) is int:
            if not other:
                return self
            return _of(_sum(self.terms, _whole(other)), self.value + other, self.ways)
        if type(other) is Size:
            return _of(_sum(self.terms, other.terms), self.value + other.value, self.ways)
        return NotImplemented

    __radd__ = __add__

    def __neg__(self) -> Any:
        return Size(tuple([(m, -c) for m, c in self.terms]), -self.value, self.ways)

    def __sub__(self, other: Any) -> Any:
        return self + -other if isinstance(other, (int, Size)) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if type(other) is int:
            if other == 1:
                return self
            if not other:
                return 0
            return Size(
                tuple([(m, c * other) for m, c in self.terms]), self.value * other, self.ways
            )
        if type(other) is Size:
            return _of(_product(self.terms, other.terms), self.value * other.value, self.ways)
        return NotImplemented

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        exact = _quotient(self.terms, _terms(other))
        if exact is not None:
            return _of(exact, self.value // plain(other), self.ways)
        if type(other) is not int or other <= 0:
            raise NotSymbolic(f"({self.text()}) // {other}")
        return self._atom("//", other)

    def __mod__(self, other: Any) -> Any:
        if _quotient(self.terms, _terms(other)) is not None:
            return 0
        if type(other) is not int or other <= 0:
            raise NotSymbolic(f"({self.text()}) % {other}")
        rest = tuple([(m, c % other) for m, c in self.terms if c % other])
        if not any(m for m, _ in rest):
            return sum(c for _, c in rest) % other
        return self._atom("%", other)

    def __rfloordiv__(self, other: Any) -> Any:
        raise NotSymbolic(f"{other} // ({self.text()})")

    def __rmod__(self, other: Any) -> Any:
        raise NotSymbolic(f"{other} % ({self.text()})")

    def _atom(self, operator: str, other: int) -> Size:
        value = self.value // other if operator == "//" else self.value % other
        atom = operator, self.terms, other
        return Size(((((atom, 1),), 1),), value, self.ways)

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    # --- what is decided ---------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if type(other) is Size:
            if other.terms == self.terms:
                return True
        elif not isinstance(other, int):
            return NotImplemented
        less = self - other
        if type(less) is int:
            return less == 0
        return bool(self.ways.decides("==", less.terms, less.value))

    def __hash__(self) -> int:
        return hash(self.value)

    def __lt__(self, other: Any) -> bool:
        less = self - other
        if type(less) is int:
            return less < 0
        return bool(self.ways.decides("<", less.terms, less.value))

    def __gt__(self, other: Any) -> bool:
        return bool(-self < -other)

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __bool__(self) -> bool:
        return self != 0

    # --- what needs a plain number -----------------------------------------------------------------

    def __index__(self) -> int:
        raise NotSymbolic(f"a place that needs {self.text()} as a number")

    __int__ = __float__ = __index__

    def __truediv__(self, other: Any) -> Any:
        raise NotSymbolic(f"({self.text()}) / {other}")

    __rtruediv__ = __truediv__

    def __str__(self) -> str:
        """As it stands in the text of a kernel: a number that stands for this one; see `Ways.token`."""
        return self.ways.token(self)

    def text(self) -> str:
        """As an expression in Python's language."""
        return text_of(self.terms)

    def __repr__(self) -> str:
        return self.text()


def plain(number: Any) -> Any:
    """A number as it is for the example."""
    return number.value if type(number) is Size else number


example = plain  # where a decision is a matter of speed alone


def is_number(text: str) -> bool:
    """Whether a text is a number that is known."""
    return text.isdigit() and len(text) < len(str(TOKEN))


def same(a: Any, b: Any) -> bool:
    """Whether two numbers, or two lists of numbers, are the same whatever the symbols are.

    Where only a gain in speed depends on it, this is what is asked: sizes that agree by coincidence say nothing.
    """
    if type(a) is tuple:
        return len(a) == len(b) and all(map(same, a, b))
    return _terms(a) == _terms(b) if type(a) is Size or type(b) is Size else bool(a == b)


def divides(number: Any, by: Any) -> bool:
    """Whether a number divides another one, whatever the symbols are."""
    if type(number) is int and type(by) is int:
        return number % by == 0
    return _quotient(_terms(number), _terms(by)) is not None


def _of(terms: Terms, value: int, ways: Ways) -> Any:
    """A number that may turn out to be a plain one."""
    if not terms:
        return 0
    if len(terms) == 1 and not terms[0][0]:
        return terms[0][1]
    return Size(terms, value, ways)


def _whole(number: int) -> Terms:
    return (((), number),) if number else ()


def _terms(number: Any) -> Terms:
    return number.terms if type(number) is Size else _whole(number)


def _sorted(found: dict[Monomial, int]) -> Terms:
    return tuple(sorted(((m, c) for m, c in found.items() if c), key=repr))


def _sum(a: Terms, b: Terms) -> Terms:
    found = dict(a)
    for monomial, count in b:
        found[monomial] = found.get(monomial, 0) + count
    return _sorted(found)


def _product(a: Terms, b: Terms) -> Terms:
    found: dict[Monomial, int] = {}
    for m, c in a:
        for n, d in b:
            both = _times(m, n)
            found[both] = found.get(both, 0) + c * d
    return _sorted(found)


def _times(a: Monomial, b: Monomial) -> Monomial:
    powers = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(((atom, p) for atom, p in powers.items() if p), key=repr))


def _quotient(a: Terms, b: Terms) -> Terms | None:
    """One polynomial by another that has a single term, if it divides each term; None otherwise."""
    if a == b:
        return _whole(1)
    if len(b) != 1:
        return None
    ((over, divisor),) = b
    inverse = tuple([(atom, -power) for atom, power in over])
    found = []
    for monomial, count in a:
        reduced = _times(monomial, inverse)
        if count % divisor or any(power < 0 for _, power in reduced):
            return None
        found.append((reduced, count // divisor))
    return _sorted(dict(found))


# --- proofs --------------------------------------------------------------------------------------------


def _proved(relation: str, terms: Terms) -> bool | None:
    """Whether a relation holds for all sizes from `LEAST` on; None if that is not known."""
    low, high = _bounds(terms)
    if relation == "<":
        if high is not None and high < 0:
            return True
        return False if low is not None and low >= 0 else None
    if (low is not None and low > 0) or (high is not None and high < 0):
        return False
    return None if _may_be_zero(terms) else False


def _may_be_zero(terms: Terms) -> bool:
    """Whether a polynomial can be zero at all: not if all but its constant term share a divisor which that lacks."""
    rest = [c for m, c in terms if m]
    constant = sum(c for m, c in terms if not m)
    common = 0
    for count in rest:
        while count:
            common, count = count, common % count
    return not common or constant % common == 0


def _bounds(terms: Terms) -> tuple[int | None, int | None]:
    """Between what a polynomial lies, with each symbol written as `LEAST` and what it is more."""
    shifted: dict[Monomial, int] = {}
    for monomial, count in terms:
        parts: dict[Monomial, int] = {(): count}
        for atom, power in monomial:
            for _ in range(power):
                grown: dict[Monomial, int] = {}
                for m, c in parts.items():
                    up = _times(m, ((atom, 1),))
                    grown[up] = grown.get(up, 0) + c
                    if type(atom) is str:
                        grown[m] = grown.get(m, 0) + LEAST * c
                parts = grown
        for m, c in parts.items():
            shifted[m] = shifted.get(m, 0) + c
    low: int | None = 0
    high: int | None = 0
    for monomial, count in shifted.items():
        if not count:
            continue
        least, most = _of_monomial(monomial)
        if count < 0:
            least, most = most, least
        low = None if low is None or least is None else low + count * least
        high = None if high is None or most is None else high + count * most
    return low, high


def _of_monomial(monomial: Monomial) -> tuple[int | None, int | None]:
    """The least and the most that a product of atoms, none of them negative, can be."""
    least: int | None = 1
    most: int | None = 1
    low: int | None
    high: int | None
    for atom, power in monomial:
        if type(atom) is str:
            low, high = 0, None
        else:
            operator, terms, other = atom
            if _bounds(terms)[0] is None:
                low, high = (None, None) if operator == "//" else (0, other - 1)
            else:
                low, high = 0, (None if operator == "//" else other - 1)
        for _ in range(power):
            least = None if least is None or low is None else least * low
            most = None if most is None or high is None else most * high
    return least, most


def least_and_most(number: Any) -> tuple[int | None, int | None]:
    """Between what a number lies for all sizes from `LEAST` on; None where there is no end, or none is known."""
    return _bounds(number.terms) if type(number) is Size else (number, number)


# --- text ----------------------------------------------------------------------------------------------


def text_of(terms: Terms) -> str:
    """A polynomial as an expression in Python's language."""
    parts = []
    for monomial, count in terms:
        factors = [name for atom, power in monomial for name in [_atom_text(atom)] * power]
        if count != 1 or not factors:
            factors.insert(0, str(count))
        parts.append("*".join(factors))
    return " + ".join(parts) or "0"


def _atom_text(atom: Any) -> str:
    if type(atom) is str:
        return atom
    operator, terms, other = atom
    return f"(({text_of(terms)}) {operator} {other})"
