"""What a thread is doing: whether it records, and whether recording takes the long way round."""

from __future__ import annotations

import threading
from typing import Any

from .._arrays.quiet import quiet_runner


class _Shared:
    """What the shortest way may go by without asking which thread it is in: to ask costs as much as
    a small operation does.

    It is set by single statements in which no thread can be switched to another (they call nothing).

    `ordinary` is true while no more than one thread has ever asked for its modes, and that one
    records and is in no special mode: then this holds for every thread. `quietly` is for those who
    went by it; a thread that finds it in use by another (RuntimeError) asks for its own.
    """

    __slots__ = ("ordinary", "quietly", "threads")

    def __init__(self) -> None:
        self.ordinary = False
        self.quietly = quiet_runner()
        self.threads = 0


shared = _Shared()


class _Modes(threading.local):
    def __init__(self) -> None:
        """Called in each thread, when it first asks."""
        shared.threads += 1
        shared.ordinary = shared.threads == 1
        self._grad = True
        self._special = False
        # What an operation must know, in one piece: whether it is recorded (None: it must take the
        # long way), and a function that runs array functions without floating-point warnings.
        self.quietly = quiet_runner()
        self.way: tuple[bool | None, Any] = True, self.quietly
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
    deferred: Any = (
        None  # who notes public calls, or answers them without computing: see `_compile/sound`
    )
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
            own["way"] = value, own["quietly"]
            shared.ordinary = value and shared.threads == 1

    @property
    def special(self) -> bool:
        """Whether a forward-mode level is open, saved-tensor hooks or function modes are in force, or
        the thread is in inference or anomaly mode: `apply` then takes the general path, so the common one is short."""
        return self._special

    @special.setter
    def special(self, value: bool) -> None:
        self._special = value
        self.way = (None if value else self._grad), self.quietly
        shared.ordinary = self._grad and not value and shared.threads == 1


modes = _Modes()


def update_special() -> None:
    modes.special = bool(
        modes.forward_level
        or modes.saved_hooks
        or modes.inference
        or modes.anomaly
        or modes.function_modes
        or modes.deferred is not None
    )
