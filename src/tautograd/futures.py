"""`torch.futures`: a value that comes later."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from ._autograd.effects import value_asked
from ._autograd.modes import modes
from ._ops.declare.python_surface import speak

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A value that somebody sets later, and functions to call when it is there."""

    __module__ = "torch.futures"

    def __init__(self, *, devices: Any = None) -> None:
        self._event = threading.Event()
        self._lock = threading.RLock()
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future], Any]] = []
        # Drives whatever will set the value, while somebody waits for it; None if others do.
        self._drive: Callable[[], Any] | None = None
        self._poll: Callable[[], Any] | None = None

    def __class_getitem__(cls, item: Any) -> type[Future]:
        return cls

    def done(self) -> bool:
        """Whether the value (or an error) is there."""
        if not self._event.is_set() and self._poll is not None:
            self._poll()
        return self._event.is_set()

    def wait(self) -> Any:
        """The value, when it is there; what went wrong is raised."""
        if self._drive is not None and (not self._event.is_set() or modes.recorder is not None):
            self._drive()  # also of what is there: a program that is being recorded waits here
        self._event.wait()
        return self.value()

    def value(self) -> Any:
        """The value of a future that is done."""
        if not self._event.is_set():
            raise RuntimeError("Future is not complete: value() is for one that is; use wait()")
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future of what the callback makes of this one."""
        value_asked("what is done when a future's value comes (`Future.then`)", "numpy")
        child = Future()
        child._drive, child._poll = self._settled, self.done

        def call(parent: Future) -> None:
            try:
                result = callback(parent)
            except BaseException as error:
                child.set_exception(error)
            else:
                child.set_result(result)

        self.add_done_callback(call)
        return child

    def _settled(self) -> None:
        try:
            self.wait()
        except BaseException:
            if self._error is None:
                raise

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call a function with this future as soon as it is done."""
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def _settle(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._event.is_set():
                raise RuntimeError("Future can only be marked completed once")
            self._value, self._error = value, error
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def set_result(self, result: Any) -> None:
        """Give the value."""
        self._settle(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Say that there will be none, and why."""
        if not isinstance(result, BaseException):
            raise AssertionError(f"{result} is of type {type(result).__name__}, not an Exception.")
        self._settle(None, result)


def collect_all(futures: Any) -> Future:
    """A future of the futures, done when all of them are."""
    given: Any = futures
    if not isinstance(given, Sequence) or not all(isinstance(f, Future) for f in given):
        raise TypeError(
            "collect_all(): incompatible function arguments: a sequence of futures is wanted, not "
            f"{type(futures).__name__}"
        )
    gathered, left, lock = Future(), [len(futures)], threading.Lock()
    futures = list(futures)

    def drive() -> None:
        for future in futures:
            future._settled()

    gathered._drive = drive
    gathered._poll = lambda: [future.done() for future in futures]

    def one_less(future: Future) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            gathered.set_result(futures)

    if not futures:
        gathered.set_result(futures)
    for future in futures:
        future.add_done_callback(one_less)
    return gathered


def wait_all(futures: Sequence[Future]) -> list[Any]:
    """The values of all, when they are there."""
    return [future.wait() for future in collect_all(futures).wait()]


speak(globals(), __all__)
