"""The course of every schedule: how often it was stepped, which rates it left, and which ones were used.

Schedulers are heard here at every step, also while the doctor sleeps, since what is wrong with one shows
late; a turn costs a few numbers. Only numbers and lines are kept: a scheduler may be gone at the end.
"""

from __future__ import annotations

import weakref
from itertools import groupby
from typing import Any

from ..._user_code.sites import Site
from ..watch.enclosing_loops import Turn, enclosing_loops

MANY = 2000  # turns that are kept of one schedule
MANY_FALLS = 8


class Course:
    """What one scheduler did."""

    def __init__(self, scheduler: Any, site: Site | None, steps: int, owner: int) -> None:
        self.scheduler = weakref.ref(scheduler)
        self.kind = type(scheduler).__name__
        self.owner = owner  # which optimizer's it is
        self.site = site  # where it was made,
        self.stepped_at: Site | None = None  # and where it was stepped first
        self.settings = settings_of(scheduler)
        self.made = steps  # optimizer steps before it
        self.turns = self.changes = 0  # how often it was stepped, and how often that moved the rate
        self.last = 0  # its own count of turns
        self.rates: list[tuple[int, float]] = []  # steps so far, and the rate that a turn left
        self.used: list[tuple[float, float]] = []  # the rate that a turn left, the next step's own
        self.lost = 0  # changes that another scheduler took back
        self.lost_to: Course | None = None
        self.falls: list[list[Turn]] = []  # in which loops the first falls of a staircase came,
        self.looks: list[list[Turn]] = []  # and some of its other turns
        self.begun_anew: Site | None = None  # where its optimizer was loaded, which was further on
        self.is_part_of: Site | None = None  # where the one that steps it was made

    @property
    def start(self) -> float:
        """The rate that the optimizer was given."""
        base = self.settings.get("base_lrs") or [0.0]
        return float(base[0])

    def moved(self) -> list[float]:
        """The rates that its turns left, each once in a row."""
        return [rate for rate, _ in groupby(rate for _, rate in self.rates)]


def settings_of(scheduler: Any) -> dict[str, Any]:
    """The numbers that a scheduler was made with."""
    found: dict[str, Any] = {}
    for name, value in vars(scheduler).items():
        if isinstance(value, int | float | str):
            found[name] = value
        elif name == "milestones" and hasattr(value, "keys"):  # MultiStepLR counts them
            found[name] = sorted(value)
        elif isinstance(value, list | tuple) and all(isinstance(v, int | float) for v in value):
            found[name] = list(value)
    parts = getattr(scheduler, "_schedulers", None)
    if isinstance(parts, list | tuple):
        found["parts"] = [(type(part).__name__, settings_of(part)) for part in parts]
        found["base_lrs"] = next((p["base_lrs"] for _, p in found["parts"] if "base_lrs" in p), [])
    return found


def rate_of(optimizer: Any, group: int = 0) -> float:
    """The rate of a group; NaN where it is a tensor, which is not read for this."""
    rate = optimizer.param_groups[group].get("lr", 0.0)
    return float(rate) if isinstance(rate, int | float) else float("nan")


class Courses:
    """All schedules of a run, in the order in which they were made."""

    def __init__(self) -> None:
        self.all: list[Course] = []
        self.pending: dict[int, Course] = {}  # optimizer -> whose rate its next step should use
        self._owners: list[Any] = []  # weak references to optimizers
        self._writers: dict[int, Course] = {}  # optimizer -> whose turn moved its rate last
        self._loaded: dict[int, Site | None] = {}  # optimizers that were loaded in mid-course
        self._parts: dict[int, Any] = {}  # schedulers that another one steps
        self._by_scheduler: dict[int, Course] = {}

    def owner(self, optimizer: Any) -> int:
        """A number for an optimizer: an `id` may be another's later."""
        for number, known in enumerate(self._owners):
            if known() is optimizer:
                return number
        self._owners.append(weakref.ref(optimizer))
        return len(self._owners) - 1

    def made(self, scheduler: Any, site: Site | None, steps: int) -> Course | None:
        """A scheduler is new; or it is heard of for the first time, and nobody knows where it was made."""
        optimizer = getattr(scheduler, "optimizer", None)
        if optimizer is None:
            return None
        course = Course(scheduler, site, steps, self.owner(optimizer))
        if len(self.all) < MANY:
            self.all.append(course)
        self._by_scheduler[id(scheduler)] = course
        for part in getattr(scheduler, "_schedulers", None) or ():
            self._parts[id(part)] = weakref.ref(part), site
        return course

    def of(self, scheduler: Any) -> Course | None:
        course = self._by_scheduler.get(id(scheduler))
        return course if course is not None and course.scheduler() is scheduler else None

    def loaded(self, optimizer: Any, state: Any, site: Site | None) -> None:
        """An optimizer was given a state; one whose rate a schedule had moved is in mid-course."""
        groups = state.get("param_groups", ()) if isinstance(state, dict) else ()
        if any("initial_lr" in group and group["initial_lr"] != group["lr"] for group in groups):
            self._loaded[self.owner(optimizer)] = site

    def turned(self, scheduler: Any, before: float, steps: int, site: Site | None) -> None:
        """After a step of a scheduler; `before` is the rate that it found."""
        course = self.of(scheduler) or self.made(scheduler, None, steps)
        if course is None:
            return
        optimizer, owner = scheduler.optimizer, course.owner
        left, count = (course.rates[-1][1] if course.rates else before), course.last
        course.turns += 1
        course.last = int(getattr(scheduler, "last_epoch", 0) or 0)
        if course.turns == 1:
            course.stepped_at = site
            part = self._parts.get(id(scheduler))
            course.is_part_of = part[1] if part is not None and part[0]() is scheduler else None
            if owner in self._loaded and course.last == 1:
                course.begun_anew = self._loaded[owner]
        rate = rate_of(optimizer)
        if len(course.rates) >= MANY:
            course.rates.pop()
        course.rates.append((steps, rate))
        writer = self._writers.get(owner)
        is_moved = bool(count) and before != left and course.kind in FROM_THE_START
        if is_moved and writer is not None and writer is not course:
            writer.lost += 1
            writer.lost_to = course
        if rate != before:
            course.changes += 1
            self._writers[owner] = self.pending[id(optimizer)] = course
        if course.kind not in STAIRCASES:
            return
        if rate != before and len(course.falls) < MANY_FALLS:
            course.falls.append(enclosing_loops())
        if course.turns & (course.turns - 1) == 0:  # 1, 2, 4, 8, ...
            course.looks.append(enclosing_loops())

    def use(self, optimizer: Any) -> None:
        """The first step after a turn."""
        course = self.pending.pop(id(optimizer), None)
        if course is not None and course.rates and len(course.used) < MANY:
            course.used.append((course.rates[-1][1], rate_of(optimizer)))


FROM_THE_START = frozenset(("LambdaLR", "OneCycleLR", "CosineAnnealingWarmRestarts", "CyclicLR"))
"""Schedules that compute every rate from the first one: what another has made of it since is lost."""
STAIRCASES = frozenset(("StepLR", "MultiStepLR"))
