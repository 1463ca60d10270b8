"""One program for all sizes: fitted to records of several sizes, lowered once with symbols in place of sizes."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..program.ir import Buffer, Call, Kind, Map, Number, Program, View
from ..program.memory import Memory
from ..record.trees import NESTS
from .bounds import most_of, staying_within
from .common import (
    buffers_of,
    calls_of,
    places_of,
    prime_from,
    require_alike,
    require_same_surroundings,
    require_simple,
    result_of,
    symbols_of,
)
from .fitting import (
    Constant,
    Fitting,
    Repeated,
    Sized,
    Tupled,
    Unlike,
    has_sizes,
    names_of,
)
from .size import LEAST, NotSymbolic, Size, Ways, same
from .words import Words, holding

SHARE = 0.01  # of the time of all replays, which audits may take
SPARE = 2  # records beyond the number of symbols, which a fit is held against


@dataclass(slots=True)
class Stretch:
    """Instructions that run together: as machine code for any size, or one after the other from Python (then why)."""

    first: int
    last: int
    why: str
    request: Any = None  # what `lowered` is to be given
    lowered: Any = None
    words: Any = None  # its score, see `native.llvm.player`
    scratch: Any = None


class Template:
    """What records of one function at several sizes have in common; `symbols` are what they differ in."""

    def __init__(self, entries: Sequence[Any], native: Any, threads: int) -> None:
        self.base = entries[-1]
        require_simple(entries)
        values = symbols_of([e.capture.arguments for e in entries])
        require_alike(entries)
        if len(entries) < len(values) + SPARE:
            raise FewSamples
        self.symbols = tuple(values)
        self.ways = Ways({name: prime_from(max(found)) for name, found in values.items()})
        fitting = Fitting(values, self.ways)
        self.where = places_of(fitting, [e.capture.arguments for e in entries])
        self.loose = fitting.unified([e.loose for e in entries])
        captures = [e.capture for e in entries]
        self.arguments = fitting.unified([c.arguments for c in captures])
        self.result = fitting.unified([result_of(e) for e in entries])
        require_same_surroundings(fitting, captures)
        self.constants: list[tuple[int, Constant]] = []
        self.buffers = buffers_of(fitting, entries, self.constants)
        self.floats: list[
            tuple[int, Sized]
        ] = []  # numbers that lie in memory, since they depend on sizes
        whole = [e.program.instructions for e in entries]
        self.instructions = [
            self._instruction(fitting.unified(x)) for x in zip(*whole, strict=True)
        ]
        self._require_whole_constants()
        self.calls = calls_of(fitting, captures)
        self.most = {name: max(found) * 3 // 2 for name, found in values.items()}
        self.stretches = self._cut(native, threads)

    def kept(self) -> bool:
        """Whether there is machine code of it from earlier, or from a process beside; it is taken then."""
        from ..native.disk_cache.lowered import kept

        for stretch in self.stretches:
            if not stretch.why and stretch.lowered is None:
                stretch.lowered = kept(*stretch.request)
        return all(s.why or s.lowered is not None for s in self.stretches)

    @property
    def requests(self) -> list[Any]:
        """What has still to be lowered."""
        return [s.request for s in self.stretches if not s.why and s.lowered is None]

    def finish(self) -> None:
        """Lower what has to be, and make ready what each size needs."""
        from ..native.disk_cache.lowered import lowered

        for stretch in self.stretches:
            if not stretch.why:
                stretch.lowered = stretch.lowered or lowered(*stretch.request)
                stretch.request = None
                stretch.words = Words(_score(stretch.lowered), self.symbols)
                stretch.scratch = Words([_text(stretch.lowered.scratch)], self.symbols)
        decisions = [d for s in self.stretches if s.lowered is not None for d in s.lowered.ways]
        self.decisions = decisions
        self._holds = holding(decisions, self.symbols)
        self.stays_within = staying_within(self._views(), self.buffers, self.symbols)
        self.memory = self._memory()
        self.fill_calls = filling(self.calls)
        self.fill_result = filling(self.result)
        self.fill_arguments = [
            filling(view) or (lambda at, view=view: view) for view in self.arguments
        ]
        self.fill_instructions = {
            i: filling(self.instructions[i])
            for s in self.stretches
            if s.why
            for i in range(s.first, s.last)
        }
        self.stops: Any = None
        self.steady: Any = None
        self.lock = threading.RLock()
        self.inside = 0
        self.records: Any = weakref.WeakSet()  # those that were made for sizes
        self.followed: set[tuple[int, ...]] = set()  # and those at which Python was followed
        self.tried: set[tuple[int, ...]] = set()  # sizes that were held against a run as written
        self.auditing = 0.0  # seconds that audits have taken
        self.price = 0.0  # of the next one, about

    def _views(self) -> Iterator[View]:
        """All places that are read or written."""
        for instruction in self.instructions:
            yield from instruction.reads()
            yield from instruction.writes()
        yield from self.arguments
        for leaf in NESTS.leaves(self.result):
            if isinstance(view := getattr(leaf, "view", None), View):
                yield view

    def _require_whole_constants(self) -> None:
        """A constant is as large as its memory, at any size."""
        for number, constant in self.constants:
            size: Any = constant.largest.itemsize
            for n in constant.shape:
                size = n * size
            if not same(size, self.buffers[number].nbytes):
                raise Unlike("a constant that lies in memory of another size")

    def affords_audit(self) -> bool:
        """Whether all replays together can pay for another audit."""
        spent = sum(
            r.calls * r.audits.replay_seconds for r in self.records if r.audits.replay_seconds < 1
        )
        return bool(SHARE * spent > self.auditing + self.price)

    def _instruction(self, instruction: Any) -> Any:
        """Constants that depend on sizes become numbers in memory."""
        if not has_sizes(instruction):
            return instruction
        if isinstance(instruction, Map):
            inputs = tuple([self._operand(x, instruction.output) for x in instruction.inputs])
            instruction = replace(instruction, inputs=inputs)
        if isinstance(instruction, Call):
            return instruction
        if any(_is_sized(x) for x in NESTS.leaves(instruction)):
            raise Unlike("a constant that depends on sizes, in an instruction that has no other")
        return instruction

    def _operand(self, operand: Any, output: View) -> Any:
        if not _is_sized(operand):
            return operand
        sized: Sized = operand.value
        number = len(self.buffers)
        self.buffers.append(Buffer(number, sized.dtype.itemsize, Kind.CONSTANT))
        self.floats.append((number, sized))
        return View(number, 0, output.shape, (0,) * len(output.shape), sized.dtype)

    # --- lowering ----------------------------------------------------------------------------------

    def _cut(self, native: Any, threads: int) -> list[Stretch]:
        from ..native.llvm import jit

        concrete = self.base.program.instructions
        found: list[Stretch] = []
        for at, instruction in enumerate(concrete):
            why = "a call from Python" if isinstance(instruction, Call) else ""
            why = why or native.can_lower(instruction) or ""
            if found and bool(found[-1].why) == bool(why):
                found[-1].last = at + 1
            else:
                found.append(Stretch(at, at + 1, why))
        readers: dict[int, int] = {}
        for number, stretch in enumerate(found):
            for instruction in concrete[stretch.first : stretch.last]:
                for view in instruction.reads():
                    readers[view.buffer] = number
        seen = {b.number for b in self.buffers if b.kind is not Kind.SCRATCH}
        by_number = {b.number: b for b in self.buffers}
        for number, stretch in enumerate(found):
            if not stretch.why:
                later = {buffer for buffer, last in readers.items() if last > number}
                part = self.instructions[stretch.first : stretch.last]
                needed = frozenset(seen | later)
                vector_bytes = jit.host().vector_bytes
                stretch.request = part, by_number, needed, vector_bytes, threads, self.ways
        return found

    def _memory(self) -> Memory:
        """Places for the largest sizes seen, which smaller ones use as well."""
        from ..program.memory_planning import Use
        from ..run.replay import _use, _written_over

        buffers = []
        for buffer in self.buffers:
            size: Any = buffer.nbytes
            nbytes = max(most_of(size, self.most), 0)
            array = buffer.array
            if type(size) is Size and buffer.kind is Kind.KEPT:
                array = np.zeros(max(nbytes, 1), np.uint8)
            if array is None and buffer.kind is Kind.CONSTANT:
                array = np.zeros(max(nbytes, 1), np.uint8)
            buffers.append(Buffer(buffer.number, nbytes, buffer.kind, array))
        uses: list[Use] = []
        for stretch in self.stretches:
            if stretch.lowered is not None:
                uses.extend(map(_use, stretch.lowered.kernels))
                continue
            for instruction in self.base.program.instructions[stretch.first : stretch.last]:
                views = (*instruction.reads(), *instruction.writes())
                pairs = _written_over(instruction)
                uses.append(Use({view.buffer for view in views}, in_place=pairs))
        return Memory(Program(buffers, [], []), uses)

    # --- sizes -------------------------------------------------------------------------------------

    def values_of(self, loose: Any, tensors: Sequence[Any]) -> tuple[int, ...] | None:
        """What the symbols are in a call of this form; None if it is another one."""
        try:
            found = tuple([tensors[i]._data.shape[d] for i, d in self.where])
        except IndexError:
            return None
        if any(n < LEAST for n in found):
            return None
        at = Values(dict(zip(self.symbols, found, strict=True)))
        if not at.matches(self.loose, loose) or not self._holds(*found):
            return None
        if any(constant.at(at) is None for _, constant in self.constants):
            return None
        return found

    def has_room_for(self, values: tuple[int, ...]) -> bool:
        return all(n <= self.most[name] for name, n in zip(self.symbols, values, strict=True))

    def make_room_for(self, values: tuple[int, ...]) -> None:
        """Plan memory anew, for more than is needed now."""
        for name, n in zip(self.symbols, values, strict=True):
            if n > self.most[name]:
                self.most[name] = n + n // 2
        self.memory = self._memory()

    def program_at(self, at: Values) -> Program:
        """The program for a size, as a record of it would have it."""
        floats = dict(self.floats)
        count = len(self.base.program.buffers)

        def filled(leaf: Any) -> Any:
            if type(leaf) is View and leaf.buffer in floats:
                return Number(at.float(floats[leaf.buffer]))
            return at.filled(leaf)

        instructions = []
        for instruction, before in zip(
            self.instructions, self.base.program.instructions, strict=True
        ):
            if instruction is before:
                instructions.append(before)
            elif isinstance(instruction, Map):
                inputs = tuple([filled(x) for x in instruction.inputs])
                instructions.append(
                    replace(instruction, inputs=inputs, output=at.filled(instruction.output))
                )
            else:
                instructions.append(at.filled(instruction))
        buffers = [Buffer(b.number, at.of(b.nbytes), b.kind, b.array) for b in self.buffers[:count]]
        for number, constant in self.constants:
            buffers[number].array = constant.at(at)
        return Program(buffers, instructions, self.base.program.sites)


class FewSamples(Exception):
    """Records at more sizes are needed."""


class Values:
    """The symbols' values, and what depends on them."""

    def __init__(self, values: dict[str, int]) -> None:
        self.values = values
        self._known: dict[Any, int] = {}
        # By the object, which is held so that no other one can come to lie there: terms take long to hash.
        self._seen: dict[int, tuple[Size, int]] = {}

    def of(self, number: Any) -> Any:
        if type(number) is not Size:
            return number
        seen = self._seen.get(id(number))
        if seen is not None:
            return seen[1]
        found = self._known.get(number.terms)
        if found is None:
            found = self._known[number.terms] = self._value(number.terms)
        self._seen[id(number)] = number, found
        return found

    def _value(self, terms: Any) -> int:
        total = 0
        for monomial, count in terms:
            for atom, power in monomial:
                if type(atom) is str:
                    value = self.values[atom]
                else:
                    operator, inner, other = atom
                    value = self._value(inner)
                    value = value // other if operator == "//" else value % other
                count *= value**power
            total += count
        return total

    def float(self, sized: Sized) -> Any:
        return sized.at(self.of(sized.number))

    def filled(self, value: Any) -> Any:
        """Numbers in place of expressions, in whatever holds them."""
        fill = filling(value)
        return value if fill is None else fill(self)

    def matches(self, pattern: Any, found: Any) -> bool:
        """Whether a form is this pattern's."""
        kind = type(pattern)
        if kind is Size:
            return type(found) is int and self.of(pattern) == found
        if kind is tuple:
            if type(found) is not tuple or len(found) != len(pattern):
                return False
            return all(map(self.matches, pattern, found))
        return pattern is found or bool(pattern == found and type(found) is kind)


Fill = Callable[[Values], Any]
_WITHOUT = frozenset((int, str, bool, float, type(None)))


def filling(value: Any) -> Fill | None:
    """What puts numbers in place of the expressions in something; None where there are none."""
    kind = type(value)
    if kind in _WITHOUT:
        return None
    if kind is Size:
        return lambda at: at.of(value)
    if kind is Sized:
        return lambda at: at.float(value)
    if kind is Repeated:
        return lambda at: value.kind([value.part] * at.of(value.count))
    if kind is Tupled:
        return _filling_parts(list(value.parts), value.kind) or (lambda at: value.kind(value.parts))
    if kind is Constant:
        return value.at  # type: ignore[no-any-return]
    if isinstance(value, (tuple, list)):
        make = (lambda parts: kind(*parts)) if hasattr(kind, "_fields") else kind
        return _filling_parts(list(value), make)
    if kind is dict:
        keys = list(value)
        return _filling_parts(list(value.values()), lambda p: dict(zip(keys, p, strict=True)))
    names = names_of(kind)
    if names:
        return _filling_parts([getattr(value, n) for n in names], lambda parts: kind(*parts))
    return None


def _filling_parts(parts: list[Any], make: Callable[[list[Any]], Any]) -> Fill | None:
    fills = [(i, fill) for i, fill in enumerate(map(filling, parts)) if fill is not None]
    if not fills:
        return None

    def fill(at: Values) -> Any:
        found = parts.copy()
        for i, one in fills:
            found[i] = one(at)
        return make(found)

    return fill


def _is_sized(operand: Any) -> bool:
    return isinstance(operand, Number) and type(operand.value) is Sized


def _text(number: Any) -> Any:
    return number.text() if type(number) is Size else number


def _score(lowered: Any) -> list[Any]:
    """The calls of a program as `player` reads them, with texts in place of what depends on sizes."""
    words: list[Any] = []
    for function, units, flags, pointers, numbers in lowered.calls:
        words += [lowered.functions[function].address, units, flags, len(pointers), len(numbers)]
        for base, far in pointers:
            words += base, far
        words += [0] * len(pointers)
        words += numbers
    return words


__all__ = ["FewSamples", "NotSymbolic", "Template", "Unlike", "Values"]
