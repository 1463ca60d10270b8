"""Collectives inside compiled functions: calls between stretches of the program, in the function's order.

While a function is recorded the collective runs, and the tape records a call that repeats it at every replay, on the
program's memory. Asynchronous work is recorded twice, where it starts and where it is waited for, so that replays
overlap it with the computation in between, too. A collective runs exactly once per call of the function, whatever else
a compiled function does: it is never rolled back and never run on trial.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from .._autograd.effects import put_off_no_longer
from .._autograd.modes import modes
from .._tensor.tensor import Tensor, make
from .._trees.nests import ANY_MAPPING as NESTS

Function = TypeVar("Function", bound=Callable[..., Any])
_SAID = "a collective of `torch.distributed`"
_local = threading.local()


def _under_way() -> dict[int, Any]:
    """Asynchronous work that this thread's program has started, by its number in the program."""
    if not hasattr(_local, "works"):
        _local.works = {}
    found: dict[int, Any] = _local.works
    return found


class _Again:
    """A collective as a program calls it, with arrays for tensors."""

    crosses_processes = True

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self.__name__ = function, function.__name__

    def __call__(self, number: int | None, *args: Any) -> None:
        # The program's arrays are NumPy's; nothing else among a collective's arguments is.
        work = self._function(*NESTS.mapped(args, _as_tensor))
        if number is not None:
            _under_way()[number] = work


class _WaitAgain:
    """Where a program waits for work it has started."""

    crosses_processes = True
    __name__ = "wait"

    def __call__(self, number: int, arrays: Any) -> None:
        work = _under_way().pop(number, None)
        if work is not None:
            work.wait()


_wait_again = _WaitAgain()


def _as_tensor(leaf: Any) -> Any:
    return (
        make(leaf)
        if hasattr(leaf, "__array_interface__") and not isinstance(leaf, Tensor)
        else leaf
    )


def _as_array(leaf: Any) -> Any:
    return leaf._data if isinstance(leaf, Tensor) else leaf


def _tape() -> Any:
    tape = modes.recorder
    return None if tape is None or tape.paused or tape.dead else tape


def between_stretches(writes: str) -> Callable[[Function], Function]:
    """Decorate a collective so that compiled functions can contain it; `writes` names the argument for the result."""

    def decorate(function: Function) -> Function:
        signature, again = inspect.signature(function), _Again(function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            put_off_no_longer(_SAID)
            tape = _tape()
            if tape is None:
                return function(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            tensors = [leaf for leaf in NESTS.leaves(list(bound.args)) if isinstance(leaf, Tensor)]
            if not hasattr(tape, "exchange") or any(t.device.type != "cpu" for t in tensors):
                tape.refuse(_SAID, "numpy")
                return function(*args, **kwargs)
            arrays = NESTS.mapped(tuple(bound.args), _as_array)
            written = [
                _as_array(t)
                for t in NESTS.leaves([bound.arguments.get(writes)])
                if isinstance(t, Tensor)
            ]
            waits = not bound.arguments.get("async_op", False)
            number = None if waits else tape.next_exchange()
            work = tape.exchange(
                again, (number, *arrays), written, lambda: function(*args, **kwargs)
            )
            if work is not None and number is not None:
                work._noted = tape, number, [_as_array(tensor) for tensor in tensors]
            return work

        return call  # type: ignore[return-value]

    return decorate


def note_wait(work: Any) -> None:
    """Called before work is waited for: a program that started it waits at the same place."""
    if work._noted is None:
        return
    tape, number, arrays = work._noted
    if tape is _tape():
        work._noted = None
        tape.exchange(_wait_again, (number, arrays), arrays, lambda: None)
        tape.waited_for(number)
