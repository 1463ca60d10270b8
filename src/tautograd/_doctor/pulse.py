"""The beat of a loop: once it is known, a step that goes as steps went before costs almost nothing.

A cycle is what happens between two steps: which events, from which lines, in which order, and what
became of the gradients by then (none, or their version against the last step's). Rules judge the first
cycles of every kind. A cycle that is known by then is only compared, event by event; one that is new
makes the doctor wake up and look at all that follows, until that is known as well.
"""

from __future__ import annotations

from typing import Any

from .sites import user_site

CLOSE_STEPS = 12  # so many first steps are watched closely,
CLOSE_AGAIN = 400  # and one in so many after that
LONGEST = 2000  # steps that it stays awake, waiting for something rare to come again
LIMIT = 20_000  # events that are remembered; a loop that never repeats is watched for ever
KNOWN = 2  # times that a cycle must have been seen

Event = dict[Any, Any]  # the events that may follow, by their key; under None, ends: marks -> times


class Pulse:
    """Follows a loop through the cycles that are known."""

    def __init__(self) -> None:
        self.awake = True
        self.close = True  # whether modules and losses are looked at as well
        self.until = CLOSE_STEPS
        self._first: Event = {}
        self._at: Event | None = self._first  # None: lost, until the next step
        self._size = 0
        self._marked: Any = None  # what became of the gradients in this cycle
        self._woken = 0  # the step at which it woke up last
        self._missed = 0  # the step at which something new came up
        self._versions: dict[int, list[Any]] = {}

    @property
    def is_thorough(self) -> bool:
        """Whether this loop is new: what flows through its graph is looked at as well."""
        return self.close and self.until - self._woken > 1

    # --- asleep --------------------------------------------------------------------------------

    def beat(self, kind: str, owner: Any = None) -> None:
        """An event, while asleep."""
        at = self._at
        if at is not None:
            self._at = at.get((kind, id(user_site(1)), id(owner)))

    def step(self, optimizer: Any) -> None:
        """A step that is about to happen, while asleep."""
        at = self._at
        if at is None:
            return
        at = at.get(("step", id(user_site(1)), id(optimizer)))
        if at is not None and self._marks(optimizer) not in at.get(None, ()):
            at = None
        self._at = at

    def stepped(self, steps: int) -> bool:
        """After a step, while asleep: whether to wake up."""
        lost = self._at is None
        self._at = self._first
        if not lost and steps % CLOSE_AGAIN:
            return False
        if lost:  # to see it again: what came after so many steps may do so every time
            self.wake(steps, min(max(CLOSE_STEPS, steps - self._missed + 2), LONGEST))
            self._missed = steps
        else:
            self.wake(steps, 1)
        return True

    def wake(self, steps: int, how_long: int = CLOSE_STEPS) -> None:
        """Look at everything for so many steps."""
        self.until = steps + how_long
        self.awake = self.close = True
        self._at = self._first if self._size < LIMIT else None
        self._woken = steps

    # --- awake ---------------------------------------------------------------------------------

    def learn(self, kind: str, site: Any, owner: Any = None) -> None:
        """An event, while awake."""
        if self._at is not None:
            key = kind, id(site), id(owner)
            found = self._at.get(key)
            if found is None:
                self._size += 1
                found = self._at[key] = {}
            self._at = found if self._size < LIMIT else None

    def learn_step(self, site: Any, optimizer: Any) -> None:
        self.learn("step", site, optimizer)
        self._marked = self._marks(optimizer)
        if self._at is not None:
            ends = self._at.setdefault(None, {})
            ends[self._marked] = ends.get(self._marked, 0) + 1

    def learned(self, steps: int) -> None:
        """After a step, while awake: whether to fall asleep."""
        ends = self._at.get(None) if self._at is not None else None
        known = ends is not None and ends.get(self._marked, 0) >= KNOWN
        self._at = self._first if self._size < LIMIT else None
        self.close = steps - self._woken < CLOSE_STEPS
        if known and steps >= self.until:
            self.awake = self.close = False

    def _marks(self, optimizer: Any) -> Any:
        """What became of the gradients since the last step, without reading any: 0 if each is as it
        was then (or as new as it was then), else how far each one's version has moved."""
        now = [
            None if (grad := p.grad) is None else grad._version
            for group in optimizer.param_groups
            for p in group["params"]
        ]
        before = self._versions.get(id(optimizer))
        if now == before:
            return 0
        self._versions[id(optimizer)] = now
        if before is None or len(before) != len(now):
            return tuple(now)
        return tuple(
            None if new is None else new - (old or 0)
            for old, new in zip(before, now, strict=True)
        )  # fmt: skip
