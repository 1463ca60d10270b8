"""What a computation may change besides its result, and the state from which each of its runs starts."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from .held import Held


def _same_stream(one: Any, other: Any) -> bool:
    """Whether nothing was drawn between two states of a generator."""
    return all(
        np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
        for a, b in zip(one, other, strict=True)
    )


class RunState:
    """Random streams, buffers, and what is held."""

    def __init__(self, engine: Any, target: Any, is_module: bool) -> None:
        self.engine = engine
        self.held = Held(target)
        self.holds = False  # whether held state changes the result, and so is restored
        self.leaves = False  # whether a run changes held state
        self.rng = engine.get_rng_state()
        self.others: dict[str, Any] = {"python": random.getstate(), "numpy": np.random.get_state()}  # noqa: NPY002
        self.drawn_elsewhere = list(self.others)
        self.buffers = (
            {k: b.detach().clone() for k, b in target.named_buffers()} if is_module else {}
        )
        self.draws = True
        self._at_start = True  # nothing that could have drawn has run yet
        self.moved: list[str] = []
        self._given: dict[str, Any] = {}

    def restore(self) -> None:
        if self._at_start:
            self._at_start = False
            return
        if self.holds:
            self.held.restore()
        if self.draws:
            self.engine.set_rng_state(self.rng)
        if "python" in self.drawn_elsewhere:
            random.setstate(self.others["python"])
        if "numpy" in self.drawn_elsewhere:
            np.random.set_state(self.others["numpy"])  # noqa: NPY002

    def put_back(self) -> None:
        """Restore every random stream to the state it was found in."""
        if not self.engine.equal(self.engine.get_rng_state(), self.rng):
            self.engine.set_rng_state(self.rng)
        self.restore()
        if self.leaves or self.holds:
            self.held.leave_as_found()

    def fresh_buffers(self) -> dict[str, Any]:
        self._given = {k: b.clone() for k, b in self.buffers.items()}
        return self._given

    def note_what_moved(self) -> None:
        """After the first run: record which of these it changed, so that later runs are faster."""
        self.draws = not self.engine.equal(self.engine.get_rng_state(), self.rng)
        now: dict[str, Any] = {"python": random.getstate(), "numpy": np.random.get_state()}  # noqa: NPY002
        self.drawn_elsewhere = [
            name for name, state in self.others.items() if not _same_stream(state, now[name])
        ]
        self.moved = [
            k
            for k, b in self._given.items()
            if not bool((b == self.buffers[k]).all()) and b.numel()
        ]
        self.leaves = self.held.moved()
        self.restore()
