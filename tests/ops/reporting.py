"""How a record's test fails: each distinct problem, and the samples and dtypes it shows in."""

from __future__ import annotations

import pytest


class Problems:
    """What went wrong with one record, grouped by kind of trouble."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.found: dict[str, list[tuple[str, str]]] = {}

    def add(self, where: str, problem: str | None, dtype: str = "") -> None:
        if problem:
            self.found.setdefault(problem, []).append((where, dtype))

    def fail_if_any(self) -> None:
        if not self.found:
            return
        lines = [f"  {problem}\n      {_places(at)}" for problem, at in self.found.items()]
        more = [f"  … and {len(lines) - 20} more"] if len(lines) > 20 else []
        count = sum(map(len, self.found.values()))
        pytest.fail("\n".join([f"{self.name}: {count} cases", *lines[:20], *more]), pytrace=False)


def _places(at: list[tuple[str, str]]) -> str:
    """`sample0 Sample(T(2, 3)), 4 more samples; float64 complex128`."""
    samples = list(dict.fromkeys(where for where, _ in at))
    dtypes = list(dict.fromkeys(dtype for _, dtype in at))
    more = f", {len(samples) - 1} more samples" if len(samples) > 1 else ""
    return f"{samples[0]}{more}; {'all dtypes' if len(dtypes) == 12 else ' '.join(dtypes)}"
