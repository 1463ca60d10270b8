"""Kills and interrupts at random moments of every kind of write."""

from __future__ import annotations

import random
import shutil
import signal
import tempfile
from collections import Counter
from pathlib import Path

from fuzz.target import Case, Target
from fuzz.writers import WRITERS, attack, random_delay, warm


class Kills(Target):
    """Files are whole, old or new; what a kill leaves behind is removed by the next write."""

    name = "kills"
    share = 0.5
    memory = 0  # children share the worker's memory

    def prepare(self) -> None:
        self._folders: dict[str, tempfile.TemporaryDirectory[str]] = {}

    def case(self, rng: random.Random) -> Case:
        return {
            "kind": rng.choice(list(WRITERS)),
            "delay": random_delay(rng),
            "signal": rng.choice(("SIGKILL", "SIGKILL", "SIGINT", "SIGTERM")),
        }

    def check(self, case: Case, counts: Counter[str]) -> str | None:
        kind = case["kind"]
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            self._warm(kind, folder)
            wrong = attack(kind, folder, case["delay"], signal.Signals[case["signal"]])
        counts["interrupts" if case["signal"] == "SIGINT" else "kills"] += 1
        return wrong

    def _warm(self, kind: str, folder: Path) -> None:
        """Create the state before the attack: written once, then copied."""
        if not hasattr(self, "_folders"):
            self.prepare()
        if kind not in self._folders:
            self._folders[kind] = tempfile.TemporaryDirectory(prefix="kills-")
            warm(kind, Path(self._folders[kind].name))
        shutil.copytree(self._folders[kind].name, folder, dirs_exist_ok=True)


TARGET = Kills()
