"""What a process makes exactly once, however many threads ask for it first; and the lock that guards it.

`functools.cache` does not guarantee that: two threads that ask at the same time both make it and each uses its
own, of which only one is kept. If machine code has its address, or a process setting
belongs to it, that means a crash or a wrong setting later on.

The single lock is also held across a fork, so a child never sees something half made by a thread that it does
not have.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Result = TypeVar("Result")

making = threading.RLock()
held_at_fork: list[Any] = [making]  # locks, in acquisition order


def once(make: Callable[[], Result]) -> Callable[[], Result]:
    """A function without arguments that is called only once; its result is cached.

    If it raises, nothing is cached, and the next caller tries again.
    """
    found: list[Result] = []

    @functools.wraps(make)
    def made() -> Result:
        if not found:
            with making:
                if not found:
                    found.append(make())
        return found[0]

    return made


@contextlib.contextmanager
def collector_waits() -> Iterator[None]:
    """A context for an import that creates thousands of objects, all of which are kept: the garbage collector would
    traverse them again and again and find nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _hold() -> None:
    for lock in held_at_fork:
        lock.acquire()


def _let_go() -> None:
    for lock in reversed(held_at_fork):
        with contextlib.suppress(RuntimeError):  # Ctrl-C came before a fork had acquired it
            lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=_let_go)
