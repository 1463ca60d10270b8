"""One run of a function on the tape: its program, what goes in, what comes out, what else it does."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .._autograd.modes import modes
from .._autograd.sites import resolve
from .._autograd.views import detached
from .._tensor.tensor import Tensor
from .differentiable import differentiate
from .errors import cannot_record
from .ir import Kind, Program, View
from .lifting import Lifting, grad_of, pause, plain, recording, set_plain, was_read
from .recorded import Recorded
from .updates import Update, record_update


@dataclass(slots=True)
class Made:
    """A tensor that the run made and gave back."""

    view: View
    requires_grad: bool
    used: bool  # whether its graph went backward inside
    root: int | None = None  # its number among the results that can go backward


@dataclass(slots=True)
class Given:
    """A tensor that came in: argument number, or one from outside."""

    argument: int | None
    tensor: Any


@dataclass(slots=True)
class Capture:
    """What a run was."""

    program: Program
    arguments: list[View]
    outside: list[tuple[Tensor, Any]]  # tensors whose memory the program uses, with their arrays
    result: Any  # what was returned, with Made and Given in place of tensors
    returned: Any  # what was returned, as it was
    effects: list[Callable[[], Any]]
    grads_before: list[tuple[Tensor, Any]]  # what `.grad` has to be
    grads_after: list[tuple[Tensor, Any]]  # what `.grad` becomes
    versions: list[tuple[Any, int]]  # version counters, and by how much they grow
    updates: list[Update] = field(default_factory=list)
    argument_writes: set[int] = field(default_factory=set)
    wanted: list[bool] = field(default_factory=list)  # requires_grad of each argument
    backward: Any = None  # results that go backward, views of incoming gradients, leaves' gradients

    @property
    def inputs(self) -> list[View]:
        """Arguments, then incoming gradients."""
        return self.arguments + (self.backward[1] if self.backward else [])


class Recording(Lifting):
    """The tape of a compiled function: tensors, optimizers' updates and effects in Python."""

    def __init__(self) -> None:
        super().__init__()
        self.effects: list[Callable[[], Any]] = []
        self.updates: list[Update] = []

    def update(self, optimizer: Any, group: Any, number: int, members: Any, states: Any) -> None:
        """Called by an optimizer that is asked to step."""
        found = record_update(self, optimizer, group, number, members, states)
        self.effects.extend(found)
        self.updates.extend(found)

    def effect(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Called where Python's own state changes; a call inside such a call belongs to it."""
        if self.paused:
            return function(*args, **kwargs)
        _refuse_tensors(function, (args, kwargs))
        with pause(self):
            result = function(*args, **kwargs)
        self.effects.append(lambda: function(*args, **kwargs))
        return result


def _refuse_tensors(function: Any, value: Any) -> None:
    if isinstance(value, Tensor):
        name = getattr(function, "__qualname__", str(function))
        raise cannot_record(f"a tensor's value given to Python code ({name})", "item")
    if isinstance(value, (tuple, list)):
        for part in value:
            _refuse_tensors(function, part)
    elif isinstance(value, dict):
        _refuse_tensors(function, tuple(value.values()))


def capture(fn: Callable[..., Any], args: Any, kwargs: Any) -> Capture:
    """Run a function, and note what it does; tensors are as after any other run."""
    tape = Recording()
    tensors = list(tensors_in((args, kwargs)))
    stand_ins = {id(t): detached(t).requires_grad_() for t in tensors if t._node is not None}
    inside = [stand_ins.get(id(t), t) for t in tensors]
    if stand_ins:  # histories from outside stay outside
        args, kwargs = replaced((args, kwargs), stand_ins)
    arguments = []
    for i, tensor in enumerate(inside):
        arguments.append(tape.argument(tensor._data))
        tape.arguments[id(tensor)] = i
    try:
        with recording(tape):
            returned = fn(*args, **kwargs)
            backward = None
            if modes.grad:
                backward = differentiate(tape, list(tensors_in(returned)), inside)
        found = _finish(tape, arguments, returned, backward)
        found.wanted = [tensor._requires_grad for tensor in inside]
        return found
    finally:
        for reference in tape.made:
            tensor = reference()
            if tensor is not None:
                set_plain(tensor, plain(tensor))


def replaced(value: Any, by: dict[int, Tensor]) -> Any:
    """Arguments with other tensors in place of some."""
    if isinstance(value, Tensor):
        return by.get(id(value), value)
    if isinstance(value, (tuple, list)):
        parts = [replaced(v, by) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {k: replaced(v, by) for k, v in value.items()}
    return value


def _finish(tape: Recording, arguments: list[View], returned: Any, backward: Any) -> Capture:
    numbers = tape.arguments
    after, before = [], []
    kept = {id(t) for t in tensors_in(returned)}
    for tensor, initial in tape.grads.values():
        final = grad_of(tensor)
        if was_read(initial):
            before.append((tensor, initial))
        if final is not initial:
            after.append((tensor, final))
            if final is not None:
                kept.add(id(final))
    roots = {key: nr for nr, key in enumerate(backward[0])} if backward else {}
    result = described(tape, returned, roots, {})
    _refuse_escapes(tape, kept)
    grads = [view for _, view in backward[2]] if backward else []
    of_leaves = [tape.view(plain(g)) for _, g in after if g is not None]
    for view in [*_views_of(result), *of_leaves, *grads]:
        buffer = tape.program.buffers[view.buffer]
        if buffer.kind is Kind.SCRATCH:
            buffer.kind = Kind.KEPT
    outside = [pair for key, pair in tape.outside.items() if key not in numbers]
    versions = [(box, box[0] - at) for box, at in tape.versions.values() if box[0] != at]
    written = {view.buffer for i in tape.program.instructions for view in i.writes()}
    return Capture(
        tape.program, arguments, outside, result, returned, tape.effects, before, after, versions,
        tape.updates, {i for i, view in enumerate(arguments) if view.buffer in written}, [], backward,
    )  # fmt: skip


def _refuse_escapes(tape: Recording, kept: set[int]) -> None:
    """A tensor that the run made and someone keeps would show the same values for ever."""

    def escaped() -> list[Tensor]:
        alive = [reference() for reference in tape.made]
        return [t for t in alive if t is not None and id(t) not in kept and id(t._base) not in kept]

    if escaped():
        gc.collect()
    for tensor in escaped():
        node = tensor._node
        where = None if node is None or node.code is None else (node.code, node.instruction)
        line = resolve(where)
        text = f" made in {line}" if line else f" of shape {tuple(plain(tensor).shape)}"
        raise cannot_record(
            f"a tensor{text} that is kept after the call, but not returned,", "escape"
        )


def described(tape: Recording, value: Any, roots: dict[int, int], seen: dict[int, Any]) -> Any:
    """What was returned, with a description in place of each tensor."""
    if isinstance(value, Tensor):
        if id(value) not in seen:
            seen[id(value)] = _described(tape, value, roots)
        return seen[id(value)]
    if isinstance(value, (tuple, list)):
        parts = [described(tape, v, roots, seen) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {k: described(tape, v, roots, seen) for k, v in value.items()}
    return value


def _described(tape: Recording, tensor: Tensor, roots: dict[int, int]) -> Made | Given:
    if id(tensor) in tape.arguments:
        return Given(tape.arguments[id(tensor)], tensor)
    held = plain(tensor)
    if id(tensor) in tape.outside or not tape.knows(held):
        return Given(None, tensor)
    node = tensor._node
    used = node is not None and node.mark != 0 and id(tensor) not in roots
    return Made(tape.view(held), tensor.requires_grad, used, roots.get(id(tensor)))


def _views_of(value: Any) -> list[View]:
    if isinstance(value, Made):
        return [value.view]
    if isinstance(value, (tuple, list)):
        return [view for part in value for view in _views_of(part)]
    return _views_of(tuple(value.values())) if isinstance(value, dict) else []


def tensors_in(value: Any) -> Any:
    """The tensors among arguments or results, in order, each once."""
    found: dict[int, Tensor] = {}
    _collect(value, found)
    return found.values()


def _collect(value: Any, found: dict[int, Tensor]) -> None:
    if isinstance(value, Tensor):
        found[id(value)] = value
    elif isinstance(value, (tuple, list)):
        for part in value:
            _collect(part, found)
    elif isinstance(value, dict):
        for part in value.values():
            _collect(part, found)


__all__ = ["Capture", "Given", "Made", "Recorded", "capture", "replaced", "tensors_in"]
