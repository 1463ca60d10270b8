"""What a fuzz target is: how a hostile case is created, what it must not do, how it is shrunk.

A case is JSON-serialisable, so that a failing one can be kept as a test (`tests/fuzz/kept`).
Targets are found by name: every module in `fuzz/targets` defines one, as `TARGET`.
"""

from __future__ import annotations

import abc
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

Case = Any  # anything json.dumps accepts


class Target(abc.ABC):
    """One surface under attack. `check` runs in a worker process that may be killed."""

    name: str
    share = 1.0
    """Its share of the time, relative to the other targets."""
    limit = 10.0
    """Seconds after which a case counts as hung."""
    memory = 6 << 30
    """Bytes of address space for its worker."""

    beside_others = False
    """Whether foreign code runs in the same process, which may corrupt its memory and be gone when that shows."""

    def __init__(self) -> None:
        self.remarks: list[dict[str, Any]] = []
        """What is not a failure but worth a line in a log (`--log`); a worker empties it."""

    def prepare(self) -> None:
        """Import what the cases need; called once in each worker."""
        return

    @abc.abstractmethod
    def case(self, rng: random.Random) -> Case:
        """A hostile case."""

    @abc.abstractmethod
    def check(self, case: Case, counts: Counter[str]) -> str | None:
        """What went wrong with the case, its first line the kind of failure; None if nothing.

        `counts` records what was done: calls, files, kills, …
        """

    def smaller(self, case: Case) -> Iterator[Case]:
        """Simpler cases that may fail the same way, most promising first."""
        return iter(())
