"""`fork` and `wait`: a call begun now and awaited later. It is done at once, in this thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")

__all__ = ["Future", "fork", "wait"]


class Future(Generic[Result]):
    """The result of a call that was begun, or what it raised."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[Future[Result]], Any]] = []
        self._value: Any = None
        self._error: BaseException | None = None
        self._done = False

    def done(self) -> bool:
        return self._done

    def wait(self) -> Result:
        """The result; what was raised is raised here."""
        if self._error is not None:
            raise self._error
        if not self._done:
            raise RuntimeError("nothing will complete this Future: it has no result yet")
        result: Result = self._value
        return result

    value = wait

    def then(self, callback: Callable[[Future[Result]], Any]) -> Future[Any]:
        """Another Future: what the callback makes of this one."""
        following: Future[Any] = Future()

        def follow(future: Future[Result]) -> None:
            try:
                following.set_result(callback(future))
            except Exception as error:
                following.set_exception(error)

        self.add_done_callback(follow)
        return following

    def add_done_callback(self, callback: Callable[[Future[Result]], Any]) -> None:
        if self._done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def set_result(self, result: Result) -> None:
        self._complete(result, None)

    def set_exception(self, error: BaseException) -> None:
        self._complete(None, error)

    def _complete(self, value: Any, error: BaseException | None) -> None:
        if self._done:
            raise RuntimeError("Attempting to mark a completed Future as complete again")
        self._value, self._error, self._done = value, error, True
        for callback in self._callbacks:
            callback(self)


def fork(func: Callable[..., Result], *args: Any, **kwargs: Any) -> Future[Result]:
    """Call a function; the result waits in a Future."""
    future: Future[Result] = Future()
    try:
        future.set_result(func(*args, **kwargs))
    except Exception as error:
        future.set_exception(error)
    return future


def wait(future: Future[Result]) -> Result:
    """The result of a call that `fork` began."""
    return future.wait()
