"""Numbers that a record takes as inputs: what is computed of them, what they decide, and where they go.

Each step is one Python operation on such numbers. Before a replay the steps are done again with the numbers
of that call; if a comparison gives another outcome than it gave in the recording, the record does not hold.
What meets tensors is written to a cell of memory, which the program reads.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..._autograd.modes import modes
from ..._user_code.sites import mark
from ..program.ir import Kind, Late, View
from .recorded_array import ITEM, Recorded
from .symbols import PLAIN, Symbol, without_symbols

FLOATS = (float, np.float64, np.float32, np.float16)
TRUTHS = (bool, np.bool_)


class Step:
    """One operation: `operands` are places of other steps, or constants."""

    __slots__ = ("function", "kind", "operands", "outcome", "sources", "stage")

    def __init__(
        self, function: Any, operands: Any, kind: Any, stage: int, sources: frozenset[int]
    ) -> None:
        self.function = function
        self.operands = operands
        self.kind = kind
        self.stage = stage
        self.sources = sources  # the inputs that it comes from
        self.outcome: Any = None  # what it has to give, if that was decided on


class Scalars:
    """The numbers of one recording."""

    def __init__(self, tape: Any) -> None:
        self.tape = tape
        self.steps: list[Step] = []
        self.pinned: dict[int, Any] = {}  # inputs whose value was asked for, and the line
        self.reads: dict[
            int, View
        ] = {}  # inputs that the program itself computes, and where they are
        self.values: list[Any] = []
        self._known: dict[Any, int] = {}
        self._cells: dict[tuple[int, Any], Any] = {}
        self._late: dict[int, Late] = {}
        self._made: list[weakref.ref[Symbol]] = []

    # --- while it is recorded ----------------------------------------------------------------------

    @property
    def live(self) -> bool:
        """Whether this thread is recording with these numbers."""
        tape = self.tape
        return tape is not None and modes.recorder is tape and not tape.dead

    def input(self, value: Any, stage: int = 0, view: View | None = None) -> Symbol:
        """A number that may be another one at each call; read from the program's memory if there is a view."""
        place = len(self.steps)
        if view is not None:
            self.reads[place] = view
        self.steps.append(Step(None, (), type(value), stage, frozenset((place,))))
        self.values.append(value)
        return self._symbol(place, value)

    def compute(self, function: Any, operands: tuple[Any, ...]) -> Any:
        """Do an operation, and note it: a number, or a truth for which the record then holds."""
        found = function(*without_symbols(operands))
        if not self.live:
            return found
        kind = type(found)
        if kind not in FLOATS and kind not in TRUTHS:
            self.pin(operands)
            return found
        key = function, tuple(map(_key, operands))
        place = self._known.get(key)
        if place is None:
            inner = [self.steps[o.place] for o in operands if type(o) is Symbol]
            stage = max(step.stage for step in inner)
            if stage and not self.tape.can_undo():
                self._refuse(stage)
                return found
            sources = frozenset().union(*(step.sources for step in inner))
            shown = tuple((True, o.place) if type(o) is Symbol else (False, o) for o in operands)
            place = self._known[key] = len(self.steps)
            self.steps.append(Step(function, shown, kind, stage, sources))
            self.values.append(found)
        if kind in TRUTHS:
            self.steps[place].outcome = bool(found)
            return found
        return self._symbol(place, found)

    def _symbol(self, place: int, value: Any) -> Symbol:
        symbol = Symbol(self, place, value)
        self._made.append(weakref.ref(symbol))
        return symbol

    def alive(self) -> list[Any]:
        """The symbols that somebody holds."""
        return [symbol for reference in self._made if (symbol := reference()) is not None]

    def _refuse(self, stage: int) -> None:
        """A value that was read before a stage cannot be followed: say where it was asked for."""
        self.tape.refuse(ITEM, "item", self.tape.splits[stage - 1][2])

    def asked(self, symbol: Symbol) -> Any:
        """The value itself: what it comes from is a constant of the record."""
        if self.live:
            self.pin((symbol,))
        return symbol.value

    def pin(self, operands: Any) -> None:
        """Make constants of the inputs of these numbers."""
        for operand in operands:
            if type(operand) is Symbol:
                for place in self.steps[operand.place].sources:
                    if place in self.reads:
                        self._refuse(self.steps[place].stage)
                        return
                    self.pinned.setdefault(place, mark(1))

    def ufunc(self, ufunc: Any, method: str, args: Any, kwargs: Any) -> Any:
        """A NumPy function of such numbers, and of arrays on the tape if there are any."""
        given = [*args, *(kwargs.get("out") or ())]
        if any(type(x) is Recorded for x in given):
            function = ufunc if method == "__call__" else getattr(ufunc, method)
            return self.tape.run(function, args, kwargs, ufunc=ufunc, method=method)
        strange = [x for x in given if type(x) is not Symbol and not isinstance(x, np.generic)]
        if any(hasattr(x, "__array_ufunc__") and type(x) is not np.ndarray for x in strange):
            return NotImplemented  # an array type with rules of its own
        plain = all(type(x) is Symbol or isinstance(x, PLAIN) for x in args)
        if method == "__call__" and ufunc.nout == 1 and not kwargs and plain:
            return self.compute(ufunc, args)
        if self.live:
            self.pin(args)
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return function(*without_symbols(args), **without_symbols(kwargs))

    def cell(self, symbol: Symbol, dtype: Any) -> View:
        """Where the program reads the number, as one of this dtype."""
        cell = self._cells.get((symbol.place, dtype))
        if cell is None:
            cell = np.asarray(symbol.value).astype(dtype)
            self._cells[symbol.place, dtype] = cell
        return self.tape.view(cell, Kind.EXTERNAL)  # type: ignore[no-any-return]

    def array(self, symbol: Symbol) -> Any:
        """The number as an array on the tape; a copy, into which may be written."""
        dtype = np.asarray(symbol.value).dtype
        self.cell(symbol, dtype)
        return np.copy(self.tape.wrap(self._cells[symbol.place, dtype]))

    def late(self, symbol: Symbol) -> Late:
        """The number as an argument of a call from Python."""
        return self._late.setdefault(symbol.place, Late(symbol.value))

    # --- at a replay ---------------------------------------------------------------------------------

    def close(self) -> None:
        """After the recording: put what each stage does in order."""
        self.inputs = [i for i, step in enumerate(self.steps) if step.function is None]
        self.stages = max((step.stage for step in self.steps), default=0) + 1
        self._plans: list[list[Any]] = [[] for _ in range(self.stages)]
        self._loads: list[list[Any]] = [[] for _ in range(self.stages)]
        for i, step in enumerate(self.steps):
            if step.function is not None:
                plan = i, step.function, step.operands, step.kind, step.outcome
                self._plans[step.stage].append(plan)
        for (place, _), cell in self._cells.items():
            self._loads[self.steps[place].stage].append((place, cell, None))
        for place, late in self._late.items():
            self._loads[self.steps[place].stage].append((place, None, late))

    def begin(self, given: Any) -> list[Any] | None:
        """The numbers of a call; None if the record does not hold for them."""
        values: list[Any] = [None] * len(self.steps)
        for place, value in zip(self.inputs, given, strict=False):
            if type(value) is not self.steps[place].kind:
                return None
            values[place] = value
        return values if self.advance(values, 0) else None

    def advance(self, values: list[Any], stage: int) -> bool:
        """Do the steps of a stage; whether everything was decided as in the recording.

        An error (a division by zero) is no replay's affair: the call then runs eagerly.
        """
        try:
            for place, function, operands, kind, outcome in self._plans[stage]:
                found = function(*[values[o] if noted else o for noted, o in operands])
                if type(found) is not kind or (outcome is not None and found != outcome):
                    return False
                values[place] = found
        except Exception:
            return False
        return True

    def reads_at(self, stage: int) -> list[tuple[int, View]]:
        """What is read before a stage."""
        return [(p, view) for p, view in self.reads.items() if self.steps[p].stage == stage]

    def load_all(self, values: list[Any]) -> None:
        for stage in range(self.stages):
            self.load(values, stage)

    def load(self, values: list[Any], stage: int = 0) -> None:
        """Write the numbers of a stage where the program reads them."""
        if self._loads[stage]:
            modes.quietly(self._write, values, self._loads[stage])

    @staticmethod
    def _write(values: list[Any], loads: list[Any]) -> None:
        for place, cell, late in loads:
            if late is None:
                np.copyto(cell, values[place], casting="unsafe")
            else:
                late.value = values[place]


def _key(operand: Any) -> Any:
    """An operand as something that is equal only to the same one."""
    if type(operand) is Symbol:
        return Symbol, operand.place
    return type(operand), repr(operand)
