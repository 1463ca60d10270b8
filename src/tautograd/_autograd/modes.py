"""What a thread is doing: whether it records, and whether recording takes the long way round.

`Modes` is all of it in one piece that never changes; `change` puts another in its place.
"""

from __future__ import annotations

import threading
from operator import attrgetter
from typing import Any, NamedTuple

from .._arrays.quiet import quiet_runner


class Modes(NamedTuple):
    """The modes of a thread."""

    grad: bool = True  # operations are recorded
    # The same, or None where `apply` must take the general way, so that the usual one is short: a
    # forward-mode level is open, saved-tensor hooks or function modes are in force, calls are noted or put
    # off, or the thread is in inference or anomaly mode. It follows from the rest.
    recording: bool | None = True
    inference: bool = False  # results may never take part in recording
    forward_level: int = 0  # how many forward-mode levels are open
    saved_hooks: tuple[Any, ...] = ()  # (pack, unpack) pairs, innermost last
    saved_hooks_disabled: str | None = None  # the message to raise when they are forbidden
    allows_mutation: Any = None  # the allow_mutation_on_saved_tensors context in force
    anomaly: bool = False
    anomaly_check_nan: bool = True
    vmap_levels: tuple[Any, ...] = ()  # the vmaps this thread is inside of, innermost last
    function_modes: tuple[Any, ...] = ()  # the TorchFunctionModes in force, innermost last
    lower: Any = None  # the dtype that autocast casts to, while it is in force
    # Who notes public calls, or answers them without computing: see `_compile/sound`.
    deferred: Any = None

    @property
    def special(self) -> bool:
        """Whether operations take the general way."""
        return self.recording is None


_ON, _OFF = Modes(), Modes(grad=False, recording=False)
# Modes that hold nothing of the user's, one object for each: compiled functions ask whether a thread's
# are the very same as before.
_KNOWN = {_ON: _ON, _OFF: _OFF}
_WITH_LOWER: dict[tuple[int, Any], Modes] = {}  # one of these with another `lower`


class _Shared:
    """What operations may go by without asking which thread they are in: to ask costs more than some of
    the answers are worth.

    `ordinary` is true while every thread records and is in no special mode, and no more than one of
    those that live has ever asked for its modes. `quietly` is for those who went by it; one that finds
    it in use by another thread (RuntimeError) takes a runner of its own.

    These are set by statements that call nothing, between which no thread can be switched to another.
    """

    __slots__ = ("ordinary", "quietly", "threads", "unusual")

    def __init__(self) -> None:
        self.ordinary = True
        self.quietly = quiet_runner()
        self.threads = 0  # that live and have asked for their modes
        self.unusual = 0  # those of them that do not record, or are in a special mode


shared = _Shared()


class _Presence:
    """What `shared` counts a thread for; it goes when the thread does."""

    __slots__ = ("counts", "unusual")

    def __init__(self) -> None:
        self.counts = shared  # which this module no longer has when the interpreter ends
        self.unusual = False
        shared.threads += 1
        shared.ordinary = shared.threads < 2 and not shared.unusual

    def __del__(self) -> None:
        counts = self.counts
        counts.threads -= 1
        counts.unusual -= self.unusual
        counts.ordinary = counts.threads < 2 and not counts.unusual


def _field(name: str) -> Any:
    return property(attrgetter(f"now.{name}"))


class _Thread(threading.local):
    """This thread's modes, which are read here and changed by the functions below, and what else it has
    at hand."""

    def __init__(self) -> None:
        """Called in each thread, when it first asks."""
        self.presence = _Presence()
        self.now = _ON
        self.quietly = quiet_runner()
        # Forwards of the first thread run where those do that went by `shared`, so that none runs inside
        # another: that would be an operation on tensors in a forward, which is for arrays.
        self.forwards = shared.quietly if shared.threads == 1 else self.quietly
        # What an operation must know, in one piece: whether it is recorded (None: it must take the
        # long way), and a function that runs array functions without floating-point warnings.
        self.way: tuple[bool | None, Any] = True, self.forwards
        self.run: Any = None  # the backward pass this thread is in

    # Where the backward pass began whose rules run on tensors in this thread: what they record is from there.
    site: Any = None
    overwritten: Any = None  # the tensor into which the operation's result will be written
    recorder: Any = None  # the tape that notes what this thread computes, while it is compiled
    settling: Any = None  # the tape of which this thread is finding out what to keep
    exporter: Any = None  # who is told of writes and draws, while a model is exported

    grad: bool = _field("grad")
    special: bool = _field("special")
    inference: bool = _field("inference")
    forward_level: int = _field("forward_level")
    saved_hooks: tuple[Any, ...] = _field("saved_hooks")
    saved_hooks_disabled: str | None = _field("saved_hooks_disabled")
    allows_mutation: Any = _field("allows_mutation")
    anomaly: bool = _field("anomaly")
    anomaly_check_nan: bool = _field("anomaly_check_nan")
    vmap_levels: tuple[Any, ...] = _field("vmap_levels")
    function_modes: tuple[Any, ...] = _field("function_modes")
    lower: Any = _field("lower")
    deferred: Any = _field("deferred")


modes = _Thread()


def put(record: Modes) -> None:
    """Let these be the modes of this thread."""
    _put(modes.__dict__, record)


def _put(own: dict[str, Any], record: Modes) -> None:
    recording = record.recording
    own["now"] = record
    own["way"] = recording, own["forwards"]
    presence = own["presence"]
    unusual = recording is not True
    if presence.unusual is not unusual:
        presence.unusual = unusual
        shared.unusual += 1 if unusual else -1
        shared.ordinary = shared.threads < 2 and not shared.unusual


def set_grad(value: bool) -> bool:
    """Switch recording on or off in this thread; gives what it was."""
    own = modes.__dict__  # this thread's, found once: each attribute would be searched for
    record: Modes = own["now"]
    before = record.grad
    if before is not value:
        other = _OFF if record is _ON else _ON if record is _OFF else None
        _put(own, _changed(record, {"grad": value}) if other is None else other)
    return before


def set_lower(value: Any) -> Any:
    """Set the dtype that autocast casts to, or None; gives what it was. Each public call of a region does so twice."""
    own = modes.__dict__
    record: Modes = own["now"]
    before = record.lower
    if before is not value:
        key = id(record), value
        found = _WITH_LOWER.get(key)
        if found is None:
            found = _changed(record, {"lower": value})
            if _KNOWN.get(record) is record and _KNOWN.get(found) is found:  # they stay, so ids do
                _WITH_LOWER[key] = found
        _put(own, found)
    return before


def change(**fields: Any) -> Modes:
    """Change some of this thread's modes; gives what they were."""
    before = modes.now
    put(_changed(before, fields))
    return before


def _changed(record: Modes, fields: dict[str, Any]) -> Modes:
    found = record._replace(**fields)
    general = (
        found.forward_level
        or found.saved_hooks
        or found.inference
        or found.anomaly
        or found.function_modes
        or found.deferred is not None
    )
    found = found._replace(recording=None if general else found.grad)
    users = found.saved_hooks or found.saved_hooks_disabled or found.allows_mutation
    if users or found.function_modes or found.vmap_levels or found.deferred is not None:
        return found
    return _KNOWN.setdefault(found, found)
