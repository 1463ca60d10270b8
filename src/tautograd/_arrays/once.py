"""What a process makes once, however many threads ask for it first; and the lock that it is made under.

`functools.cache` is no such thing: two threads that ask at the same time both make it, each goes on with its
own, and only one of the two is kept. Where machine code has the address of what was made, or a setting of the
process belongs to it, that is a crash or a wrong setting later on.

The one lock is held across a fork too, so a child never finds something half made by a thread that it does
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
held_at_fork: list[Any] = [making]  # locks, in the order in which they are taken


def once(make: Callable[[], Result]) -> Callable[[], Result]:
    """A function without arguments that is called a single time; what it gave is given ever after.

    If it raises, nothing was made, and the next to ask tries again.
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
    """For an import that makes thousands of objects, all of which are kept: the garbage collector would walk
    through them again and again and find nothing."""
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
        with contextlib.suppress(RuntimeError):  # Ctrl-C came before a fork had it
            lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=_let_go)
