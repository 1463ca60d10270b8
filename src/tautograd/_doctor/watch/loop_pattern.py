"""The beat of a loop: once it is known, a step that goes as steps went before costs almost nothing.

A cycle is what happens between two steps: which events, from which lines, in which order, and what
became of the gradients by then (none, or their version against the last step's). Rules judge the first
cycles of every kind. A cycle that is known by then is only compared, event by event; one that is new
makes the doctor wake up and look at all that follows, until that is known as well.
"""

from __future__ import annotations

import sys
from time import perf_counter
from types import CodeType
from typing import Any

from ..._user_code.stack import innermost, is_known, site_of

_frame = sys._getframe
CLOSE_STEPS = 12  # so many first steps are watched closely,
CLOSE_AGAIN = 400  # and one in so many after that, or more,
SHARE = 0.004  # if that took more than this of the time
LONGEST = 2000  # steps that it stays awake, waiting for something rare to come again
LIMIT = 20_000  # events that are remembered; a loop that never repeats is watched for ever
KNOWN = 2  # times that a cycle must have been seen
_NOTHING: list[Any] = [None]  # versions of no gradients; None ends them


class Place:
    """A point of a cycle: the events that may follow, and where they lead."""

    __slots__ = (
        "code", "depth", "ends", "following", "instruction", "kind", "next", "owner", "risks"
    )  # fmt: skip

    def __init__(self) -> None:
        self.following: dict[Any, Place] = {}  # by what, from which line, of whom
        self.ends: dict[Any, int] = {}  # after a step: what became of the gradients -> times
        # The way that was taken last, known by the very instruction, so many frames up.
        self.kind, self.instruction, self.owner, self.depth = "", -1, 0, 0
        self.code: CodeType | None = None
        self.next: Place | None = None
        self.risks: list[Any] = []  # ways to operations of a backward that can make NaN


class Pulse:
    """Follows a loop through the cycles that are known."""

    def __init__(self, look_at: int | None = None) -> None:
        self.look_at = look_at  # the step before which it wakes up, if that was asked for
        self.awake = True
        self.close = True  # whether modules and losses are looked at as well
        self.until = CLOSE_STEPS
        self.next_look = CLOSE_AGAIN  # the step after which it wakes up in any case
        self.first = Place()
        self.at: Place | None = self.first  # None: lost, until the next step
        self._size = 0
        self._marked: Any = None  # what became of the gradients in this cycle
        self._woken = 0  # the step at which it woke up last
        self._woken_at = 0.0
        self._asleep = (0, 0.0)  # since which step, and since when
        self._missed = 0  # the step at which something new came up
        self._versions: dict[int, list[Any]] = {}

    @property
    def is_thorough(self) -> bool:
        """Whether this loop is new: what flows through its graph is looked at as well."""
        return self.close and self.until - self._woken > 1

    # --- asleep --------------------------------------------------------------------------------

    def beat(self, kind: str, owner: Any = None) -> None:
        """An event, while asleep."""
        at = self.at
        if at is None:
            return
        if at.kind is kind and at.owner == id(owner):
            try:
                frame = _frame(at.depth)
            except ValueError:  # there are not so many
                pass
            else:
                if at.instruction == frame.f_lasti and at.code is frame.f_code:
                    self.at = at.next
                    return
        self.at = _find(at, kind, id(owner))

    def step(self, optimizer: Any) -> None:
        """A step that is about to happen, while asleep."""
        self.beat("step", optimizer)
        if (at := self.at) is not None and self._marks(optimizer) not in at.ends:
            self.at = None

    def stepped(self, steps: int) -> None:
        """After a step that was not as it should be, or when it is time: wake up."""
        if self.at is None:  # to see it again: what came after so many steps may do so every time
            self.wake(steps, min(max(CLOSE_STEPS, steps - self._missed + 2), LONGEST))
            self._missed = steps
        else:
            self.wake(steps, CLOSE_STEPS if steps + 1 == self.look_at else 1)

    def wake(self, steps: int, how_long: int = CLOSE_STEPS) -> None:
        """Look at everything for so many steps."""
        self.until = steps + how_long
        self.awake = self.close = True
        self.at = self.first if self._size < LIMIT else None
        self._woken, self._woken_at = steps, perf_counter()

    # --- awake ---------------------------------------------------------------------------------

    def learn(self, kind: str, site: Any, owner: Any = None) -> None:
        """An event, while awake."""
        if self.at is not None:
            key = kind, id(site), id(owner)
            found = self.at.following.get(key)
            if found is None:
                self._size += 1
                found = self.at.following[key] = Place()
            self.at = found if self._size < LIMIT else None

    def learn_step(self, site: Any, optimizer: Any) -> None:
        self.learn("step", site, optimizer)
        self._marked = self._marks(optimizer)
        if self.at is not None:
            ends = self.at.ends
            ends[self._marked] = ends.get(self._marked, 0) + 1

    def learned(self, steps: int) -> None:
        """After a step, while awake: whether to fall asleep."""
        known = self.at is not None and self.at.ends.get(self._marked, 0) >= KNOWN
        self.at = self.first if self._size < LIMIT else None
        self.close = steps - self._woken < CLOSE_STEPS
        if steps + 1 == self.look_at:
            self.wake(steps)
        elif known and steps >= self.until:
            self.awake = self.close = False
            self._plan(steps)

    def _plan(self, steps: int) -> None:
        """When to look again: a look that lasts as long as many short steps comes more rarely."""
        now = perf_counter()
        since, when = self._asleep
        wait = CLOSE_AGAIN
        if self.until - self._woken == 1 and self._woken > since:  # as long as one step
            usual = (self._woken_at - when) / (self._woken - since)
            cost = now - self._woken_at - usual
            wait = int(min(max(wait, cost / (SHARE * usual)), 25 * wait))
        self.next_look = steps + wait
        if self.look_at is not None and self.look_at > steps + 1:
            self.next_look = min(self.next_look, self.look_at - 1)
        self._asleep = steps, now

    def _marks(self, optimizer: Any) -> Any:
        """What became of the gradients since the last step, without reading any: 0 if each is as it
        was then (or as new as it was then), else how far each one's version has moved."""
        before = self._versions.get(id(optimizer), _NOTHING)
        count = 0
        for group in optimizer.param_groups:
            for p in group["params"]:
                grad = p.grad
                if before[count] != (-1 if grad is None else grad._version):
                    return self._moved(optimizer, before)
                count += 1
        return 0 if before[count] is None else self._moved(optimizer, before)

    def _moved(self, optimizer: Any, before: list[Any]) -> Any:
        now = [
            -1 if (grad := p.grad) is None else grad._version
            for group in optimizer.param_groups
            for p in group["params"]
        ]
        self._versions[id(optimizer)] = [*now, None]
        if len(before) != len(now) + 1:
            return tuple(now)
        return tuple(
            None if new < 0 else new - max(old, 0) for old, new in zip(before, now, strict=False)
        )


def _find(at: Place, kind: str, owner: int) -> Place | None:
    """Where an event leads, by its line; the way is remembered."""
    frame, depth = innermost(_frame(2))
    found = at.following.get((kind, id(site_of(frame)), owner))
    if found is not None and frame is not None and is_known(frame):
        at.kind, at.code, at.instruction, at.owner = kind, frame.f_code, frame.f_lasti, owner
        at.depth, at.next = depth + 1, found
    return found
