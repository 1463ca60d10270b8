"""One run of a function on the tape: its program, what goes in, what comes out, what else it does."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .._autograd.modes import modes
from .._autograd.sites import internal, resolve
from .._autograd.views import detached
from .._tensor.tensor import Tensor
from ..optim._elementwise import Elementwise
from .differentiable import differentiate
from .errors import cannot_record
from .generators import noting_seeds
from .ir import Kind, Program, View
from .lifting import Lifting, grad_of, pause, plain, recording, set_plain, was_read
from .nests import mapped, replaced, tensors_in
from .recorded import Recorded
from .released import held_by, release
from .tape import Tape
from .updates import Fixed, Update, record_update


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
class Seen:
    """A view that was given back, of something else that the caller has."""

    base: Any
    way: Any  # the view operations that lead to it; None: the same memory, without history
    requires_grad: bool = False


@dataclass(slots=True)
class Capture:
    """What a run was."""

    program: Program
    arguments: list[View]
    outside: list[tuple[Tensor, Any]]  # tensors whose memory the program uses, with their arrays
    result: Any  # what was returned, with Made and Given in place of tensors
    effects: list[Callable[[], Any]]
    grads_before: list[tuple[Tensor, Any]]  # what `.grad` has to be
    grads_after: list[tuple[Tensor, Any]]  # what `.grad` becomes
    versions: list[tuple[Any, int]]  # version counters, and by how much they grow
    updates: list[Update] = field(default_factory=list)
    argument_writes: set[int] = field(default_factory=set)
    tensors: list[Tensor] = field(default_factory=list)  # the arguments
    fixed: list[Fixed] = field(default_factory=list)
    growth: list[int] = field(default_factory=list)  # of the arguments' version counters
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
        self.fixed: list[Fixed] = []
        self.stand_ins: dict[int, tuple[Tensor, Tensor]] = {}

    def update(self, optimizer: Any, group: Any, number: int, members: Any, states: Any) -> None:
        """Called by an optimizer that is asked to step."""
        found = record_update(self, optimizer, group, number, members, states)
        self.effects.extend(found)
        self.updates.extend(found)

    def stepping(self, optimizer: Any) -> None:
        """Called before an optimizer steps."""
        plain = not any(group.get("differentiable") for group in optimizer.param_groups)
        if not (isinstance(optimizer, Elementwise) and plain):
            with pause(self):
                self.fixed.append(Fixed.of(optimizer))

    def effect(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Called where Python's own state changes; a call inside such a call belongs to it."""
        if self.paused or self.dead:
            return function(*args, **kwargs)
        _refuse_tensors(self, function, (args, kwargs))
        with pause(self):
            result = function(*args, **kwargs)
        self.effects.append(lambda: function(*args, **kwargs))
        return result

    def asked(self, what: str, advice: str) -> None:
        """Called where a tensor's values would leave the engine."""
        if not (self.paused or self.dead):
            self.refuse(what, advice)

    def writes_leaf(self, tensor: Tensor) -> None:
        """Called before a write into a leaf is refused: it may only stand in for an argument."""
        if id(tensor) in self.stand_ins:
            raise cannot_record("a write into an argument that has a history", "clone")

    def hooked(self, hook: Any, args: Any, kwargs: Any) -> Any:
        """Called with each hook of the user's; one that only looks on cannot be recorded."""
        before = len(self.program.instructions), len(self.effects)
        result = hook(*args, **kwargs)
        after = len(self.program.instructions), len(self.effects)
        if result is None and before == after and not self.dead and _is_users(hook):
            self.refuse(f"{_named(hook)}, which only looks on,", "hook")
        return result


def _is_users(hook: Any) -> bool:
    code = getattr(inspect.unwrap(hook), "__code__", None)
    return code is None or not internal[code.co_filename]


def _named(hook: Any) -> str:
    code = getattr(inspect.unwrap(hook), "__code__", None)
    name = getattr(hook, "__qualname__", type(hook).__name__)
    return f"the hook `{name}`" + (f" ({code.co_filename}:{code.co_firstlineno})" if code else "")


def _refuse_tensors(tape: Tape, function: Any, value: Any) -> None:
    if isinstance(value, Tensor):
        name = getattr(function, "__qualname__", str(function))
        tape.refuse(f"a tensor's value given to Python code ({name})", "item")
    if isinstance(value, (tuple, list)):
        for part in value:
            _refuse_tensors(tape, function, part)
    elif isinstance(value, dict):
        _refuse_tensors(tape, function, tuple(value.values()))


def capture(
    fn: Callable[..., Any], args: Any, kwargs: Any, surroundings: Any, tolerant: bool = False
) -> Capture:
    """Run a function, and note what it does; tensors are as after any other run.

    What cannot be recorded is an error, and what was done before it stays done. A `tolerant` run goes on
    as an ordinary one from there; the error then carries what the function gave.
    """
    tape = Recording()
    tape.tolerant = tolerant
    tensors = list(tensors_in((args, kwargs)))
    stand_ins = {id(t): detached(t).requires_grad_() for t in tensors if t._node is not None}
    inside = [stand_ins.get(id(t), t) for t in tensors]
    if stand_ins:  # histories from outside stay outside
        args, kwargs = replaced((args, kwargs), stand_ins)
    pairs = {id(s): (s, t) for s, t in zip(inside, tensors, strict=True) if s is not t}
    tape.stand_ins = pairs
    arguments = []
    for i, tensor in enumerate(inside):
        arguments.append(tape.argument(tensor._data))
        tape.arguments[id(tensor)] = i
    try:
        with recording(tape), noting_seeds():
            surroundings.begin(tape)
            returned = fn(*args, **kwargs)
            surroundings.settle(tape)
            for optimizer in tape.fixed:
                optimizer.settle(tape)
            if any(stand_in._grad is not None for stand_in, _ in pairs.values()):
                tape.refuse("a backward pass into the history of an argument", "past")
            backward = None
            if modes.grad and tape.failure is None:
                backward = differentiate(tape, list(tensors_in(returned)), inside, tolerant)
        if tape.failure is None:
            found = _finish(tape, arguments, inside, returned, backward)
            found.wanted = [tensor._requires_grad for tensor in inside]
            found.tensors, found.fixed = tensors, tape.fixed
        if tape.failure is None:
            return found
    finally:
        tape.dead = True
        for reference in tape.made:
            tensor = reference()
            if tensor is not None:
                set_plain(tensor, plain(tensor))
    release(returned, pairs)  # also where the function itself caught the error
    back = {id(stand_in): tensor for stand_in, tensor in pairs.values()}
    tape.failure.finished = (replaced(returned, back),)
    raise tape.failure


def _finish(
    tape: Recording, arguments: list[View], inside: list[Tensor], returned: Any, backward: Any
) -> Capture:
    numbers = tape.arguments
    after, before = [], []
    results = list(tensors_in(returned))
    kept = {id(r) for r in results} | {id(r._base) for r in results if r._base is not None}
    for tensor, initial in tape.grads.values():
        final = grad_of(tensor)
        if was_read(initial):
            before.append((tensor, initial))
        if final is not initial:
            after.append((tensor, final))
            if final is not None:
                kept.add(id(final))
    roots = {key: nr for nr, key in enumerate(backward[0])} if backward else {}
    result = described(tape, returned, roots)
    if tape.tolerant:  # then the graph is still there
        kept |= held_by(tensors_in(returned))
    _refuse_escapes(tape, kept)
    grads = [view for _, view in backward[2]] if backward else []
    for _, gradient in after:  # from now on a tensor's own memory
        if gradient is not None:
            _becomes(tape, tape.view(plain(gradient)), Kind.EXTERNAL)
    for view in [*_views_of(result), *grads]:
        _becomes(tape, view, Kind.KEPT)
    outside = [pair for key, pair in tape.outside.items() if key not in numbers]
    own = {id(tensor._version_box) for tensor in inside}
    versions = [
        (box, box[0] - at)
        for key, (box, at) in tape.versions.items()
        if box[0] != at and key not in own
    ]
    written = {view.buffer for i in tape.program.instructions for view in i.writes()}
    return Capture(
        tape.program, arguments, outside, result, tape.effects, before, after, versions,
        tape.updates, {i for i, view in enumerate(arguments) if view.buffer in written},
        backward=backward, growth=[tape.growth(tensor) for tensor in inside],
    )  # fmt: skip


def _becomes(tape: Recording, view: View, kind: Kind) -> None:
    buffer = tape.program.buffers[view.buffer]
    if buffer.kind is Kind.SCRATCH:
        buffer.kind = kind


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
        tape.refuse(f"a tensor{text} that is kept after the call, but not returned,", "escape")
        return


def described(tape: Recording, value: Any, roots: dict[int, int]) -> Any:
    """What was returned, with a description in place of each tensor."""
    seen: dict[int, Any] = {}

    def describe(leaf: Any) -> Any:
        if hasattr(type(leaf), "__next__") or inspect.isawaitable(leaf):
            tape.refuse("an iterator as a result", "iterator")
        if not isinstance(leaf, Tensor):
            return leaf
        if id(leaf) not in seen:
            if leaf._base is not None and id(leaf) not in tape.arguments:
                seen[id(leaf)] = _described_view(tape, leaf, roots, seen)
            else:
                seen[id(leaf)] = _described(tape, leaf, roots)
        return seen[id(leaf)]

    for tensor in tensors_in(value):  # views come after what they are views of
        if tensor._base is None:
            describe(tensor)
    return mapped(value, describe)


def _described_view(
    tape: Recording, tensor: Tensor, roots: dict[int, int], seen: dict[int, Any]
) -> Any:
    """A view of something that the caller has too is made again as one."""
    base: Any = tensor._base
    if id(tensor) in tape.outside:
        return Given(None, tensor)
    if id(base) in tape.arguments:
        return Seen(Given(tape.arguments[id(base)], base), tensor._view, tensor.requires_grad)
    if id(base) in seen:
        return Seen(seen[id(base)], tensor._view, tensor.requires_grad)
    if id(base) in tape.outside:
        return Seen(Given(None, base), tensor._view, tensor.requires_grad)
    return _described(tape, tensor, roots)


def _described(tape: Recording, tensor: Tensor, roots: dict[int, int]) -> Made | Given | Seen:
    if id(tensor) in tape.arguments:
        return Given(tape.arguments[id(tensor)], tensor)
    held = plain(tensor)
    is_gradient = any(tensor is grad_of(leaf) for leaf, _ in tape.grads.values())
    if id(tensor) in tape.outside or is_gradient or not tape.knows(held):
        return Given(None, tensor)
    for place, other in _known(tape):
        if plain(other) is held:
            return Seen(place, None)
    used = tensor._node is not None and id(tensor) not in roots
    return Made(tape.view(held), tensor.requires_grad, used, roots.get(id(tensor)))


def _known(tape: Recording) -> Iterator[tuple[Given, Tensor]]:
    for tensor, _ in tape.outside.values():
        yield Given(tape.arguments.get(id(tensor)), tensor), tensor


def _views_of(value: Any) -> list[View]:
    if isinstance(value, Made):
        return [value.view]
    if isinstance(value, Seen):
        return _views_of(value.base)
    if isinstance(value, (tuple, list)):
        return [view for part in value for view in _views_of(part)]
    return _views_of(tuple(value.values())) if isinstance(value, dict) else []


__all__ = ["Capture", "Given", "Made", "Recorded", "Seen", "capture", "replaced", "tensors_in"]
