"""Intercepts the backward passes of a running program: what each starts from, and what flows."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..._stand_ins.group import StandIns
from .collect import Collector
from .names import Names
from .recorder import Notes


class Watching:
    """Records a program from `start()`; at the requested backward, calls `caught(collector, flow)`.

    Earlier passes are only counted; nothing is recorded until the last of them has
    ended, so that a long program runs at its own pace.
    """

    def __init__(self, engine: Any, caught: Callable[[Collector, Any], None]) -> None:
        self.engine, self.caught = engine, caught
        self.notes = Notes(engine)
        self.skipped = 0  # passes to skip before one is recorded
        self.passes = 0
        self.is_resting = False  # everything requested has been seen; the program may continue
        self._stand_ins = StandIns()
        self._stack = contextlib.ExitStack()
        self._inside = False

    def start(self) -> None:
        try:
            self._stand_ins.method(self.engine.Tensor, "backward", self._method)
            self._stand_ins.function(self.engine.autograd, "backward", self._backward)
            self._stand_ins.everywhere()
            if not self.skipped:
                self._listen()
        except BaseException:  # Ctrl-C: nobody will call stop()
            self.stop()
            raise

    def _listen(self) -> None:
        self._stack.enter_context(self.notes.recording())

    def stop(self) -> None:
        self._stack.close()
        self._stand_ins.end()

    @contextlib.contextmanager
    def on(self) -> Iterator[Watching]:
        self.start()
        try:
            yield self
        finally:
            self.stop()

    def _method(self, original: Any) -> Any:
        def backward(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            return self._outermost((tensor,), lambda: original(tensor, *args, **kwargs))

        return backward

    def _backward(self, original: Any) -> Any:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            roots = tuple(tensors) if isinstance(tensors, (list, tuple)) else (tensors,)
            return self._outermost(roots, lambda: original(tensors, *args, **kwargs))

        return backward

    def _outermost(self, roots: tuple[Any, ...], run: Callable[[], Any]) -> Any:
        """One method may call the other, and a rule may run a backward of its own."""
        if self._inside or self.is_resting:
            return run()
        self._inside = True
        try:
            return self._pass(roots, run)
        finally:
            self._inside = False

    def _pass(self, roots: tuple[Any, ...], run: Callable[[], Any]) -> Any:
        self.passes += 1
        if self.passes <= self.skipped:
            result = run()
            if self.passes == self.skipped:
                self._listen()
            return result
        if not all(isinstance(root, self.engine.Tensor) and root.requires_grad for root in roots):
            return run()  # the engine reports what is wrong
        names = Names()
        names.see_frames(sys._getframe(3), self.notes.paths.roots)
        self.notes.is_on = False
        try:
            with self.engine.no_grad():
                collector = Collector(self.engine, roots, names=names, notes=self.notes)
            flow = collector.watch()
            try:
                result = run()
            finally:
                flow.close()
            with self.engine.no_grad():
                self.caught(collector, flow)
        finally:
            self.notes.is_on = not self.is_resting
        return result
