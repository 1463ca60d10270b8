"""What a thread is doing: whether it records, and whether recording takes the long way round."""

from __future__ import annotations

import threading
from typing import Any


class _Modes(threading.local):
    grad = True  # operations are recorded
    inference = False  # results may never take part in recording
    # True while a forward-mode level is open, saved-tensor hooks are in force, or a thread is in
    # inference or anomaly mode: `apply` then takes the general path, so the common one stays short.
    special = False
    forward_level = 0  # how many forward-mode levels are open
    saved_hooks: tuple[Any, ...] = ()  # (pack, unpack) pairs, innermost last
    saved_hooks_disabled: str | None = None  # the message to raise when they are forbidden
    allows_mutation: Any = None  # the allow_mutation_on_saved_tensors context in force
    anomaly = False
    anomaly_check_nan = True
    vmap_levels: tuple[Any, ...] = ()  # the vmaps this thread is inside of, innermost last
    run: Any = None  # the backward pass this thread is in


modes = _Modes()


def update_special() -> None:
    modes.special = bool(
        modes.forward_level or modes.saved_hooks or modes.inference or modes.anomaly
    )
