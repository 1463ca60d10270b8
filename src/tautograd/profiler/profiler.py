"""`profile`: times operations in the steps that a schedule chooses, and hands each trace on."""

from __future__ import annotations

import enum
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from .._files.atomic import replacing
from ..autograd import profiler as _events

__all__ = ["ProfilerAction", "ProfilerActivity", "profile", "schedule", "supported_activities"]


class ProfilerActivity(enum.Enum):
    """What is timed."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What is done in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """What can be timed: what runs on the CPU."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:  # fmt: skip
    """A function of the step's number: wait, warm up, record, and so on again."""
    if active <= 0 or wait < 0 or warmup < 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (must be >= 0), warmup={warmup} "
            f"(must be >= 0), active={active} (must be > 0), repeat={repeat} (must be >= 0), "
            f"skip_first={skip_first} (must be >= 0)."
        )

    def action(step: int) -> ProfilerAction:
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        cycle = wait + warmup + active
        if repeat and step // cycle >= repeat:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def _default_schedule_fn(_: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """A function that writes each trace into a folder, under a name of its own."""

    def handle(prof: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        name = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        ending = "pt.trace.json.gz" if use_gzip else "pt.trace.json"
        prof.export_chrome_trace(os.path.join(dir_name, f"{name}.{time.time_ns()}.{ending}"))

    return handle


class _KinetoProfile:
    """Times operations between `start` and `stop`."""

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Any = None,
    ) -> None:
        self.activities = set(activities) if activities else supported_activities()
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops, self.with_modules = with_stack, with_flops, with_modules
        self.profiler: _events.profile | None = None
        self._metadata: dict[str, str] = {}

    def start(self) -> None:
        self.profiler = _events.profile(
            record_shapes=self.record_shapes, profile_memory=self.profile_memory
        )
        self.profiler.__enter__()

    def stop(self) -> None:
        if self.profiler is not None:
            self.profiler.__exit__(None, None, None)

    def _recorded(self) -> _events.profile:
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before asking for what it recorded")
        return self.profiler

    def events(self) -> Any:
        """What was timed, one by one."""
        return self._recorded().function_events

    def key_averages(self, group_by_input_shape: bool = False, **options: Any) -> Any:
        """What was timed, by name."""
        return self._recorded().key_averages(group_by_input_shape)

    def export_chrome_trace(self, path: str) -> None:
        """Write the trace for a browser's trace viewer."""
        self._recorded().export_chrome_trace(path, self._metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write names and times, as flame graphs take them."""
        lines = [f"{e.key} {int(e.self_cpu_time_total)}\n" for e in self.key_averages()]
        with replacing(path) as file:
            file.write("".join(lines).encode())

    def add_metadata(self, key: str, value: str) -> None:
        self._metadata[key] = value

    add_metadata_json = add_metadata


class profile(_KinetoProfile):  # noqa: N801 - PyTorch's name
    """Times the steps that `schedule` chooses; without one, all that runs inside of it."""

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> None:
        options.pop("use_cuda", None)
        super().__init__(activities=activities, **options)
        self.schedule = schedule or _default_schedule_fn
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self._running = False

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        if self.current_action in _RECORDING:
            super().start()
            self._running = True

    def stop(self) -> None:
        if self._running:
            super().stop()
            self._running = False
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)

    def step(self) -> None:
        """Say that a step is done."""
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE:
            self.stop()
        if self.current_action in _RECORDING and not self._running:
            super().start()
            self._running = True


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class ExecutionTraceObserver:
    """Writes what ran to a file, in PyTorch; it takes PyTorch's own tracing library."""

    def __init__(self) -> None:
        raise RuntimeError("execution traces need PyTorch's tracing library, which is not here")
