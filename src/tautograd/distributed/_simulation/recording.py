"""What a rank computes and sends in a step, recorded as it happens: one line of JSON per optimizer step.

A step is a list of events: computing for some time, an exchange that starts, an exchange that is waited for. Computing
is measured by two clocks, the thread's processor time and wall time, because for ranks that share cores
the first is less than the second.
"""

from __future__ import annotations

import json
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..._stand_ins.slots import replace
from ...futures import Future
from ...optim.optimizer import register_optimizer_step_post_hook
from .._process_group import ProcessGroup
from .._work import Work

COMPUTE, START, WAIT = "compute", "start", "wait"


def _work_of(future: Future) -> Work | None:
    """The work behind a future, or behind the one it was chained from."""
    owner: Any = future
    while isinstance(owner, Future):
        owner = getattr(owner._drive, "__self__", None)
    return owner if isinstance(owner, Work) else None


def _memory(optimizer: Any) -> int:
    """Bytes that stay from one step to the next and are touched in each: parameters, gradients and the optimizer's
    states. Of a sharded tensor that is this rank's part: the whole is gathered anew, just before it is used."""
    held = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    gradients = [parameter.grad for parameter in held if parameter.grad is not None]
    states = [value for p in held for value in optimizer.state.get(p, {}).values()]
    tensors = [t for t in (*held, *gradients, *states) if hasattr(t, "numel")]
    own = [t.to_local() if hasattr(t, "to_local") else t for t in tensors]
    return sum(tensor.numel() * tensor.element_size() for tensor in own)


class Recording:
    """The events of this process, written to a file."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "w")  # noqa: SIM115  (until the process ends)
        self._thread = threading.get_ident()
        self._inside = False
        self._works: weakref.WeakKeyDictionary[Work, int] = weakref.WeakKeyDictionary()
        self._ends: list[Callable[[], None]] = []
        self._fresh()

    def start(self) -> None:
        """Record from now on."""
        for owner, name, make in (
            (ProcessGroup, "start", self._starting),
            (Work, "wait", self._waiting),
            (Future, "wait", self._waiting_for_future),
        ):
            self._ends.append(replace(owner, name, make))
        self._ends.append(register_optimizer_step_post_hook(self._stepped).remove)

    def end(self) -> None:
        """Stop recording."""
        while self._ends:
            self._ends.pop()()
        self._file.close()

    def _fresh(self) -> None:
        self._events: list[list[Any]] = []
        self._count = 0
        self._began, self._process = time.perf_counter(), time.process_time()
        self._open()

    def _open(self) -> None:
        self._cpu, self._wall = time.thread_time(), time.perf_counter()

    def _computed(self) -> None:
        cpu, wall = time.thread_time() - self._cpu, time.perf_counter() - self._wall
        self._events.append([COMPUTE, cpu, wall])

    def _apart(self) -> bool:
        """Whether a call comes from another thread, or is part of one that is recorded already."""
        return self._inside or threading.get_ident() != self._thread

    def _timed(self, call: Callable[[], Any]) -> Any:
        self._computed()
        self._inside = True
        try:
            return call()
        finally:
            self._inside = False
            self._open()

    def _starting(self, below: Any) -> Any:
        def start(group: Any, what: str, begin: Any, **options: Any) -> Any:
            if self._apart():
                return below(group, what, begin, **options)
            work = self._timed(lambda: below(group, what, begin, **options))
            number, self._count = self._count, self._count + 1
            size = sum(
                tensor.numel() * tensor.element_size() for tensor in options.get("result", ())
            )
            self._events.append([START, number, what.partition("(")[0], size, list(group.ranks)])
            if options.get("async_op"):
                self._works[work] = number
            else:
                self._events.append([WAIT, number])
            return work

        return start

    def _waited(self, work: Work | None, call: Callable[[], Any]) -> Any:
        if self._apart() or work is None or work not in self._works:
            return call()
        result = self._timed(call)
        self._events.append([WAIT, self._works.pop(work)])
        return result

    def _waiting(self, below: Any) -> Any:
        return lambda work, *args, **options: self._waited(
            work, lambda: below(work, *args, **options)
        )

    def _waiting_for_future(self, below: Any) -> Any:
        return lambda future: self._waited(_work_of(future), lambda: below(future))

    def _stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self._apart():
            return
        self._computed()
        wall, cpu = time.perf_counter() - self._began, time.process_time() - self._process
        content = {
            "seconds": wall, "cpu": cpu, "memory": _memory(optimizer), "events": self._events,
        }  # fmt: skip
        self._file.write(json.dumps(content) + "\n")
        self._file.flush()
        self._works.clear()
        self._fresh()
