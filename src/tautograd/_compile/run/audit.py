"""Audits: now and then a call of a compiled function is recorded anew, and must become the same program.

A guard covers what it was written for; an audit covers everything else that Python can read. The function itself
runs, with all its effects, so the call's result is right whatever the audit finds. What it did is then compared with
the record, instruction by instruction: the functions, the elements they read and write, every constant to the bit,
the optimizers' formulas, what is returned. Nothing is compared by rounding, so there is no tolerance. A difference
means that a replay would have given an old number: the record is thrown away, and `AuditError` names the line.
Whether machine code does what the program says is the other half: `numeric_audit`.
"""

from __future__ import annotations

import struct
import types
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._tensor.tensor import Tensor
from ..._user_code.sites import resolve
from ..optimizers.param_group_settings import Setting
from ..optimizers.updates import Update
from ..program.ir import Call, Kind, Late, Map, Number, Program, View
from ..record.results import Given, Passed
from ..record.tensor_data import set_grad
from ..record.trees import NESTS, replaced
from .differentiable import is_cut


class AuditError(RuntimeError):
    """A compiled function would have given something else than the function itself."""


class Difference(NamedTuple):
    """Where two records of one function part."""

    what: str
    site: Any = None

    def __str__(self) -> str:
        line = resolve(self.site) if self.site is not None else None
        return f"{self.what}\n  {line}" if line else self.what


def difference(old: Any, new: Any) -> Difference | None:
    """What a function does otherwise than when `old` was recorded; None if it is the same to the bit."""
    before, now = old.program, new.program
    found = _first_parting(before, now, old.parts is not None)
    if found is not None or old.parts is not None:
        return found
    if len(before.instructions) != len(now.instructions):
        count = min(len(before.instructions), len(now.instructions))
        if count < len(now.instructions):
            return Difference(f"{shown(now.instructions[count])} is done now", now.sites[count])
        left = before.instructions[count]
        return Difference(f"{shown(left)} was recorded, and is no longer done", before.sites[count])
    for buffer, other in zip(before.buffers, now.buffers, strict=False):
        if buffer.kind is not other.kind or buffer.nbytes != other.nbytes:
            return Difference("it uses other memory than was recorded")
    found = _outside(old, new)
    if found is not None:
        return found
    for what, a, b in (
        ("it returns something else", _result(old), _result(new)),
        ("optimizers or settings differ", *_effects(old.capture.effects, new.capture.effects)),
        ("Python numbers decide otherwise", _steps(old), _steps(new)),
        (
            "other arguments are written to",
            old.capture.argument_writes,
            new.capture.argument_writes,
        ),
        ("requires_grad of an argument differs", old.capture.turned, new.capture.turned),
    ):
        if not _same(a, b):
            return Difference(f"{what}: {shown(a)} was recorded, {shown(b)} is so now")
    return None


def _first_parting(before: Program, now: Program, breaks: bool) -> Difference | None:
    """The first instructions that differ; up to a graph break, behind which each replay decides by itself."""
    constants = _Constants(before, now)
    for i, (a, b) in enumerate(zip(before.instructions, now.instructions, strict=False)):
        if breaks and (is_cut(a) or is_cut(b)):
            return None
        if not _same(a, b) or not constants.agree(a, b):
            default = f"{shown(a)} was recorded, {shown(b)} is done now"
            return Difference(constants.shown(a, b) or default, now.sites[i])
    return None


def is_the_same_run(old: Any, new: Any) -> bool:
    """Whether two records are of one course of the function, from one state on: else they cannot be compared.

    A value may have decided otherwise, another thread may have come between.
    """
    steps = ([s.outcome for s in entry.capture.scalars.steps] for entry in (old, new))
    if old.capture.decided != new.capture.decided or not _began_alike(old, new):
        return False
    return old.parts is None or _same(*steps)


def _began_alike(old: Any, new: Any) -> bool:
    """Whether gradients and memory were what the guards had seen; another thread may have changed them since."""
    for pairs in ("grads_before", "outside"):
        before, now = (
            {id(tensor): value for tensor, value in getattr(entry.capture, pairs)}
            for entry in (old, new)
        )
        if any(before[key] is not now[key] for key in before.keys() & now.keys()):
            return False
    return True


def hand_over(old: Any, result: Any) -> Any:
    """After an audit: gradients are where the record's own replays put them, in the result too."""
    moved = {}
    for tensor, grad in old.capture.grads_after:
        now = tensor._grad
        if grad is not None and now is not None and now is not grad:
            grad._data[...] = now._data
            moved[id(now)] = grad
            set_grad(tensor, grad)
    for box, version in old.capture.new_grads:
        box[0] = version
    return replaced(result, moved) if moved else result


def _effects(old: list[Any], new: list[Any]) -> tuple[Any, Any]:
    """What is done in Python; of settings those that both have written: one that is so already is not noted."""
    before, now = (
        {(id(e.group), e.name): e for e in effects if isinstance(e, Setting)}
        for effects in (old, new)
    )
    common = before.keys() & now.keys()
    rest = ([e for e in effects if not isinstance(e, Setting)] for effects in (old, new))
    return tuple(  # type: ignore[return-value]
        (others, [settings[key] for key in common])
        for others, settings in zip(rest, (before, now), strict=True)
    )


def _result(entry: Any) -> Any:
    """What is returned, with the number of a gradient in its place: each record has its own."""
    grads = {id(grad): i for i, (_, grad) in enumerate(entry.capture.grads_after)}

    def put(leaf: Any) -> Any:
        number = grads.get(id(leaf.tensor)) if isinstance(leaf, Given) else None
        return leaf if number is None else ("gradient", number)

    return NESTS.mapped(entry.capture.result, put)


def _steps(entry: Any) -> list[Any]:
    scalars = entry.capture.scalars
    values = [scalars.values[place] for place in scalars.pinned]
    steps = [(s.function, s.operands, s.kind, s.outcome) for s in scalars.steps]
    return [steps, sorted(scalars.pinned), values]


def _outside(old: Any, new: Any) -> Difference | None:
    """Tensors that live outside: the same ones, and those that get a gradient."""
    for what, a, b in (
        ("reads", old.capture.outside, new.capture.outside),
        ("sets the gradients of", old.capture.grads_after, new.capture.grads_after),
    ):
        before, now = ([tensor for tensor, _ in pairs] for pairs in (a, b))
        if len(before) != len(now) or any(x is not y for x, y in zip(before, now, strict=True)):
            return Difference(f"it {what} other tensors than were recorded")
    for (_, a), (_, b) in zip(old.capture.grads_after, new.capture.grads_after, strict=True):
        if (a is None) is not (b is None):
            return Difference(
                "it leaves a gradient where there was none, or none where there was one"
            )
    return None


# --- the same, to the bit --------------------------------------------------------------------------


class _Constants:
    """The constants that instructions read, and memory from outside that they use."""

    def __init__(self, before: Program, now: Program) -> None:
        self.before, self.now = before.buffers, now.buffers
        self.known = dict.fromkeys(_never_read(before), True)

    def agree(self, a: Any, b: Any) -> bool:
        return all(self._same(v.buffer) for x in (a, b) for v in (*x.reads(), *x.writes()))

    def _same(self, number: int) -> bool:
        if number not in self.known:
            a, b = self.before[number], self.now[number]
            if a.kind is not b.kind or a.nbytes != b.nbytes:
                self.known[number] = False
            elif a.kind is Kind.CONSTANT:
                self.known[number] = _same(a.array, b.array)
            else:
                self.known[number] = True
        return self.known[number]

    def shown(self, a: Any, b: Any) -> str:
        """A constant that differs, in words."""
        for view in a.reads():
            if not self._same(view.buffer) and self.before[view.buffer].kind is Kind.CONSTANT:
                was, now = (shown(x[view.buffer].array) for x in (self.before, self.now))
                return f"{shown(a)} reads {was} of the record, where {now} is read now"
        return ""


def _never_read(program: Program) -> set[int]:
    """Constants that are copied only to be overwritten by random numbers: `torch.empty(3).uniform_()`."""
    found, copies = set(), {}
    for instruction in program.instructions:
        if isinstance(instruction, Map) and instruction.function == "cast":
            source = instruction.inputs[0]
            if isinstance(source, View) and program.buffers[source.buffer].kind is Kind.CONSTANT:
                copies[instruction.output.buffer] = instruction.output, source.buffer
                continue
        for view in (*instruction.writes(), *instruction.reads()):
            output, constant = copies.pop(view.buffer, (None, -1))
            draws = isinstance(instruction, Call) and instruction.effect
            if draws and output is not None and output.size == view.size:
                found.add(constant)
    return found


def _same(a: Any, b: Any) -> bool:
    """Whether two parts of records are equal, to the bit; what has no content of its own must be the same object."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, View):
        return bool(a == b)
    if isinstance(a, (Late, Tensor)):
        return isinstance(a, Late)  # a number of each call
    if isinstance(a, Number):
        return _same(a.value, b.value)
    if isinstance(a, (np.ndarray, np.generic)):
        alike = a.dtype == b.dtype and a.shape == b.shape
        return bool(
            alike and (a.dtype.hasobject or np.asarray(a).tobytes() == np.asarray(b).tobytes())
        )
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, complex):
        return _same(a.real, b.real) and _same(a.imag, b.imag)
    if isinstance(a, Update):
        return a.optimizer is b.optimizer and a.number == b.number and _same(a.flags, b.flags)
    if isinstance(a, Setting):
        return bool(a.group is b.group and a.name == b.name and _same(a.value, b.value))
    if isinstance(a, Given):
        return bool(a.argument == b.argument and (a.argument is not None or a.tensor is b.tensor))
    if isinstance(a, Passed):
        return bool(a.path == b.path)
    return _same_parts(a, b)


def _same_parts(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return _same(list(a.items()), list(b.items()))
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, (set, frozenset)):
        return bool(a == b)
    if isinstance(a, partial):
        return all(_same(getattr(a, n), getattr(b, n)) for n in ("func", "args", "keywords"))
    if isinstance(a, types.MethodType):
        return a.__func__ is b.__func__ and (
            a.__self__ is b.__self__ or _same(a.__self__, b.__self__)
        )
    if isinstance(a, types.FunctionType):
        cells = ([c.cell_contents for c in f.__closure__ or ()] for f in (a, b))
        return a.__code__ is b.__code__ and _same(*map(list, cells))
    if is_dataclass(a):
        return all(_same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a) if f.compare)
    compares: Any = type(a).__eq__
    try:
        return compares is object.__eq__ or bool(a == b)
    except Exception:  # a class of the user's, which cannot be compared
        return True


def shown(value: Any) -> str:
    """A part of a record in a few words."""
    text: str
    if isinstance(value, np.ndarray):
        text = repr(value.tolist() if value.size <= 4 else f"{value.dtype} array {value.shape}")
    elif hasattr(value, "reads"):
        name = getattr(value, "function", type(value).__name__.lower())
        name = name if isinstance(name, str) else getattr(name, "__name__", repr(name))
        numbers = [shown(x.value) for x in getattr(value, "inputs", ()) if isinstance(x, Number)]
        where = next(iter(value.writes()), None)
        shape = "" if where is None else f" of shape {where.shape}"
        text = f"`{name}`{shape}" + (f" with {', '.join(numbers)}" if numbers else "")
    else:
        text = repr(value)
    return text if len(text) < 120 else text[:117] + "…"
