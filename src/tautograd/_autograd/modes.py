"""What a thread is doing: whether it records, and whether recording takes the long way round."""

from __future__ import annotations

import threading
from typing import Any

from .._arrays.quiet import quiet_runner


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


class _Modes(threading.local):
    def __init__(self) -> None:
        """Called in each thread, when it first asks."""
        self.presence = _Presence()
        self._grad = True
        self._special = False
        self.quietly = quiet_runner()
        # Forwards of the first thread run where those do that went by `shared`, so that none runs inside
        # another: that would be an operation on tensors in a forward, which is for arrays.
        self._forwards = shared.quietly if shared.threads == 1 else self.quietly
        # What an operation must know, in one piece: whether it is recorded (None: it must take the
        # long way), and a function that runs array functions without floating-point warnings.
        self.way: tuple[bool | None, Any] = True, self._forwards
        self.run: Any = None  # the backward pass this thread is in

    inference = False  # results may never take part in recording
    forward_level = 0  # how many forward-mode levels are open
    saved_hooks: tuple[Any, ...] = ()  # (pack, unpack) pairs, innermost last
    overwritten: Any = None  # the tensor into which the operation's result will be written
    saved_hooks_disabled: str | None = None  # the message to raise when they are forbidden
    allows_mutation: Any = None  # the allow_mutation_on_saved_tensors context in force
    anomaly = False
    anomaly_check_nan = True
    vmap_levels: tuple[Any, ...] = ()  # the vmaps this thread is inside of, innermost last
    function_modes: tuple[Any, ...] = ()  # the TorchFunctionModes in force, innermost last
    lower: Any = None  # the dtype that autocast casts to, while it is in force
    recorder: Any = None  # the tape that notes what this thread computes, while it is compiled
    settling: Any = None  # the tape of which this thread is finding out what to keep

    @property
    def grad(self) -> bool:
        """Whether operations are recorded."""
        return self._grad

    @grad.setter
    def grad(self, value: bool) -> None:
        own = self.__dict__  # this thread's, found once: each attribute would be searched for
        own["_grad"] = value
        if not own["_special"]:
            own["way"] = value, own["_forwards"]
            presence = own["presence"]
            if presence.unusual is value:
                presence.unusual = not value
                shared.unusual += -1 if value else 1
                shared.ordinary = shared.threads < 2 and not shared.unusual

    @property
    def special(self) -> bool:
        """Whether a forward-mode level is open, saved-tensor hooks or function modes are in force, or
        the thread is in inference or anomaly mode: `apply` then takes the general path, so the common one is short."""
        return self._special

    @special.setter
    def special(self, value: bool) -> None:
        self._special = value
        self.way = (None if value else self._grad), self._forwards
        unusual = value or not self._grad
        presence = self.presence
        shared.unusual += unusual - presence.unusual
        presence.unusual = unusual
        shared.ordinary = shared.threads < 2 and not shared.unusual


modes = _Modes()


def update_special() -> None:
    modes.special = bool(
        modes.forward_level
        or modes.saved_hooks
        or modes.inference
        or modes.anomaly
        or modes.function_modes
    )
