"""How a record's test fails: one line per distinct problem, and in which dtypes it shows."""

from __future__ import annotations

import pytest


class Problems:
    """What went wrong with one record, grouped by sample and kind of trouble."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.found: dict[tuple[str, str], list[str]] = {}

    def add(self, where: str, problem: str | None, dtype: str = "") -> None:
        if problem:
            self.found.setdefault((where, problem), []).append(dtype)

    def fail_if_any(self) -> None:
        if not self.found:
            return
        lines = [
            f"  {where} [{'all dtypes' if len(dtypes) == 12 else ' '.join(dtypes)}]: {problem}"
            for (where, problem), dtypes in self.found.items()
        ]
        more = [f"  … and {len(lines) - 30} more"] if len(lines) > 30 else []
        count = sum(map(len, self.found.values()))
        pytest.fail("\n".join([f"{self.name}: {count} cases", *lines[:30], *more]), pytrace=False)
