"""What is alike in records of one function at different sizes, and what depends on the sizes, and how.

Two records of a function are the same objects but for numbers: shapes, strides, distances, and constants such as 1/n.
Each number is either the same in all of them or an expression of the symbols, the least one that gives every record's
number exactly, with at least one record more than it has coefficients. Whatever fits no expression is `Unlike`: then
there is no program for all sizes, and why is said. A fit is a conjecture; what it is held against is in `trial.py`.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from ..optimizers.updates import Fixed, Update
from ..program.ir import View
from ..record.results import Given
from ..sound.arguments import same_value
from ..sound.lazy_array import Flags
from .size import Size, Ways

_PLAIN = (str, bytes, bool, type(None), type(Ellipsis), type)
_PLAIN_KINDS = frozenset((int, str, bool, float, type(None)))
_DONE_BY_VALUE = frozenset((int, str, bool))  # which are equal where they are the same


class Unlike(Exception):
    """Two records differ in something that no expression of sizes explains; in what."""


class Sized:
    """A float that depends on sizes: the expression of a whole number, what is done with it, and the dtype."""

    __slots__ = ("dtype", "form", "number", "of")

    def __init__(self, form: str, number: Any, of: Any, dtype: Any) -> None:
        self.form = form
        self.number = number  # a Size
        self.of = of  # what is divided or multiplied
        self.dtype = dtype

    def at(self, number: int) -> Any:
        return self.dtype.type(FORMS[self.form](float(number), self.of))


class Repeated:
    """A tuple or a list of one thing, as many times as a size says."""

    __slots__ = ("count", "kind", "part")

    def __init__(self, kind: type, part: Any, count: Any) -> None:
        self.kind = kind
        self.part = part
        self.count = count


class Tupled:
    """A tuple of a class that takes numbers only, as `torch.Size` does, with expressions among its parts."""

    __slots__ = ("kind", "parts")

    def __init__(self, kind: Any, parts: Any) -> None:
        self.kind = kind
        self.parts = parts


FORMS: dict[str, Callable[[float, float], float]] = {
    "n": lambda n, of: of * n,
    "1/n": lambda n, of: of / n,
    "n/(n-1)": lambda n, of: of * n / (n - 1),
    "sqrt": lambda n, of: of * math.sqrt(n),
    "1/sqrt": lambda n, of: of / math.sqrt(n),
}


class Fitting:
    """The symbols' values in each record, and the expressions that were found."""

    def __init__(self, values: Mapping[str, Sequence[int]], ways: Ways) -> None:
        self.symbols = {name: Size.symbol(name, ways) for name in values}
        self.values = {name: tuple(found) for name, found in values.items()}
        self.count = len(next(iter(self.values.values())))
        self._known: dict[tuple[int, ...], Any] = {}
        self._views: dict[tuple[View, ...], Any] = {}
        self._bases = self._monomials()

    def _monomials(self) -> list[tuple[Any, tuple[int, ...]]]:
        """Products of symbols, from the simplest on, with their values in each record."""
        names = list(self.symbols)
        found = [(self.symbols[name], self.values[name]) for name in names]
        for a, b in combinations(names, 2):
            both = tuple(x * y for x, y in zip(self.values[a], self.values[b], strict=True))
            found.append((self.symbols[a] * self.symbols[b], both))
        for base, values in list(found):
            found.append((base * base, tuple(v * v for v in values)))
        for name in names:
            for other in names:
                if other != name:
                    square, single = self.values[name], self.values[other]
                    both = tuple(x * x * y for x, y in zip(square, single, strict=True))
                    size = self.symbols[name] * self.symbols[name] * self.symbols[other]
                    found.append((size, both))
        return found

    def number(self, found: tuple[int, ...]) -> Any:
        """An expression for a whole number; it is the number itself if that is the same in all records."""
        if all(n == found[0] for n in found):
            return found[0]
        if found not in self._known:
            self._known[found] = self._fit(found)
        fitted = self._known[found]
        if fitted is None:
            raise Unlike(f"a number that is {', '.join(map(str, found))}")
        return fitted

    def _fit(self, found: tuple[int, ...]) -> Any:
        for base, values in self._bases:
            if found[0] % values[0] == 0:
                factor = found[0] // values[0]
                if factor and all(n == factor * v for n, v in zip(found, values, strict=True)):
                    return base * factor
        one = (1,) * self.count
        bases = [(1, one), *self._bases]
        for (a, u), (b, v) in combinations(bases, 2):
            pair = _two(found, u, v)
            if pair is not None:
                return b * pair[1] + a * pair[0]
        return None

    # --- anything ----------------------------------------------------------------------------------

    def unified(self, found: Sequence[Any]) -> Any:
        """What is said of all records: the last one's, with expressions in place of numbers that differ."""
        last = found[-1]
        for x in found:
            if x is not last:
                break
        else:
            return last
        kind = type(last)
        for x in found:
            if type(x) is not kind:
                break
        else:
            if kind is View:
                return self._view(found)
            if kind in _DONE_BY_VALUE:
                for x in found:
                    if x != last:
                        break
                else:
                    return last
        if len({type(x) for x in found}) > 1:
            raise Unlike(f"{' and '.join(sorted({type(x).__name__ for x in found}))} in one place")
        if kind is int:
            return self.number(tuple(found))
        if kind in _PLAIN or isinstance(last, np.dtype):
            return self._equal(found)
        if kind in (tuple, list):
            return self._parts(kind, found)
        if isinstance(last, tuple):
            parts = self._parts(tuple, found)
            if parts is last:
                return last
            return kind(*parts) if hasattr(kind, "_fields") else Tupled(kind, parts)
        if kind is Flags:
            for name in Flags.__slots__:
                self._equal([x[name] for x in found])
            return last
        if kind is dict:
            if any(list(x) != list(last) for x in found):
                raise Unlike("other keys")
            return {key: self.unified([x[key] for x in found]) for key in last}
        if kind is float or issubclass(kind, np.generic):
            return self._float(found)
        if kind is np.ndarray:
            return last if all(same_array(x, last) for x in found) else self._array(found)
        if kind is Given and last.argument is not None:  # whichever tensor that was
            self._equal([x.argument for x in found])
            return last
        if kind in (
            Update,
            Fixed,
        ):  # of each record its own, of optimizers that are compared elsewhere
            return last
        if names_of(kind):
            return self._fields(kind, found)
        if kind is slice:
            return slice(*self._parts(tuple, [(x.start, x.stop, x.step) for x in found]))
        if kind is types.FunctionType:
            return self._function(found)
        if kind is partial:
            self._fixed([(x.func, x.args, x.keywords) for x in found])
            return last
        if kind is types.MethodType:
            self._fixed([(x.__func__, x.__self__) for x in found])
            return last
        return self._equal(found)

    def _view(self, found: Sequence[Any]) -> Any:
        """A place that is read is one that was written: views come again and again."""
        key = tuple(found)
        known = self._views.get(key)
        if known is None:
            known = self._views[key] = self._fields(View, found)
        return known

    def _array(self, found: Sequence[Any]) -> Any:
        return Constant(self, found)

    def _equal(self, found: Sequence[Any]) -> Any:
        last = found[-1]
        if not all(same_value(x, last) for x in found):
            raise Unlike(f"a {type(last).__name__} that differs")
        return last

    def _parts(self, kind: type, found: Sequence[Any]) -> Any:
        if any(len(x) != len(found[-1]) for x in found):
            parts = [part for x in found for part in x]
            if parts and all(self._is_one(part, parts[0]) for part in parts):
                return Repeated(kind, parts[0], self.number(tuple(map(len, found))))
            raise Unlike(f"{' and '.join(str(len(x)) for x in found)} things in one place")
        parts = [self.unified(x) for x in zip(*found, strict=True)]
        if all(a is b for a, b in zip(parts, found[-1], strict=True)):
            return found[-1]
        return kind(parts)

    def _is_one(self, a: Any, b: Any) -> bool:
        """Whether two things are the same, whatever the sizes."""
        if type(a) is int or type(b) is int:
            return type(a) is type(b) and bool(a == b)
        try:
            found = self.unified([a, b])
        except Unlike:
            return False
        return not has_sizes(found)

    def _fields(self, kind: Any, found: Sequence[Any]) -> Any:
        last, parts, alike = found[-1], [], True
        for name in names_of(kind):
            mine = getattr(last, name)
            # A line is for people; which instruction of it that is may depend on whether a profiler looks on.
            part = mine if name == "site" else self.unified([getattr(x, name) for x in found])
            alike = alike and part is mine
            parts.append(part)
        return last if alike else kind(*parts)

    def _function(self, found: Sequence[Any]) -> Any:
        """Functions of one code, whose variables are the same: one that holds a size cannot be given another."""
        last = found[-1]
        if any(x.__code__ is not last.__code__ for x in found):
            raise Unlike(f"different functions called `{last.__name__}`")
        cells = [[c.cell_contents for c in x.__closure__ or ()] for x in found]
        self._fixed([*zip(cells, [x.__defaults__ for x in found], strict=True)])
        return last

    def _fixed(self, found: Sequence[Any]) -> None:
        """What has to be the same in all records."""
        whole = [list(x) for x in found]
        if has_sizes(self.unified(whole)):
            raise Unlike("a function made for one size")

    def _float(self, found: Sequence[Any]) -> Any:
        """A float that is the same, or an exact function of a whole number."""
        last = found[-1]
        dtype = np.dtype(type(last))
        words = [np.asarray(x).tobytes() for x in found]
        if all(word == words[-1] for word in words):
            return last
        if dtype.kind not in "fiu" or any(not np.isfinite(x) for x in found):
            raise Unlike(f"a number that is {', '.join(map(str, found))}")
        if dtype.kind in "iu":
            wholes = tuple(int(x) for x in found)
            return Sized("n", self.number(wholes), 1, dtype)
        exact = [float(x) for x in found]
        for form, of, wholes in _as_wholes(exact):
            try:
                number = self.number(wholes)
            except Unlike:
                continue
            sized = Sized(form, number, of, dtype)
            made = [np.asarray(sized.at(n)).tobytes() for n in wholes]
            if type(number) is Size and made == words:
                return sized
        raise Unlike(f"a number that is {', '.join(map(str, found))}")


class Constant:
    """An array made from Python values, as `arange(n)` or a mask: for each size the first part of a larger one.

    A sequence of whole numbers at equal distances goes on beyond the largest that was seen; of anything else it is not
    known how it does.
    """

    def __init__(self, fitting: Fitting, arrays: Sequence[Any]) -> None:
        self.shape = fitting.unified([a.shape for a in arrays])
        self.largest = max(arrays, key=lambda a: a.size)
        for array in arrays:
            alike = array.dtype == self.largest.dtype and array.flags.c_contiguous
            whole = len(array.shape) == len(self.largest.shape) and alike
            if not whole or not _same_bits(array, self._part(array.shape)):
                raise Unlike("a constant that depends on sizes")

    def at(self, at: Any) -> Any:
        """The array for a size; None if it is larger than what was seen."""
        shape = at.filled(self.shape)
        if all(n <= most for n, most in zip(shape, self.largest.shape, strict=True)):
            return np.ascontiguousarray(self._part(shape))
        if len(shape) == 1 and self.largest.dtype.kind in "iu" and self.largest.size > 2:
            steps = np.diff(self.largest)
            if (steps == steps[0]).all():
                numbers = self.largest[0] + steps[0] * np.arange(shape[0], dtype=np.int64)
                return numbers.astype(self.largest.dtype)
        return None

    def _part(self, shape: tuple[int, ...]) -> Any:
        return self.largest[tuple([slice(0, n) for n in shape])]


def _same_bits(a: Any, b: Any) -> bool:
    return bool(a.shape == b.shape and a.tobytes() == b.tobytes())


_names: dict[Any, tuple[str, ...]] = {}  # of dataclasses


def names_of(kind: Any) -> tuple[str, ...]:
    """The fields of a dataclass; none of anything else."""
    found = _names.get(kind)
    if found is None:
        if not is_dataclass(kind):
            return ()
        found = _names[kind] = tuple([f.name for f in fields(kind)])
    return found


_SIZED = frozenset((Size, Sized, Repeated, Tupled, Constant))


def has_sizes(value: Any) -> bool:
    """Whether something depends on a size."""
    kind = type(value)
    if kind in _SIZED:
        return True
    if isinstance(value, (tuple, list)):
        parts: Any = value
    elif kind is dict:
        parts = value.values()
    else:
        parts = [getattr(value, name) for name in names_of(kind)]
    for part in parts:
        if type(part) not in _PLAIN_KINDS and has_sizes(part):
            return True
    return False


def same_array(a: Any, b: Any) -> bool:
    alike = a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides
    return bool(alike and not a.dtype.hasobject and a.tobytes() == b.tobytes())


def _two(found: Sequence[int], u: Sequence[int], v: Sequence[int]) -> tuple[int, int] | None:
    """Whole numbers x and y with found = x·u + y·v in all records, of which there are more than two."""
    if len(found) < 3:
        return None
    for i, j in combinations(range(len(found)), 2):
        under = u[i] * v[j] - u[j] * v[i]
        if not under:
            continue
        x = Fraction(found[i] * v[j] - found[j] * v[i], under)
        y = Fraction(u[i] * found[j] - u[j] * found[i], under)
        if x.denominator != 1 or y.denominator != 1 or not y:
            return None
        fits = all(n == x * a + y * b for n, a, b in zip(found, u, v, strict=True))
        return (int(x), int(y)) if fits else None
    return None


_INVERSES: dict[str, Callable[[float, float], float]] = {
    "n": lambda x, of: x / of,
    "1/n": lambda x, of: of / x,
    "n/(n-1)": lambda x, of: x / (x - of) if x / of > 1 else 0.0,
    "sqrt": lambda x, of: (x / of) ** 2 if x / of > 0 else 0.0,
    "1/sqrt": lambda x, of: (of / x) ** 2 if of / x > 0 else 0.0,
}


def _as_wholes(found: list[float]) -> Iterator[tuple[str, float, tuple[int, ...]]]:
    """Ways to see floats as functions of whole numbers: the form, what is divided, and the whole numbers."""
    if not all(found):
        return
    for of in (1.0, -1.0, 2.0, -2.0, 0.5, -0.5):
        for form, inverse in _INVERSES.items():
            near = [inverse(x, of) for x in found]
            wholes = tuple(round(x) for x in near)
            if all(map(_is_near, near, wholes)):
                yield form, of, wholes


def _is_near(number: float, whole: int) -> bool:
    """Whether a whole number may be meant: whether it is, the bits say that it gives.

    Of n/(n-1) only what is beyond one says what n is, so a rounding of float32 is one of n².
    """
    return whole > 0 and abs(number - whole) <= min(max(1e-6, 1.2e-7 * whole) * whole, 0.25)
