"""A formula as a list of array functions that write to preallocated memory.

A formula such as `m + (g - m) * weight` makes a new array for every operator. Run once on `Value`s, which
record the operations applied to them, it becomes a `Program`: the same NumPy functions in the same order, each
with a destination for its result. Final results are written in place (a new state over the old one, once the old
one is no longer needed), intermediate ones to scratch memory that is reused as soon as it is free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .._arrays import kernels

# formula(parameter, gradient, states, constants, flags) -> new parameter, new states
Formula = Callable[..., tuple[Any, tuple[Any, ...]]]


class Value(NDArrayOperatorsMixin):
    """A result that is not computed yet: its number, and a sample of its dtype."""

    def __init__(self, trace: _Trace, number: int, sample: Any, is_constant: bool = False) -> None:
        self.trace = trace
        self.is_constant = is_constant
        self.number = number
        self.sample = sample

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Value:
        if method != "__call__" or options:
            raise TypeError(f"a formula cannot use {ufunc.__name__}.{method} with {options}")
        return self.trace.note(ufunc, inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Value:
        if function is not np.where or kwargs:
            raise TypeError(f"a formula cannot use np.{function.__name__}")
        return self.trace.note(_where, args)

    def rounded(self) -> Value:
        if self.trace.round is None:
            return self
        return self.trace.note(self.trace.round, (self,))


class _Trace:
    """The recorded operations, in order: (function, numbers of its inputs, number of its result)."""

    def __init__(self, dtype: Any, compute: Any) -> None:
        self.compute = compute
        self.round = None if dtype == compute else _rounder(dtype)
        self.samples: list[Any] = []
        self.literals: dict[int, Any] = {}
        self.notes: list[tuple[Any, tuple[int, ...], int]] = []

    def value(self, sample: Any, is_constant: bool = False) -> Value:
        self.samples.append(sample)
        return Value(self, len(self.samples) - 1, sample, is_constant)

    def note(self, function: Any, inputs: Sequence[Any]) -> Value:
        values = [x if isinstance(x, Value) else self.literal(x) for x in inputs]
        function = _TAKING_OUT.get(function, function)
        result = self.value(function(*(v.sample for v in values)))
        self.notes.append((function, tuple(v.number for v in values), result.number))
        return result

    def literal(self, number: Any) -> Value:
        constant = np.array(number, self.compute)
        found = self.value(constant.reshape(1))
        self.literals[found.number] = constant
        return found


class Program:
    """Instructions on slots: parameter, gradient, states, constants, then literals and scratch."""

    def __init__(
        self,
        formula: Formula,
        flags: tuple[Any, ...],
        names: tuple[str, ...],
        states: int,
        dtype: Any,
        compute: Any,
    ) -> None:
        trace = _Trace(dtype, compute)
        one = np.ones(1, compute)
        p, g, *old = (trace.value(one) for _ in range(2 + states))
        constants = SimpleNamespace(**{name: trace.value(one, True) for name in names})
        new, news = formula(p, g, tuple(old), constants, flags)
        self.inputs = 2 + states
        self.compute = compute
        self._plain = dtype == compute
        self.names = names
        self.extra: list[Any] = []  # literals (arrays) and scratch (dtypes) after the constants
        self._first_extra = 2 + states + len(names)
        self._runs = 0
        self._kernel: Any = False  # not requested yet
        places = [p.number, *(s.number for s in old)]
        self.instructions = self._place(trace, list(zip(places, [new, *news], strict=True)))

    def _place(self, trace: _Trace, results: list[tuple[int, Value]]) -> list[tuple[Any, ...]]:
        """Assign each result a slot, and return the instructions as (function, slots)."""
        last_use = {}
        for i, (_, inputs, _) in enumerate(trace.notes):
            last_use.update(dict.fromkeys(inputs, i))
        end = len(trace.notes)
        home: dict[int, int] = {}  # result -> the input over which it is written
        for place, value in results:
            made = next((i for i, note in enumerate(trace.notes) if note[2] == value.number), None)
            last_use[value.number] = end
            if made is not None and last_use.get(place, -1) <= made and value.number not in home:
                home[value.number] = place
        where = {number: number for number in range(self._first_extra)}
        for number, constant in trace.literals.items():
            where[number] = self._new(constant)
        free: dict[Any, list[int]] = {}
        scratch: dict[int, Any] = {}  # slot -> its dtype
        instructions: list[tuple[Any, ...]] = []
        for i, (function, inputs, result) in enumerate(trace.notes):
            for number in set(inputs):
                if last_use[number] == i and where[number] in scratch:
                    free.setdefault(scratch[where[number]], []).append(where[number])
            if result in home and not (
                function is _where and home[result] in [where[n] for n in inputs]
            ):
                place = home[result]
            else:
                dtype = trace.samples[result].dtype
                # where() reads its inputs after it has begun to write
                usable = [] if function is _where else free.get(dtype, [])
                place = usable.pop() if usable else self._new(dtype)
                scratch[place] = dtype
            where[result] = place
            instructions.append((function, (*(where[n] for n in inputs), place)))
        for place, value in results:
            if where[value.number] != place:
                instructions.append((_copy, (where[value.number], place)))
        return instructions

    def kernel(self, size: int) -> Any:
        """Machine code for a run on so many elements, with identical bits; None if NumPy's functions are used."""
        if self._kernel is False:
            self._runs += 1 + size // _A_RUN
            if kernels.pays_for_a_compiler(self._runs):
                self._kernel = self._compiled()
        return self._kernel or None

    def _compiled(self) -> Any:
        literals = {
            self._first_extra + i: float(x)
            for i, x in enumerate(self.extra)
            if isinstance(x, np.ndarray)
        }
        return kernels.kernel_of_program(
            self.compute if self._plain else None,
            [(_NAMES.get(f, f.__name__), at) for f, at in self.instructions],
            self.inputs,
            len(self.names),
            literals,
        )

    def _new(self, what: Any) -> int:
        self.extra.append(what)
        return self._first_extra + len(self.extra) - 1

    def memory(self, size: int) -> list[Any]:
        """Literals, and scratch for `size` elements."""
        return [x if isinstance(x, np.ndarray) else np.empty(size, x) for x in self.extra]

    def constants(self) -> tuple[Any, list[Any]]:
        """An array for the constants, and each of them as a 0-dim view of it."""
        row = np.zeros(len(self.names), self.compute)
        return row, [row[i : i + 1].reshape(()) for i in range(len(self.names))]

    def bind(self, places: Sequence[Any]) -> list[tuple[Any, tuple[Any, ...]]]:
        """The instructions with their slots replaced by arrays."""
        return [(function, tuple([places[i] for i in at])) for function, at in self.instructions]


def execute(bound: list[tuple[Any, tuple[Any, ...]]]) -> None:
    for function, arrays in bound:
        function(*arrays)


_programs: dict[Any, Program] = {}


def program_of(
    formula: Formula,
    flags: tuple[Any, ...],
    names: tuple[str, ...],
    states: int,
    dtype: Any,
    compute: Any,
) -> Program:
    """The program of a formula, recorded once and cached."""
    key = formula, flags, names, states, dtype
    found = _programs.get(key)
    if found is None:
        found = _programs[key] = Program(formula, flags, names, states, dtype, compute)
    return found


def _where(condition: Any, x: Any, y: Any, out: Any = None) -> Any:
    if out is None:
        return np.where(condition, x, y)
    np.copyto(out, y)
    np.copyto(out, x, where=condition)
    return out


def _maximum(x: Any, y: Any, out: Any = None) -> Any:
    return np.maximum(x, y, out=out)


def _minimum(x: Any, y: Any, out: Any = None) -> Any:
    return np.minimum(x, y, out=out)


_A_RUN = 4  # elements that take as long as the calls of a run
# These two take their output only as a keyword argument.
_TAKING_OUT: dict[Any, Any] = {np.maximum: _maximum, np.minimum: _minimum}


def _copy(source: Any, out: Any) -> None:
    np.copyto(out, source)


# Their names in machine code.
_NAMES = {_where: "where", _maximum: "maximum", _minimum: "minimum", _copy: "copy"}


def _rounder(dtype: Any) -> Callable[..., Any]:
    """Rounds float32 to a narrower dtype and back."""

    def round_(x: Any, out: Any = None) -> Any:
        narrow = x.astype(dtype)
        if out is None:
            return narrow.astype(x.dtype)
        np.copyto(out, narrow)
        return out

    return round_
