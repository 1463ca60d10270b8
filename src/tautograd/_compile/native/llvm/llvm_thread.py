"""The one thread that LLVM works in.

Its state is one for the process: the context that modules are read into, the table of symbols, the target machine.
So compilations can only come one after the other. And they must not be interrupted half-way: Python raises
Ctrl-C (and whatever a handler of signals raises) in the main thread, between any two steps, also between those
by which llvmlite takes and gives back its lock, on which every other thread would then wait for ever. In a
thread of its own LLVM never meets one; who waits for it does, and need not wait any longer.

A program that is compiled never comes here.
"""

from __future__ import annotations

import atexit
import functools
import os
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from ...._arrays.once import held_at_fork

Result = TypeVar("Result")
_LONGEST_EXIT = 10.0  # seconds that the process waits for LLVM at its end

_working = threading.RLock()  # while LLVM is at work; a fork waits for it
held_at_fork.append(_working)


class _Job:
    """A function to call there, and what came of it."""

    __slots__ = ("_ended", "_function", "error", "result")

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function: Callable[[], Any] | None = function
        self._ended = threading.Lock()
        self._ended.acquire()
        self.result: Any = None
        self.error: BaseException | None = None

    def do(self) -> None:
        function, self._function = self._function, None
        try:
            if function is not None:
                with _working:
                    self.result = function()
        except BaseException as error:
            self.error = error.with_traceback(None)  # whose frames hold objects of LLVM's
        finally:
            self._ended.release()

    def wait(self) -> Any:
        try:
            # A signal that comes just before the wait does not end it, so the wait ends by itself now and then.
            while not self._ended.acquire(timeout=0.1):
                pass
        except BaseException:
            self._function = None  # if it has not begun, it need not
            raise
        if self.error is not None:
            raise self.error
        return self.result


class _Llvm:
    """The thread, which starts when there is something to do."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Any] = SimpleQueue()  # and references to what is no more
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self.ends = False

    def is_here(self) -> bool:
        return self._thread is not None and self._thread.ident == threading.get_ident()

    def has_started(self) -> bool:
        """Whether there is a thread; where none can be had (at the end of the process), False."""
        if self.ends:
            return False
        if self._thread is None:
            with self._starting:
                if self._thread is None:
                    found = threading.Thread(target=self._work, name="tautograd-llvm", daemon=True)
                    try:
                        found.start()
                    except RuntimeError:
                        return False
                    self._thread = found
        return True

    def _work(self) -> None:
        while True:
            job = self.jobs.get()
            if isinstance(job, _Job):
                job.do()
            else:
                with _working:
                    _belongings.pop(id(job), None)
            del job


_llvm = _Llvm()


def by_llvm(function: Callable[..., Result], *args: Any) -> Result:
    """What a function gives that works with LLVM."""
    if _llvm.is_here():
        return function(*args)
    job = _Job(functools.partial(function, *args))
    if _llvm.has_started():
        _llvm.jobs.put(job)
    else:
        job.do()
    return job.wait()  # type: ignore[no-any-return]


# What LLVM made, by whose it is. Only LLVM's thread lets go of it: to free is to call LLVM, too.
_belongings: dict[int, tuple[weakref.ref[Any], Any]] = {}


def owner(of: Any) -> weakref.ref[Any]:
    """A name for what will belong to an object, and goes some time after it.

    What is called when the object goes is no function of Python's, so nothing can interrupt it; and it waits for
    nothing: garbage is collected in any thread, whatever locks that holds.
    """
    return weakref.ref(of, _llvm.jobs.put)


def give(to: weakref.ref[Any], what: Any) -> None:
    """In LLVM's thread: let an object own something."""
    _belongings[id(to)] = to, what


def belonging(to: weakref.ref[Any]) -> Any:
    """In LLVM's thread: what an object owns."""
    return _belongings[id(to)][1]


def _after_fork() -> None:
    global _llvm
    _llvm = _Llvm()  # the thread has stayed behind, between two jobs


def _before_exit() -> None:
    """The libraries of a process that ends are taken down: not below LLVM's feet.

    What is still to be compiled (by another function that runs at the end) the main thread does itself.
    """
    _llvm.ends = True
    _working.acquire(timeout=_LONGEST_EXIT)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_before_exit)
