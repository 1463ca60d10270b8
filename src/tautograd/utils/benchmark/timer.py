"""`Timer`: times a statement with a fixed number of threads."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tautograd as torch

from .measurement import Measurement, TaskSpec


def timer() -> float:
    """The time, in seconds, after synchronising with the GPU."""
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()
    return time.perf_counter()


class Timer:
    """Times a Python statement, as `timeit` does, but for PyTorch's needs: warm, and with one thread."""

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if str(getattr(language, "name", language)).lower() not in ("python", "py"):
            raise ValueError(
                "Timer: tautograd compiles no C++; only language='python' is supported."
            )
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be "
                "moved to `setup`."
            )
        names = dict(globals or {})
        names.setdefault("torch", torch)
        stmt, setup = _undented(stmt), _undented(setup)
        self._timer = timeit.Timer(stmt=stmt, setup=setup, timer=timer, globals=names)
        self._task_spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )

    def _timed(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1000000) -> Measurement:
        """The time of so many runs, after a few warm-up runs."""
        with _threads(self._task_spec.num_threads):
            self._timed(max(number // 100, 2))
            return Measurement(number, [self._timed(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Raises, as in PyTorch: `blocked_autorange` chooses both numbers."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Any = None) -> None:
        """Raises, as in PyTorch: use `blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block_size(self, min_run_time: float) -> int:
        """The number of runs that takes long enough to make reading the clock negligible."""
        number = 1
        while True:
            taken = self._timed(number)
            if taken >= min_run_time / 1000 and taken >= 1e-4:
                return number
            number *= 10

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Time blocks of runs, until they have taken this long in total."""
        with _threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times: list[float] = []
            total = 0.0
            while total < min_run_time or not times:
                taken = self._timed(number)
                times.append(taken)
                total += taken
                if callback is not None:
                    callback(number, taken)
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Time blocks of runs, until their spread is small relative to their median."""
        with _threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times: list[float] = []
            total = 0.0
            while total < max_run_time:
                taken = self._timed(number)
                times.append(taken)
                total += taken
                if callback is not None:
                    callback(number, taken)
                found = Measurement(number, times, self._task_spec)
                if len(times) >= 4 and total >= min_run_time and found.meets_confidence(threshold):
                    break
        return Measurement(number, times, self._task_spec)


def _undented(text: str) -> str:
    import textwrap

    return textwrap.dedent(text).strip()


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
