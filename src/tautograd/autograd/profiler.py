"""`torch.autograd.profiler`: operations timed one by one, as tables and Chrome's trace format.

Operations are seen by a `TorchFunctionMode`, so what is timed is what the user called; the time that
the mode itself takes is part of it. Backward is one event: its rules run on arrays, below operations.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import json
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import tautograd

from .._files.atomic import replacing
from .._stand_ins.function_mode import FunctionMode
from .._tensor.tensor import Tensor
from .profiler_util import EventList, FunctionEvent

__all__ = ["EventList", "FunctionEvent", "emit_nvtx", "profile", "record_function"]


class _Active(threading.local):
    recorder: Any = None


_active = _Active()


class _Recorder:
    """Events of one run: their times, and which lies in which."""

    def __init__(self, shapes: bool) -> None:
        self.shapes = shapes
        self.events = EventList()
        self._open: list[FunctionEvent] = []

    @contextlib.contextmanager
    def event(self, name: str, args: Any = ()) -> Iterator[None]:
        shapes = (
            [list(a.shape) if isinstance(a, Tensor) else [] for a in args] if self.shapes else []
        )
        event = FunctionEvent(name, threading.get_ident(), shapes)
        if self._open:
            self._open[-1].cpu_children.append(event)
        self._open.append(event)
        event.start = time.perf_counter()
        try:
            yield
        finally:
            event.end = time.perf_counter()
            self._open.pop()
            self.events.append(event)


class profile:  # noqa: N801 - PyTorch's name
    """Times what runs inside: `key_averages().table()` shows it by name."""

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: Any = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        **options: Any,
    ) -> None:
        self.enabled = enabled
        self._recorder = _Recorder(record_shapes)
        self._mode: Any = None
        self._done = False

    def __enter__(self) -> profile:
        if self.enabled:
            if _active.recorder is not None:
                raise RuntimeError("Profiler is already enabled on this thread")
            _active.recorder = self._recorder
            self._mode = FunctionMode(tautograd, self._timed)
            self._mode.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._mode is not None:
            self._mode.stop()
            self._mode, _active.recorder = None, None
            self._done = True

    def _timed(self, function: Any, args: Any, kwargs: Any) -> Any:
        name = str(getattr(function, "__name__", function)).strip("_")
        with self._recorder.event(f"aten::{name}", args):
            return function(*args, **kwargs)

    @property
    def function_events(self) -> EventList:
        """What was timed, in the order in which it ended."""
        if not self._done:
            raise RuntimeError("Profiler didn't finish running")
        return self._recorder.events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0
    ) -> EventList:
        """What was timed, by name."""
        return self.function_events.key_averages(group_by_input_shape)

    def total_average(self) -> Any:
        return self.function_events.total_average()

    def table(self, **options: Any) -> str:
        return self.function_events.table(**options)

    @property
    def self_cpu_time_total(self) -> float:
        """All time that was spent in operations, in microseconds."""
        return self.function_events.self_cpu_time_total

    def export_chrome_trace(self, path: str, metadata: dict[str, str] | None = None) -> None:
        """Write the trace for a browser's trace viewer."""
        events = [
            {
                "ph": "X", "cat": "cpu_op", "name": e.name, "pid": os.getpid(), "tid": e.thread,
                "ts": e.start * 1e6, "dur": e.cpu_time_total,
                "args": {"Input Dims": e.input_shapes} if e.input_shapes else {},
            }
            for e in sorted(self.function_events, key=lambda e: e.start)
        ]  # fmt: skip
        trace = {"schemaVersion": 1, "traceEvents": events, **(metadata or {})}
        data = json.dumps(trace).encode()
        with replacing(path) as file:
            file.write(gzip.compress(data) if str(path).endswith(".gz") else data)

    def __str__(self) -> str:
        return str(self.function_events) if self._done else "<unfinished torch.autograd.profile>"

    __repr__ = __str__


class record_function(contextlib.ContextDecorator):  # noqa: N801 - PyTorch's name
    """A stretch of a program with a name of its own in the profile."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._inside: Any = None

    def __enter__(self) -> record_function:
        recorder = _active.recorder
        if recorder is not None:
            self._inside = recorder.event(self.name)
            self._inside.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        if self._inside is not None:
            self._inside.__exit__(*exc)
            self._inside = None

    def __call__(self, func: Any) -> Any:
        @functools.wraps(func)
        def timed(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return func(*args, **kwargs)

        return timed


class emit_nvtx:  # noqa: N801 - PyTorch's name
    """Marks operations for NVIDIA's profiler, in PyTorch; without CUDA it marks nothing."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> emit_nvtx:
        return self

    def __exit__(self, *exc: object) -> None:
        pass
