"""How tensors come onto the tape: while a thread records, what it reads of a tensor is a recorded array.

`Tensor._data` and `Tensor._grad` are slots. For the length of a recording they are properties of the
class, which give the recording thread what the tape wants it to see, and every other thread the slot. So
no access is missed, however it is written, and a program that is not being recorded pays nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..._autograd.autocast_state import _state as autocasting
from ..._autograd.modes import modes
from ..._stand_ins.slots import WhileAnybody
from ..._tensor.tensor import Tensor
from ..messages.errors import forked
from .arrays import KINDS
from .recorded_array import Recorded
from .tape import Tape

_data: Any = Tensor.__dict__["_data"]
_grad: Any = Tensor.__dict__["_grad"]
_MISSING = object()


class Lifting(Tape):
    """A tape that also knows the tensors: those from outside, and those that the run made."""

    def __init__(self) -> None:
        super().__init__()
        self.paused = False
        self.outside: dict[int, tuple[Tensor, Any]] = {}  # tensors from outside, with their arrays
        self.shown: dict[int, Recorded] = {}  # what stands for those arrays, by the tensor's id
        self.versions: dict[int, tuple[Any, int]] = {}  # their version counters, as they were
        self.made: list[weakref.ref[Tensor]] = []
        self.grads: dict[int, tuple[Tensor, Any]] = {}  # what `.grad` was, if it was read first
        self.cleared: dict[int, Any] = {}  # those that were cleared unread, after which instruction
        self.arguments: dict[int, int] = {}  # id of a tensor that is an argument -> its number
        self.given: set[int] = set()  # gradients of arguments that the run made
        self.calls_noted: Any = None  # who notes public calls: see `sound/noting`

    def seen(self, tensor: Tensor, array: Any) -> Any:
        """The array of a tensor from outside."""
        if id(tensor) not in self.outside:
            if tensor._node is not None and modes.grad:
                self.refuse("a tensor whose history lies outside the compiled function", "history")
                return array
            self.outside[id(tensor)] = tensor, array
            box = tensor._version_box
            if not tensor._is_inference:  # which has no versions
                self.versions.setdefault(id(box), (box, box[0]))
        shown = self.shown.get(id(tensor))
        if shown is None or shown.value is not array:
            shown = self.shown[id(tensor)] = self.external(array)
        return shown

    def growth(self, tensor: Tensor) -> int:
        """By how much a tensor's version counter grew."""
        if tensor._is_inference:
            return 0
        box = tensor._version_box
        found = self.versions.get(id(box))
        return 0 if found is None else int(box[0] - found[1])


def plain(tensor: Tensor) -> Any:
    """A tensor's own array, also during a recording."""
    value = _data.__get__(tensor)
    return value.value if type(value) is Recorded else value


def set_plain(tensor: Tensor, array: Any) -> None:
    _data.__set__(tensor, array)


def grad_of(tensor: Tensor) -> Any:
    return _grad.__get__(tensor)


def set_grad(tensor: Tensor, grad: Any) -> None:
    _grad.__set__(tensor, grad)


def _get_data(self: Tensor) -> Any:
    run = modes.deferred
    if run is not None and run.follows:
        return run.get_data(self)
    value = _data.__get__(self)
    tape = modes.recorder
    if type(value) in KINDS:
        return value if tape is None or tape.paused or tape.dead else tape.seen(self, value)
    if type(value) is Recorded and (
        tape is None or value.tape is not tape or tape.paused or tape.dead
    ):
        return value if tape is None and modes.settling is value.tape else value.value
    return value


def _set_data(self: Tensor, value: Any) -> None:
    run = modes.deferred
    if run is not None and run.follows:
        run.set_data(self, value)
        return
    tape = modes.recorder
    if tape is None or tape.paused or tape.dead:
        _data.__set__(self, value.value if type(value) is Recorded else value)
        return
    try:
        before = _data.__get__(self)
    except AttributeError:
        tape.made.append(weakref.ref(self))
    else:
        if type(before) is not Recorded and (type(value) is Recorded or type(value) in KINDS):
            tape.refuse("giving other memory to a tensor from outside (`.data = …`)", "memory")
            _data.__set__(self, value.value if type(value) is Recorded else value)
            return
    _data.__set__(self, tape.born(value) if type(value) in KINDS else value)


def _get_grad(self: Tensor) -> Any:
    value = _grad.__get__(self)
    tape = modes.recorder
    if tape is not None and not tape.paused and type(_data.__get__(self)) in KINDS:
        tape.grads.setdefault(id(self), (self, value))
    return value


def _set_grad(self: Tensor, value: Any) -> None:
    run = modes.deferred
    if run is not None and run.follows:
        run.set_grad(self, value)
        return
    tape = modes.recorder
    if tape is not None and not tape.paused:
        if tape.calls_noted is not None:
            tape.calls_noted.grad_set(self, value)
        try:
            outside = type(_data.__get__(self)) in KINDS
        except AttributeError:
            outside = False
        if outside:
            if value is None and id(self) not in tape.grads:
                noted = tape.program.instructions
                tape.cleared[id(self)] = noted[-1] if noted else None
            tape.grads.setdefault(id(self), (self, _MISSING))
    _grad.__set__(self, value)


def was_read(initial: Any) -> bool:
    """Whether a `.grad` was looked at before it was set."""
    return initial is not _MISSING


@contextmanager
def settling(tape: Lifting) -> Iterator[None]:
    """Around a recording and what is then found out of it: this thread sees recorded arrays to the end.

    Another thread may have got hold of a tensor that holds one, as it may of a parameter's new gradient: it
    sees the array itself, from the first moment to the last, when all tensors hold their own again.
    """
    with _slots:
        before, modes.settling = modes.settling, tape
        try:
            yield
        finally:
            modes.settling = before
            _reveal(tape)


def _reveal(tape: Lifting) -> None:
    """Let every tensor that a run made hold its array itself."""
    for reference in tape.made:
        tensor = reference()
        if tensor is not None:
            set_plain(tensor, plain(tensor))


@contextmanager
def recording(tape: Lifting) -> Iterator[None]:
    """Record what this thread does with tensors."""
    with _slots:
        modes.recorder = tape
        casts, autocasting.casts = autocasting.casts, {}  # those kept so far have histories outside
        try:
            yield
        finally:
            autocasting.casts = casts
            modes.recorder = None


def stop_in_child() -> None:
    """After a fork: the child records nothing, whatever its parent was doing."""
    for tape in {id(t): t for t in (modes.recorder, modes.settling) if t is not None}.values():
        tape.failure, tape.dead = tape.failure or forked(), True
        _reveal(tape)
    modes.recorder = modes.settling = None
    _slots.stop_in_child()


_SEEN = (
    (Tensor, "_data", lambda _: property(_get_data, _set_data)),
    (Tensor, "_grad", lambda _: property(_get_grad, _set_grad)),
)
_slots = WhileAnybody(lambda: _SEEN)


@contextmanager
def pause(tape: Lifting) -> Iterator[None]:
    """Let Python code see tensors as they are."""
    before, tape.paused = tape.paused, True
    try:
        yield
    finally:
        tape.paused = before
