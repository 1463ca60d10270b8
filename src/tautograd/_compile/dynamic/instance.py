"""A template at one size: a record that was never recorded. It is the score of the program, and where things lie."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..program.ir import Kind, Program, View
from ..program.memory import bytes_of
from ..run.audit_schedule import Schedule
from ..run.entry import Entry, _form
from ..run.fast_numbers import way_in
from ..run.numpy_calls import as_call
from ..run.replay import Part, Replay, _native_run
from ..run.rollback import Stops
from ..sound.runs import Followed
from .template import Stretch, Template, Values

FIRST = 16  # the replay of a size that may be audited first
GROWTH = 4


class PartAtSize(Part):
    """What runs together; its instructions are made when somebody asks for them."""

    def __init__(self, stretch: Stretch, replay: ReplayAtSize, native: Any) -> None:
        self.stretch = stretch
        self.replay = replay
        self.native = native
        self.why = stretch.why
        self.block = None
        self.places = {}
        self.sites = replay.template.base.program.sites[stretch.first : stretch.last]

    @property
    def instructions(self) -> Any:  # type: ignore[override]
        return self.replay.program.instructions[self.stretch.first : self.stretch.last]


class ReplayAtSize(Replay):
    """A template's program with the memory of all sizes and the numbers of one."""

    def __init__(self, template: Template, values: tuple[int, ...]) -> None:
        at = Values(dict(zip(template.symbols, values, strict=True)))
        self.template = template
        self.at = at
        self.arguments = [fill(at) for fill in template.fill_arguments]
        self.why_not_native = ""
        self.saved = frozenset()
        self._program: Program | None = None
        self.memory = copy.copy(template.memory)
        self.memory.table = self.memory.table.copy()
        self.memory.bases = list(self.memory.bases)
        self._floats = [at.float(sized) for _, sized in template.floats]
        for (number, _), value in zip(template.floats, self._floats, strict=True):
            self._lies(number, np.array([value]))
        for number, constant in template.constants:
            self._lies(number, constant.at(at))
        from .native_at_size import NativeAtSize

        parts = [
            PartAtSize(s, self, None if s.why else NativeAtSize(s, template.symbols, values))
            for s in template.stretches
        ]
        self.stretches = [parts]  # type: ignore[list-item]
        self._calls = {
            i: template.instructions[i] if fill is None else fill(at)
            for i, fill in template.fill_instructions.items()
        }
        self.staged = self._read_by_calls()
        for i in self.staged:
            view = self.arguments[i]
            self._lies(view.buffer, np.zeros(at.of(template.buffers[view.buffer].nbytes), np.uint8))
        self.table = self.memory.table
        self.slots = [(i, v.buffer) for i, v in enumerate(self.arguments) if i not in self.staged]
        self.runs = [list(self._bound_parts(parts))]

    def _lies(self, number: int, array: Any) -> None:
        self.memory.bases[number] = bytes_of(array)
        self._held = [*getattr(self, "_held", []), array]
        self.memory.table[number] = array.__array_interface__["data"][0]

    def _read_by_calls(self) -> list[int]:
        touched = {
            view.buffer
            for instruction in self._calls.values()
            for view in (*instruction.reads(), *instruction.writes())
        }
        return [i for i, view in enumerate(self.arguments) if view.buffer in touched]

    def _bound_parts(self, parts: list[PartAtSize]) -> Iterator[Any]:
        address = self.table.__array_interface__["data"][0]
        for part in parts:
            if part.native is not None:
                yield _native_run(part, address)
            else:
                for i in range(part.stretch.first, part.stretch.last):
                    yield as_call(self._calls[i], self.memory.array)

    def kind_of(self, view: View) -> Kind:
        return self.template.buffers[view.buffer].kind

    @property
    def kinds(self) -> list[Kind]:
        return [buffer.kind for buffer in self.template.buffers]

    @property
    def program(self) -> Program:  # type: ignore[override]
        if self._program is None:
            self._program = self.template.program_at(self.at)
        return self._program


class Sparing(Schedule):
    """Audits of a template's sizes: a size that is replayed often, within a share of what all of them take."""

    def __init__(self, template: Template) -> None:
        self.template = template
        super().__init__()

    def begin(self, mode: str) -> None:
        super().begin(mode)
        if mode == "auto":
            self.audit_due = FIRST
        self._settle()

    def note_audit(self, calls: int, seconds: float) -> None:
        self.template.auditing += seconds
        self.template.price = seconds
        super().note_audit(calls, seconds)

    def _plan(self) -> None:
        if self.mode == "auto":
            self.audit_due = GROWTH * max(self.last[0], FIRST)
            self._settle()


class EntryAtSize(Entry):
    """A record for one size that was made from a template."""

    def __init__(self, template: Template, form: Any, values: tuple[int, ...]) -> None:
        base = template.base
        self.__dict__.update(
            {k: v for k, v in vars(base).items() if k not in ("program", "inside")}
        )
        replay = ReplayAtSize(template, values)
        self.template = template
        self.values = values
        self.key, self.loose, self.kept = form.key, form.loose, form.kept
        self.replay_of = replay
        at = replay.at
        self.capture = copy.copy(base.capture)
        self.capture.arguments = replay.arguments
        if template.fill_result is not None:
            self.capture.result = template.fill_result(at)
        self.nbytes = sum(
            p.native._memory.nbytes for p in replay.stretches[0] if p.native is not None
        )
        self.calls = 0
        self.audits = Sparing(template)
        self.made_tensors, self._made, self._nodes, self._arrays = {}, {}, {}, []
        self.form = _form(self.call, self.capture)
        if template.stops is None:
            # Which places are copied is the same at any size, and to write the program out for one takes long.
            replay._program = template.base.program
            template.stops = Stops(self)
            replay._program = None
        self.stops = template.stops
        self.lock = template.lock
        self.followed_calls = self.calls_noted = None
        self.not_followed = "its program is one for several sizes"
        self.steady = template.steady
        self.quick = way_in(self)
        template.steady = self.steady

    def follow(self) -> None:
        """Let the next call run the function's own Python, held against the template's calls at this size."""
        noted = copy.copy(self.template.base.capture.calls)
        fill = self.template.fill_calls
        noted.calls = self.template.calls if fill is None else fill(self.replay_of.at)
        self.followed_calls = Followed(self, noted)
        self._quick, self.quick = self.quick, None

    def follow_no_more(self) -> None:
        self.followed_calls, self.quick = None, self._quick

    @property
    def program(self) -> Program:  # type: ignore[override]
        return self.replay_of.program  # type: ignore[no-any-return]

    @property
    def inside(self) -> int:
        """How far into the program its thread is: all sizes use the same memory."""
        return self.template.inside

    @inside.setter
    def inside(self, value: int) -> None:
        self.template.inside = value

    @property
    def is_due(self) -> bool:
        """Whether this call is recorded anew: only as often as all replays together can pay for it."""
        audits = self.audits
        if self.calls < audits.audit_due:
            return False
        if audits.mode != "auto" or self.template.affords_audit():
            return True
        audits.audit_next(GROWTH * self.calls)
        return False
