"""Learning-rate schedulers stepped too early, too often, or never: TG903."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from ...._user_code.sites import Site
from ...._user_code.stack import user_frames
from ...state.gradient_ledger import parameters_of
from ...watch.events import Backward, Scaler, Schedule, Step
from ..base import Rule
from ..training_loop import training
from .steps_in_source import is_in_turn_with, is_never_stepped, nobody_is_left, places_of

ENOUGH = 5  # steps of an optimizer whose scheduler should have moved by then


@dataclass
class _Made:
    """A scheduler, and what was seen of it."""

    scheduler: Any  # a weak reference
    optimizer: int
    site: Site | None
    before: int = 0  # steps of the optimizer until then
    steps: int = 0
    early: Site | None = None  # where it stepped before its optimizer ever did
    kind: str = ""
    course: Any = None  # what `courses` knows of it


class Scheduler(Rule):
    """A scheduler steps before the optimizer, once per micro-batch, or never."""

    code = "TG903"
    name = "scheduler"
    severity = "warning"
    why = (
        "A schedule is written for a number of optimizer steps or epochs. Stepped before the optimizer, "
        "its first value is never used; stepped per micro-batch, it is over too soon; not stepped, the "
        "rate stays at its first value, which for a warm-up is next to nothing."
    )
    quiet = (
        "One step before the loop, steps that a scaler skips, and schedulers that are given to someone "
        "else or whose step() is in the source and was not reached."
    )
    fix = "scheduler.step()  # right after optimizer.step(), or after the epoch"
    example = training(
        """
  for _ in range(5):
-     scheduler.step()  # here
      optimizer.zero_grad()
      torch.nn.functional.mse_loss(model(x), y).backward()
      optimizer.step()
+     scheduler.step()
""",
        scheduler="""
  scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
""",
    )

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.made: dict[int, _Made] = {}
        self.stepped: dict[int, int] = {}  # optimizer -> its steps
        self.window: dict[int, list[Site | None]] = {}  # scheduler -> its steps since the last step
        self.backwards: list[Site | None] = []  # since the last step
        self.often: dict[int, int] = {}  # windows in a row with a step per backward
        self.last = 0
        self.places: set[tuple[str, int]] = set()  # where schedulers are made and steps taken
        self.steps_at: set[tuple[str, int]] = set()  # lines that stepped something else

    def after_backward(self, event: Backward) -> None:
        self.backwards = [*self.backwards[-99:], event.site]

    def on_scaler(self, event: Scaler) -> None:
        if event.how == "step" and event.site is not None:
            self.steps_at.add((event.site.file, event.site.line))
        if event.how == "step":  # it may be skipped, and is a step all the same
            self.stepped[id(event.optimizer)] = self.stepped.get(id(event.optimizer), 0) + 1

    def on_schedule(self, event: Schedule) -> None:
        key, optimizer = id(event.scheduler), id(event.optimizer)
        known = self.made.get(key)
        if event.made or known is None or known.scheduler() is not event.scheduler:
            if known is not None:
                self._judge(known)
            self.window.pop(key, None)
            self.often[key] = 0
            known = self.made[key] = _Made(
                weakref.ref(event.scheduler), optimizer, event.site if event.made else None,
                self.stepped.get(optimizer, 0), kind=type(event.scheduler).__name__,
            )  # fmt: skip
            if event.made:
                self.places |= places_of(user_frames())
            # One that was there before anyone looked may have a history.
            known.steps = 0 if event.made else 1
        known.course = known.course or self.doctor.courses.of(event.scheduler)
        if event.made:
            return
        known.steps += 1
        if event.site is not None:
            self.steps_at.add((event.site.file, event.site.line))
        self.window.setdefault(key, []).append(event.site)
        if known.site is None:
            return
        if not self.stepped.get(optimizer):
            known.early = event.site
            if known.steps == ENOUGH and self._is_replaced(event.optimizer):
                self._say_replaced(event, known)
        elif known.early is not None and known.early == event.site:
            self.report(
                "The scheduler steps before the optimizer does: the first value of the schedule is "
                "never used, and all others come one step early.",
                event.site,
            )
            known.early = None

    def _is_replaced(self, optimizer: Any) -> bool:
        """Whether all that an optimizer holds is held by others, which step, as it never did."""
        others = [o for reference in self.doctor.optimizers if (o := reference()) is not None]
        moved = {
            id(p)
            for other in others
            if other is not optimizer and self.stepped.get(id(other), 0) >= ENOUGH - 1
            for p in parameters_of(other)
        }
        return all(id(p) in moved for p in parameters_of(optimizer))

    def _say_replaced(self, event: Schedule, known: _Made) -> None:
        self.report(
            "The scheduler moves the learning rate of an optimizer that never steps: another one, which "
            "does, holds the same parameters, and its learning rate stays.",
            event.site, fix_site=known.site, figures={"scheduler steps": known.steps},
            why="A scheduler belongs to the optimizer it was made with. When a new optimizer is made, "
            "the old one's scheduler goes on with the old one.",
            fix="scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)  # with the new optimizer",
        )  # fmt: skip

    def before_step(self, event: Step) -> None:
        optimizer = id(event.optimizer)
        if event.step > self.last:  # steps that nobody looked at
            self.window.clear()
            self.backwards = []
        for key, made in self.made.items():
            if made.optimizer != optimizer:
                continue
            lines = self.window.get(key, [])
            per_backward = (
                len(lines) > 1
                and len(set(lines)) == 1
                and len(set(self.backwards)) == 1
                and abs(len(lines) - len(self.backwards)) <= 1
            )
            self.often[key] = self.often.get(key, 0) + 1 if per_backward else 0
            if self.often[key] == 2:
                made.early = None
                self.report(
                    f"The scheduler stepped {len(lines)} times for one step of its optimizer, once for "
                    "every backward.",
                    lines[0], figures={"scheduler steps": len(lines), "optimizer steps": 1},
                )  # fmt: skip
            self.window[key] = []

    def after_step(self, event: Step) -> None:
        if event.site is not None:
            self.steps_at.add((event.site.file, event.site.line))
            if self.last < 3:
                self.places |= places_of(user_frames())
        self.last = self.doctor.steps
        self.stepped[id(event.optimizer)] = self.stepped.get(id(event.optimizer), 0) + 1
        self.backwards = []

    def at_end(self) -> None:
        for made in self.made.values():
            self._judge(made)
        self._two_of_one()

    def _two_of_one(self) -> None:
        """Two schedulers of one kind for one optimizer, and none for another that steps as well."""
        used = [
            made for made in self.made.values() if made.steps >= ENOUGH and made.site is not None
        ]
        scheduled = {made.optimizer for made in self.made.values()}
        alive = [o for reference in self.doctor.optimizers if (o := reference()) is not None]
        bare = [
            o for o in alive
            if id(o) not in scheduled and self.stepped.get(id(o), 0) >= ENOUGH
        ]  # fmt: skip
        for i, made in enumerate(used):
            twins = [m for m in used[:i] if (m.optimizer, m.kind) == (made.optimizer, made.kind)]
            if twins and bare:
                self.report(
                    f"This is the second {made.kind} of one optimizer, and another one, which steps as "
                    "well, has none.",
                    made.site, fix_site=made.site, parameters=self.doctor.names(parameters_of(bare[0])),
                    fix=f"scheduler = {made.kind}(...)  # of the other optimizer",
                )  # fmt: skip

    def _judge(self, made: _Made) -> None:
        """A scheduler that is gone, or will be: whether it was of any use."""
        steps = self.stepped.get(made.optimizer, 0) - made.before
        if made.steps or made.site is None or steps < ENOUGH:
            return
        is_alone = not any(m.steps for m in self.made.values() if m.optimizer == made.optimizer)
        # Else it may be a part of the one that is stepped.
        nobody = is_alone and nobody_is_left(self.places, self.steps_at)
        if not nobody and not is_never_stepped(made.site):
            self._judge_turn(made, steps)
            return
        self.report(
            f"This scheduler is made and never stepped, in {steps} or more steps of its optimizer: the "
            "learning rate stays at its first value.",
            made.site, figures={"optimizer steps": steps, "scheduler steps": 0},
        )  # fmt: skip

    def _judge_turn(self, made: _Made, steps: int) -> None:
        """Another one of the same optimizer is stepped in its place, though it has long done its part."""
        if made.site is None or self.doctor.is_cut_short:
            return
        for other in self.made.values():
            course = other.course if other.optimizer == made.optimizer and other.steps else None
            if course is None:
                continue
            rates = [rate for _, rate in course.rates]
            done = len(rates) - next((i for i, r in enumerate(rates) if r == rates[-1]), len(rates))
            if done >= max(ENOUGH, 3 * len(rates) // 4) and is_in_turn_with(
                made.site, course.stepped_at
            ):
                self.report(
                    f"This {made.kind} waits for its turn and never gets it: another scheduler of the same "
                    f"optimizer is stepped in its place, and has not changed the rate in its last {done} steps.",
                    made.site, fix_site=course.stepped_at,
                    figures={"optimizer steps": steps, "scheduler steps": 0},
                    sure="Certain that it never stepped in this run, which was not cut short.",
                    refute="It begins only after more steps than this run has.",
                    fix="# mend the condition that decides whose turn it is",
                )  # fmt: skip
                return
