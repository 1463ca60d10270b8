"""Measurement results: the times of a statement, and how far they can be trusted."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

_MOST_FIGURES = 4
_SHORTEST_DOUBT = 25e-9  # seconds: no clock is better
_SOME_SPREAD, _GROSS_SPREAD = 0.1, 0.25  # of the median, between its quartiles
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
_UNIT_OF: dict[float, str] = {-1: "ms", -2: "us", -3: "ns"}  # by thousands, of a time in seconds
_ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time is a number from 1 to 1000, and its length in seconds."""
    t = _real(t, "t")
    if math.isnan(t):
        raise ValueError("cannot convert float NaN to integer (argument 't')")
    exponent = math.log10(t) // 3 if t > 0 else -3
    unit = _UNIT_OF.get(exponent, "s")
    return unit, _UNITS[unit]


def unit_to_english(u: str) -> str:
    """`us` is a microsecond."""
    return _ENGLISH[u]


def trim_sigfig(x: float, n: int) -> float:
    """A number rounded to so many significant digits."""
    x, digits = _real(x, "x"), _real(n, "n")
    if digits != math.floor(digits) if math.isfinite(digits) else True:
        raise AssertionError("Number of significant figures must be an integer")
    if not x:
        return 0.0
    if math.isnan(x):
        raise ValueError("cannot convert float NaN to integer (argument 'x')")
    if math.isinf(x):
        raise OverflowError("cannot convert float infinity to integer (argument 'x')")
    exponent = math.ceil(math.log10(abs(x))) - int(digits)
    if exponent > sys.float_info.max_10_exp:  # 10 to that power would first exhaust all memory
        raise OverflowError("int too large to convert to float")
    if exponent < sys.float_info.min_10_exp:
        return x  # more digits than it has
    scale = 10**exponent
    return float(round(x / scale) * scale)


def _real(number: Any, name: str) -> float:
    """A number as a Python float; raises, naming it, if it is none."""
    if hasattr(number, "numel") and number.numel() != 1:
        raise RuntimeError(
            f"a Tensor with {number.numel()} elements cannot be converted to Scalar (argument '{name}')"
        )
    try:
        return (
            float(number)
            if not isinstance(number, (complex, str, bytes))
            else _refuse(number, name)
        )
    except (TypeError, ValueError):
        return _refuse(number, name)


def _refuse(number: Any, name: str) -> NoReturn:
    raise TypeError(f"argument '{name}' must be a real number, not {type(number).__name__}")


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What is measured: the statement, its setup, and its labels."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement itself."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        heading = f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n"
        return heading + "\n".join(f"  {line}" for line in self.stmt.splitlines())

    def setup_str(self) -> str:
        """The setup, as text."""
        if self.setup == "pass" or not self.setup:
            return ""
        if "\n" not in self.setup:
            return f"setup: {self.setup}"
        return "setup:\n" + "\n".join(f"  {line}" for line in self.setup.splitlines())

    def summarize(self) -> str:
        """The whole description as text."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join(part for part in parts if part)


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """Times of a statement, each of `number_per_run` runs."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        # The task's labels are attributes of its measurement, too.
        if name in ("stmt", "label", "sub_label", "description", "env", "num_threads", "title"):
            return getattr(self.task_spec, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """The time of one run, for each measurement."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self) -> float:
        """The mean."""
        return float(np.mean(self.times))

    @property
    def median(self) -> float:
        """The median."""
        return float(np.median(self.times))

    @property
    def iqr(self) -> float:
        """The interquartile range."""
        low, high = np.percentile(self.times, [25, 75])
        return float(high - low)

    @property
    def significant_figures(self) -> int:
        """How many digits of the median are significant, judged by the spread of the middle half of the times."""
        times = sorted(self.times)
        middle = times[len(times) // 4 : math.ceil(3 * len(times) / 4)]
        doubt = max(1.645 * float(np.std(middle)) / math.sqrt(len(middle)), _SHORTEST_DOUBT)
        return min(max(math.floor(math.log10(self.median / doubt)), 1), _MOST_FIGURES)

    @property
    def has_warnings(self) -> bool:
        """Whether the times are spread out so far that they say little."""
        return self.iqr / self.median > _SOME_SPREAD

    @property
    def as_row_name(self) -> str:
        """The name of its row in a table."""
        return self.sub_label or self.stmt or "[Unknown]"

    def meets_confidence(self, threshold: float = 0.05) -> bool:
        """Whether the spread is small relative to the median."""
        return self.iqr / self.median < threshold

    def __repr__(self) -> str:
        count = len(self.times)
        unit, scale = select_unit(self.median)
        lines = [object.__repr__(self), self.task_spec.summarize()]
        per = "per measurement" if count > 1 else ""
        if count == 1:
            lines.append(f"  {self.median / scale:.2f} {unit}")
        else:
            lines.append(f"  Median: {self.median / scale:.2f} {unit}")
        if count >= 4:
            low, high = np.percentile(self.times, [25, 75]) / scale
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})")
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        lines.append(
            f"  {count} measurement{'s' if count > 1 else ''}, {self.number_per_run} runs {per}, {threads}"
        )
        if count >= 4 and self.has_warnings:
            share = self.iqr / self.median
            lines.append(
                f"  WARNING: Interquartile range is {share * 100:.1f}% of the median measurement."
            )
            lines.append(
                "           This suggests significant environmental influence."
                if share > _GROSS_SPREAD
                else "           This could indicate system fluctuation."
            )
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Merge the measurements of each task into one."""
        groups: dict[TaskSpec, list[float]] = {}
        for one in measurements:
            groups.setdefault(one.task_spec, []).extend(one.times)
        return [Measurement(1, times, task) for task, times in groups.items()]
