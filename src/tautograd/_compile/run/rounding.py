"""How far two right evaluations of a program can be apart: a running error analysis, derived and not tuned.

The program runs once by NumPy. Beside every element of its memory stands a radius: how far any evaluation may be from
the true one that rounds each operation once, sums in any order and contracts products. Both machine code and the
function as written are such evaluations, so they are at most two radii apart.

- An elementwise function is evaluated at the corners of its inputs' intervals, and adds `UNITS` roundings of its own;
  so nothing has to be known of its derivative. A comparison whose sides' intervals meet may come out either way,
  and what is chosen by it may be either.
- A sum of n numbers of any order is off by n roundings of the sum of magnitudes (Higham, Accuracy and Stability, 4.2).
- What only moves elements moves their radii.
- What a call of Python gives has the radius 0 if its inputs have, and else none: infinity.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..._ops.elementwise.special_functions import erf_of
from ..program.ir import (
    Block,
    Call,
    Check,
    Gather,
    GatherAlong,
    Map,
    Number,
    Product,
    Program,
    PutAlong,
    Reduce,
    ScatterAdd,
    View,
    array_of,
)
from .numpy_calls import as_call, ufunc_named

# Roundings that an elementwise function may be off by: NumPy's and ours are within 4 units of the last place.
UNITS = 8
_CORRECT = {"cast", "add", "subtract", "multiply", "divide", "sqrt"}  # which round once
# Which do not round; and those that give the same bits wherever their inputs are the same.
_EXACT = {"where", "negative", "positive", "absolute", "maximum", "minimum", "fmax", "fmin", "sign"}
_EXACT |= {"floor", "ceil", "trunc", "rint", "copysign", "isnan", "isfinite", "isinf", "signbit"}
_COMPARED = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
_POLES = {"divide", "reciprocal", "floor_divide", "remainder", "fmod", "power", "float_power"}
_DETERMINED = _EXACT | _COMPARED | {"cast"}


class Unbounded(Exception):
    """A program of which no bound is known; why."""


class Rounding:
    """A program's memory, computed once by NumPy, and the radius of each element."""

    def __init__(self, program: Program, bases: Sequence[Any]) -> None:
        """`bases` are the bytes of each buffer as they are before the program runs; they are written to."""
        self.bases = list(bases)
        dtypes: dict[int, Any] = {}
        for instruction in _walked(program.instructions):
            for view in (*instruction.reads(), *instruction.writes()):
                known = dtypes.setdefault(view.buffer, view.dtype)
                if view.dtype.kind not in "biuf" or view.dtype.byteorder == ">":
                    raise Unbounded(f"numbers of dtype {view.dtype}")
                if known != view.dtype:
                    raise Unbounded("memory that is read as of two dtypes")
        self.radii = [
            np.zeros(buffer.nbytes // dtypes[n].itemsize + 1, np.float64) if n in dtypes else None
            for n, buffer in enumerate(program.buffers)
        ]
        self.sizes = {n: dtype.itemsize for n, dtype in dtypes.items()}

    def value(self, view: View) -> Any:
        return array_of(view, self.bases[view.buffer])

    def radius(self, view: View) -> Any:
        """The radii of a view's elements: numbers of 8 bytes, whatever the elements are."""
        size = self.sizes[view.buffer]
        if view.offset % size or any(stride % size for stride in view.strides):
            raise Unbounded("elements that do not lie one beside the other")
        if not view.size:
            return np.zeros(view.shape)
        strides = tuple([stride // size * 8 for stride in view.strides])
        memory: Any = self.radii[view.buffer]
        return np.ndarray(view.shape, np.float64, memory, view.offset // size * 8, strides)

    def run(self, instructions: Sequence[Any]) -> None:
        with np.errstate(all="ignore"):
            for instruction in instructions:
                radius = _RULES[type(instruction)](self, instruction)
                if type(instruction) is not Check:
                    as_call(instruction, self.value)()
                for view, found in radius or ():
                    self._put(view, found)

    def _put(self, view: View, found: Any) -> None:
        np.copyto(self.radius(view), np.where(np.isnan(found), np.inf, found))

    def _pair(self, operand: Any) -> tuple[Any, Any]:
        if isinstance(operand, Number):
            return np.asarray(operand.value), None
        radius = self.radius(operand)
        return self.value(operand), radius if radius.any() else None

    # --- rules: what the radii of an instruction's outputs are -------------------------------------

    def map(self, i: Map) -> Any:
        pairs = [self._pair(x) for x in i.inputs]
        values = [
            np.asarray(v).astype(d, copy=False) for (v, _), d in zip(pairs, i.loop, strict=False)
        ]
        radii = [r for _, r in pairs]
        known = all(r is None for r in radii)
        if known and i.function in _DETERMINED:
            return [(i.output, 0.0)]
        centre = _applied(i.function, _wide(values), i.loop)
        rounded = _unit(i.loop[-1], centre, i.function)
        if i.output.dtype != i.loop[-1]:
            rounded = rounded + _unit(i.output.dtype, centre, "cast")
        if known:
            return [(i.output, rounded)]
        if i.function in _COMPARED:
            gap = np.abs(values[0].astype(np.float64) - values[1])
            reach = sum([0.0 if r is None else r for r in radii])
            return [(i.output, ((gap <= reach) & (np.asarray(reach) > 0)).astype(np.float64))]
        return [(i.output, _corners(i, values, radii, centre) + rounded)]

    def reduce(self, i: Reduce) -> Any:
        x, r = self._pair(i.input)
        count = 1
        for axis in i.axes:
            count *= i.input.shape[axis]
        over = {"axis": i.axes, "keepdims": True}
        spread = 0.0 if r is None else r
        if i.function == "add":
            size = np.abs(x.astype(np.float64)) + spread
            own = count * _epsilon(i.dtype) * size.sum(**over)
            return [(i.output, own + (0.0 if r is None else r.sum(**over)))]
        if i.function == "multiply":
            size = np.abs(x.astype(np.float64))
            whole = (size + spread).prod(**over)
            own = count * _epsilon(i.dtype) * whole
            return [(i.output, whole - size.prod(**over) + own)]
        return [(i.output, 0.0 if r is None else r.max(initial=0.0, **over))]

    def product(self, i: Product) -> Any:
        (a, ra), (b, rb) = self._pair(i.left), self._pair(i.right)
        left, right = np.abs(a.astype(np.float64)), np.abs(b.astype(np.float64))
        wide = left if ra is None else left + ra, right if rb is None else right + rb
        whole = wide[0] @ wide[1]
        found = whole - left @ right if ra is not None or rb is not None else 0.0
        found = np.maximum(found, 0.0)
        # the difference above rounds too
        found = found + (a.shape[-1] + 2) * (_epsilon(i.output.dtype) + 2.0**-52) * whole
        if i.adds:
            before, radius = self._pair(i.output)
            size = np.abs(before.astype(np.float64)) + whole
            found = found + (0.0 if radius is None else radius) + _epsilon(i.output.dtype) * size
        return [(i.output, found)]

    def moved(self, i: Any) -> Any:
        """An instruction that only moves elements moves their radii."""
        if self.radius(i.index).any():
            raise Unbounded("an index that rounding may change")
        index = i.index
        as_call(i, lambda view: self.value(view) if view is index else self.radius(view))()

    def put_along(self, i: PutAlong) -> Any:
        if isinstance(i.source, Number):
            i = PutAlong(i.target, i.index, Number(np.float64(0)), i.axis)
        return self.moved(i)

    def scatter(self, i: ScatterAdd) -> Any:
        target = np.abs(self.value(i.target).astype(np.float64))
        np.add.at(target, self.value(i.index), np.abs(self.value(i.source).astype(np.float64)))
        self.moved(i)
        count = i.index.size + 1
        return [(i.target, self.radius(i.target) + count * _epsilon(i.target.dtype) * target)]

    def call(self, i: Call) -> Any:
        known = not any(self.radius(view).any() for view in i.reads() if view.size)
        return [(view, 0.0 if known else np.inf) for view in i.writes()]

    def check(self, i: Check) -> Any:
        if self.radius(i.inputs[0]).any():  # type: ignore[arg-type]
            raise Unbounded("a condition on values that rounding may change")


def _walked(instructions: Sequence[Any]) -> Iterator[Any]:
    """Instructions, with those inside of blocks."""
    for instruction in instructions:
        yield instruction
        if isinstance(instruction, Block):
            yield from _walked(instruction.body)


def apart(a: Any, b: Any, radius: Any) -> str | None:
    """Where two evaluations are further apart than rounding explains, in words; None if they are not."""
    bound = 2 * radius
    with np.errstate(all="ignore"):
        if a.dtype.kind == "f":
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            wrong = ~same & ~(np.abs(a.astype(np.float64) - b) <= bound)
        else:
            wrong = (a != b) & ~(bound > 0)
    if not np.any(wrong):
        return None
    place = tuple(int(n) for n in np.argwhere(wrong)[0])
    return (
        f"{a[place]} by the program, {np.asarray(b)[place]} as written (element {list(place)} of {list(a.shape)}, "
        f"{int(np.sum(wrong))} differ); rounding explains {float(bound[place]):.3g}"
    )


def _corners(i: Map, values: list[Any], radii: list[Any], centre: Any) -> Any:
    """How far a function gets from its value where its inputs are at the ends of their intervals."""
    wide = _wide(values)
    ends: list[tuple[Any, ...]] = []
    for value, radius in zip(wide, radii, strict=True):
        if radius is None:
            ends.append((value,))
        elif value.dtype.kind == "b":
            ends.append((value & (radius == 0), value | (radius != 0)))
        else:
            ends.append((value - radius, value + radius))
    found: Any = 0.0
    centre = np.asarray(centre, np.float64)
    for corner in itertools.product(*ends):
        there = np.asarray(_applied(i.function, corner, i.loop), np.float64)
        off = np.abs(there - centre)
        found = np.maximum(found, np.where(there == centre, 0.0, off))
    # The ends of an interval say nothing of a pole inside, nor of one without ends.
    if i.function in _POLES and radii[-1] is not None:
        found = np.where(np.abs(wide[-1]) <= radii[-1], np.inf, found)
    for radius in radii if i.function != "where" else ():
        found = found if radius is None else np.where(np.isinf(radius), np.inf, found)
    return found


def _wide(values: list[Any]) -> list[Any]:
    """Floats as doubles, so that the ends of a narrow interval are told apart."""
    return [v.astype(np.float64) if v.dtype.kind == "f" else v for v in values]


def _applied(name: str, values: Sequence[Any], loop: tuple[Any, ...]) -> Any:
    if name == "cast":
        value = np.asarray(values[0])
        narrow = loop[-1].kind in "biu"
        return value.astype(loop[-1]) if narrow else value
    if name == "where":
        return np.where(*values)
    if name == "erf":
        return erf_of(np.asarray(values[0]))
    return ufunc_named(name)(*values)


def _epsilon(dtype: Any) -> float:
    return float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0


def _unit(dtype: Any, value: Any, function: str) -> Any:
    """What a function's own rounding in a dtype may be."""
    if dtype.kind != "f" or function in _EXACT:
        return 0.0
    limits = np.finfo(dtype)
    units = 1 if function in _CORRECT else UNITS
    return units * (float(limits.eps) * np.abs(value) + float(limits.smallest_subnormal))


_RULES: dict[Any, Callable[[Rounding, Any], Any]] = {
    Map: Rounding.map,
    Check: Rounding.check,
    Reduce: Rounding.reduce,
    Product: Rounding.product,
    Gather: Rounding.moved,
    GatherAlong: Rounding.moved,
    PutAlong: Rounding.put_along,
    ScatterAdd: Rounding.scatter,
    Call: Rounding.call,
}
