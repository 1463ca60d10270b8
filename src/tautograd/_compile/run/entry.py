"""A record with its program and its guards, and what a replay does besides running the program."""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..._autograd.backward_pass.arrivals import set_or_add
from ..._autograd.modes import modes
from ..._tensor.tensor import Tensor, make
from ..._user_code.sites import resolve
from ..guards.environment import Surroundings
from ..guards.guards import Form, Guards
from ..guards.module_guards import noting
from ..program.ir import Call, Kind
from ..program.memory import Memory
from ..program.passes import improved
from ..record.capture import Capture, capture
from ..record.graph_breaks import Parts
from ..record.results import Computed, Given, Made, Passed, Seen, seen_again
from ..record.symbolic_numbers import FLOATS
from ..record.tensor_data import set_grad
from ..record.trees import NESTS, replaced, tensors_in
from ..record.varying_numbers import Spot
from .audit_schedule import Schedule
from .clock import moment
from .differentiable import Differentiable, UsedNode, is_cut
from .executable import ready, uncollected
from .fast_entry import MISS, STOPPED
from .fast_numbers import way_in
from .rollback import STOPS, Stops

_PER_INSTRUCTION = (
    2048  # bytes that an instruction takes as Python's objects, with what is known of it
)
_CHANGEABLE = (set, deque, bytearray, np.ndarray)  # what a caller may change


class Entry:
    """One way in which the function runs."""

    # What each call asks has a fixed place in the object, which machine code reads without a search.
    __slots__ = ("__dict__", "__weakref__", "calls", "inside", "quick")

    def __init__(
        self, fn: Callable[..., Any], form: Form, call: Any, found: Capture, guards: Guards, native: bool
    ) -> None:  # fmt: skip
        self.fn = fn
        self.name = getattr(fn, "__qualname__", type(fn).__name__)
        self.key, self.loose = form.key, form.loose
        self.kept = form.kept  # so that an id in the key stays that of what it was
        self.call = call  # arguments with Given in place of tensors
        self.capture = found
        self.guards = guards
        self.lock = threading.RLock()
        # Under the lock: how far into the program its thread is. What comes in between (a signal's handler, a
        # finaliser) and calls the function again must not use the same memory.
        self.inside = 0
        self.recorded_size = len(found.program.instructions)
        with uncollected():
            self.program = improved(found.program)
            self.replay_of = self._ready(native)
        self.size = len(self.program.instructions)
        self.nbytes = self._nbytes()
        self.has_calls_with_effects = any(
            isinstance(i, Call) and i.effect and not is_cut(i) for i in self.program.instructions
        )
        self.calls = 0
        self.audits = Schedule()
        self.made_tensors: dict[int, Tensor] = {}  # results that can go backward, by their number
        self._made: dict[int, Tensor] = {}
        self._arrays: list[Any] = []  # of this call's arguments
        self.differentiable = None if found.backward is None else Differentiable(self)
        self.modes = modes.way[0], modes.lower
        self.adds = any(
            grad is not None for _, grad in guards.grads
        )  # to gradients that were there
        had_none = {id(tensor) for tensor, grad in guards.grads if grad is None}
        self._first_grads = [(t, g) for t, g in found.grads_after if id(t) in had_none]
        self._other_grads = [(t, g) for t, g in found.grads_after if id(t) not in had_none]
        self._nodes: dict[int, Any] = {}
        self.form = _form(call, found)
        self._from_outside = {id(value) for _, value, _ in guards.variables.contents}
        self.has_views = any(isinstance(leaf, Seen) for leaf in NESTS.leaves(found.result))
        self.parts = Parts(self) if found.splits else None
        self.stops = Stops(self)
        self.quick: Any = None
        self.not_followed: str | None = None  # why its Python cannot be
        self.followed_calls: Any = None  # by which its Python is followed: see `sound/`
        self.calls_noted: Any = None  # the same, where it is skipped: audits go by them
        self.steady: Any = None  # what the quick way goes by
        self.followed = form.symbolic  # the floats among the arguments that are inputs
        self.decides = any(step.outcome is not None for step in found.scalars.steps)
        self.numbers: Any = ()  # of this call
        self.given: Any = ()  # its arguments, as they came in
        self.spots: list[Spot] = []  # where other inputs are
        self.asked_spots: list[Spot] = []  # those whose value was asked for

    @classmethod
    def recorded(
        cls, around: Surroundings, args: Any, kwargs: Any, native: bool, tolerant: bool
    ) -> tuple[Entry, Any]:
        """Run a function while recording it; what it gave is given back."""
        fn, form = around.fn, around.form
        tensors = list(tensors_in((args, kwargs)))
        with noting(around.modules):
            found = capture(fn, args, kwargs, around, tolerant)
        call = replaced((args, kwargs), {id(t): Given(i, None) for i, t in enumerate(tensors)})
        call = _with_numbers(call, form)
        found.scalars.close()
        asked = [i - len(form.symbolic) for i in found.scalars.pinned if i >= len(form.symbolic)]
        inputs = {spot.key for i, spot in enumerate(around.spots) if i not in asked}
        around.variables.leave_out(inputs)
        around.modules.leave_out(inputs)
        if not around.reads_guarded:
            around.variables.forget()
        guards = Guards(found, around.modules, around.variables)
        entry = cls(fn, form, call, found, guards, native)
        entry.spots = around.spots
        entry.asked_spots = [around.spots[i] for i in asked]
        if entry.replay_of.take_over():
            guards.look_at_memory(found)
        entry.quick = entry._way_in()
        entry.numbers = found.scalars.values
        entry.given = args, kwargs
        return entry, entry.finish(tensors, [t._data for t in tensors], recorded=True)

    def _ready(self, native: bool) -> Any:
        found = self.capture
        return ready(self.name, self.program, found.inputs, native, found.left)

    def _way_in(self) -> Any:
        return way_in(self)

    def _nbytes(self) -> int:
        """The memory that it takes, about: what the program computes in and keeps, and the program itself."""
        kept = [b.nbytes for b in self.program.buffers if b.kind in (Kind.KEPT, Kind.CONSTANT)]
        own: int = self.replay_of.scratch_bytes
        return own + sum(kept) + _PER_INSTRUCTION * self.recorded_size

    @property
    def seconds(self) -> float:
        """The least that a replay has taken, with the function's Python where that runs too."""
        followed = self.followed_calls
        if followed is not None:
            return float(followed.python + followed.program)
        return self.audits.replay_seconds

    @property
    def is_due(self) -> bool:
        """Whether the function is recorded anew in place of this replay; what is followed has run by itself."""
        follows = self.followed_calls is not None and self.audits.mode != "always"
        return not follows and self.calls >= self.audits.due

    def make_room(self) -> bool:
        """Before the function runs as written in place of a replay: that must not need the memory of both.

        Whether it was much, so that what the run has used is to be given back, too.
        """
        memory = getattr(self.replay_of, "memory", None)
        with self.alone() as alone:
            return bool(alone and isinstance(memory, Memory) and memory.empty_scratch())

    def take_times(self) -> None:
        """Measure the next few replays by the shortest way."""
        if self.quick is not None:
            self.quick = self.audits.timed(self.quick, self)

    @property
    def asked(self) -> list[int]:
        """The floats among the arguments whose value was asked for, by their number."""
        return [self.followed[i] for i in self.capture.scalars.pinned if i < len(self.followed)]

    def where_asked(self) -> str:
        """The line that asked for the value of a number."""
        line = resolve(next(iter(self.capture.scalars.pinned.values())))
        return f", in {line}" if line else ""

    def holds_for(self, form: Form) -> list[Any] | None:
        """The numbers of a call, if they decide everything as they did in the recording."""
        if not self.followed and not self.spots and self.parts is None:
            return []
        given = [form.floats[i] for i in self.followed] + [spot.look() for spot in self.spots]
        found: list[Any] | None = self.capture.scalars.begin(given)
        return found

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Wait until no other thread is in the program; False if this thread itself is."""
        with self.lock:
            if self.inside:
                yield False
                return
            self.inside = 2
            try:
                yield True
            finally:
                self.inside = 0

    def arrays_of(self, tensors: list[Tensor]) -> list[Any] | None:
        """The arguments' memory, if it has the form that was recorded.

        Another thread may have given a tensor other memory since the call's form was looked at; what is looked at
        here is what is read, until the end.
        """
        arrays = [tensor._data for tensor in tensors]
        for array, view in zip(arrays, self.capture.arguments, strict=True):
            if (
                array.shape != view.shape
                or array.strides != view.strides
                or array.dtype != view.dtype
            ):
                return None
        return arrays

    def replay(
        self, tensors: list[Tensor], numbers: Any = (), given: Any = (), effects: bool = True
    ) -> Any:
        """Do again what was recorded, with these tensors and numbers among the arguments that were given.

        `MISS` where a part of it gave a value by which Python decides otherwise, `STOPPED` where there was an
        error, which is that of the function itself: then nothing has happened. Without `effects` only the program
        runs: the function's own Python has had them.
        """
        found, replay = self.capture, self.replay_of
        began = moment()
        arrays = self.arrays_of(tensors)
        if arrays is None:
            return MISS
        if self.differentiable is not None:
            self.differentiable.put_aside()
        replay.load(arrays)
        self.numbers, self.given = numbers, given
        if numbers:
            found.scalars.load(numbers)
        undo = self.stops.undo
        back = None if undo is None else undo.keep(arrays)
        try:
            goes_on = self._run(numbers, arrays, effects)
        except STOPS:
            if back is None or not self.stops.put_back(arrays, back):
                raise
            goes_on = None
        if not goes_on:
            if self.differentiable is not None:
                self.differentiable.forget()
            return STOPPED if goes_on is None else MISS
        for effect in self.stops.late if effects else ():
            effect()
        self.calls += 1
        if found.argument_writes:
            replay.unload(arrays, found.argument_writes)
            boxes = {id(tensors[i]._version_box): i for i in found.argument_writes}
            for i in boxes.values():  # several may be views of one tensor
                if found.growth[i]:
                    tensors[i]._version_box[0] += found.growth[i]
        self.set_grads()
        for box, growth in found.versions:
            box[0] += growth
        self.audits.note_replay(began)
        return self.finish(tensors, arrays)

    def set_grads(self) -> None:
        """Let `.grad` be what it becomes; where another thread has set one meanwhile, both count."""
        for tensor, grad in self._first_grads:
            set_or_add(tensor, grad)
        for tensor, grad in self._other_grads:
            set_grad(tensor, grad)
        for box, version in self.capture.new_grads:  # which somebody may have written to since
            box[0] = version

    def _run(self, numbers: Any, arrays: list[Any], effects: bool = True) -> bool:
        """The program, with what is done before it; False if a decision is another one."""
        if self.parts is not None:
            return self.parts.run(numbers, arrays)
        for effect in self.stops.effects if effects else ():
            effect()
        self.replay_of.run(0)
        return True

    def finish(self, tensors: list[Tensor], arrays: list[Any], recorded: bool = False) -> Any:
        """What the function returns, from what the program left, or the run that was `recorded`."""
        self._arrays = arrays
        for i, wants in self.capture.turned:
            tensors[i].requires_grad_(wants)
        if self.differentiable is not None:
            built = self.differentiable.results(tensors, arrays)
        else:
            built = self.built(self.capture.result, tensors)
        built = self.with_views(built, tensors)
        for i, grad, none_before in self.capture.argument_grads:
            put = set_or_add if none_before and not recorded else set_grad
            put(tensors[i], self._built(grad, tensors, views=True))
        self.given = ()
        return built

    def built(self, value: Any, tensors: list[Tensor]) -> Any:
        """Results with tensors in them: new ones, and those that came in."""
        self.made_tensors, self._made = {}, {}
        return self._built(value, tensors)

    def with_views(self, built: Any, tensors: list[Tensor]) -> Any:
        """The same with views of results, which can be made when those have their history."""
        return self._built(self.capture.result, tensors, views=True) if self.has_views else built

    def with_tensors(self, tensors: list[Tensor], numbers: Any) -> Any:
        """Arguments of a call, with these tensors and numbers in them."""
        with self.lock:
            before, self.numbers = self.numbers, numbers
            try:
                return self._built(self.call, tensors)
            finally:
                self.numbers = before

    @contextmanager
    def in_place(self, numbers: Any) -> Iterator[None]:
        """What the function reads by name as it was in a call."""
        before = [spot.look() for spot in self.spots]
        try:
            for i, spot in enumerate(self.spots, len(self.followed)):
                spot.put(numbers[i])
            yield
        finally:
            for spot, value in zip(self.spots, before, strict=True):
                spot.put(value)

    tensors_of = staticmethod(tensors_in)

    def _built(self, value: Any, tensors: list[Tensor], views: bool = False) -> Any:
        """What the function returns: new tensors, and those that came in."""

        def build(leaf: Any) -> Any:
            if isinstance(leaf, Made):
                return self.made(leaf)
            if isinstance(leaf, Computed):
                return self.numbers[leaf.place]
            if isinstance(leaf, Given):
                return leaf.tensor if leaf.argument is None else tensors[leaf.argument]
            if isinstance(leaf, Seen):
                found = self._made.get(id(leaf))
                if found is None:
                    base = build(leaf.base)
                    if views:
                        found = self._made[id(leaf)] = seen_again(base, leaf)
                return found
            if isinstance(leaf, Passed):
                return leaf.look(self.given)
            made = type(leaf) in _CHANGEABLE and id(leaf) not in self._from_outside
            return copy.copy(leaf) if made else leaf

        return NESTS.alike(value, build, {})

    def node_of(self, value: Made) -> Any:
        """The node of a result whose graph went backward inside: it refuses to do so again, as ever."""
        if not (value.requires_grad and value.used):
            return None
        node = self._nodes.get(id(value))
        if node is None:
            node = self._nodes[id(value)] = UsedNode()
            node.shape, node.dtype = value.view.shape, value.view.dtype
        return node

    def made(self, value: Made) -> Tensor:
        found = self._made.get(id(value))
        if found is not None:
            return found
        tensor = make(self.replay_of.result(value.view, self._arrays))
        if value.requires_grad and value.used:
            tensor._node = self.node_of(value)
        elif value.requires_grad:
            tensor._requires_grad = True
        self._made[id(value)] = tensor
        if value.root is not None:
            self.made_tensors[value.root] = tensor
        tensor._version_box[0] = value.version
        if value.inference:
            from ..._autograd.inference import as_inference

            as_inference(tensor)
        return tensor


def _with_numbers(call: Any, form: Form) -> Any:
    """The arguments of a call with places of numbers where those are inputs."""
    if not form.symbolic:
        return call
    places = {number: place for place, number in enumerate(form.symbolic)}
    numbers = iter(range(len(form.floats)))

    def put(leaf: Any) -> Any:
        if type(leaf) not in FLOATS:
            return leaf
        place = places.get(next(numbers))
        return leaf if place is None else Computed(place)

    return NESTS.mapped(call, put)


def _form(call: Any, found: Capture) -> list[Any] | None:
    """The form of arguments that are plain tensors one after the other, apart from inputs; else None."""
    args, kwargs = call
    tensors = [a for a in args if not isinstance(a, Computed)]
    if kwargs or not all(isinstance(t, Given) for t in tensors):
        return None
    if len(tensors) != len(found.arguments):
        return None
    views = found.arguments
    wanted = found.wanted
    return [(v.shape, v.strides, v.dtype, w) for v, w in zip(views, wanted, strict=True)]
