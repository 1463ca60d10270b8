"""What a thread is doing: whether it records, and whether recording takes the long way round."""

from __future__ import annotations

import threading
from typing import Any

SPECIAL, PLAIN, RECORDING = range(3)


class _Modes(threading.local):
    # Both of the next two in one number, so that an operation asks one question.
    how = RECORDING
    _grad = True
    _special = False

    inference = False  # results may never take part in recording
    forward_level = 0  # how many forward-mode levels are open
    saved_hooks: tuple[Any, ...] = ()  # (pack, unpack) pairs, innermost last
    saved_hooks_disabled: str | None = None  # the message to raise when they are forbidden
    allows_mutation: Any = None  # the allow_mutation_on_saved_tensors context in force
    anomaly = False
    anomaly_check_nan = True
    vmap_levels: tuple[Any, ...] = ()  # the vmaps this thread is inside of, innermost last
    run: Any = None  # the backward pass this thread is in

    @property
    def grad(self) -> bool:
        """Whether operations are recorded."""
        return self._grad

    @grad.setter
    def grad(self, value: bool) -> None:
        self._grad = value
        if not self._special:
            self.how = RECORDING if value else PLAIN

    @property
    def special(self) -> bool:
        """Whether a forward-mode level is open, saved-tensor hooks are in force, or the thread is in
        inference or anomaly mode: `apply` then takes the general path, so the common one is short."""
        return self._special

    @special.setter
    def special(self, value: bool) -> None:
        self._special = value
        self.how = SPECIAL if value else RECORDING if self._grad else PLAIN


modes = _Modes()


def update_special() -> None:
    modes.special = bool(
        modes.forward_level or modes.saved_hooks or modes.inference or modes.anomaly
    )
