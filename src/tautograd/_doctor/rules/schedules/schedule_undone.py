"""Schedulers whose rate no step uses, or that begin again: TG913."""

from __future__ import annotations

from collections import defaultdict

from ...._user_code.sites import Site
from ...state.courses import Course
from ..base import Rule
from ..training_loop import training

ENOUGH = 3  # times
_LENGTHS = ("T_max", "total_iters", "total_steps", "step_size")


class ScheduleUndone(Rule):
    """What a scheduler does to the rate is undone: by another one, by hand, or by making it anew."""

    code = "TG913"
    name = "schedule-undone"
    severity = "warning"
    why = (
        "A rate lives in one place, and whoever writes last wins. LambdaLR, OneCycleLR and cyclic schedules "
        "compute it from the start, whatever another one has made of it; a loop that sets it by hand does so too. "
        "And a scheduler counts by itself: made anew, or not loaded when its optimizer is, it begins at 0."
    )
    quiet = (
        "Schedules that multiply (they work together), rates set by hand now and then, for a warm-up, or in "
        "proportion to the schedule's, and cycles that are made anew when the last one is over."
    )
    sure = "Certain that the rate was so; that it was not meant is likely."
    refute = "The second rate is the one that is meant, and the first schedule can go."
    fix = "scheduler = SequentialLR(optimizer, [warm_up, decay], milestones=[10])  # step only this"
    example = training(
        """
  for _ in range(10):
      optimizer.zero_grad()
      torch.nn.functional.mse_loss(model(x), y).backward()
      optimizer.step()
-     warm_up.step()  # here
-     decay.step()
+     schedule.step()
""",
        lr=0.05,
        scheduler="""
- warm_up = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: min(1.0, (t + 1) / 5))
- decay = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: 0.9**t)
+ schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: min(1.0, (t + 1) / 5) * 0.9**t)
""",
    )

    def at_end(self) -> None:
        made_at: dict[tuple[Site, int], list[Course]] = defaultdict(list)
        for course in self.doctor.courses.all:
            self._overwritten(course)
            self._by_hand(course)
            self._not_resumed(course)
            self._stepped_beside(course)
            if course.site is not None:
                made_at[course.site, course.owner].append(course)
        for (site, _), courses in made_at.items():
            self._anew(site, courses)

    def _overwritten(self, course: Course) -> None:
        other = course.lost_to
        if other is not None and other.lost_to is course and len(course.used) > len(other.used):
            return  # each undoes the other; it is this one's rates that are used
        if other is not None and course.lost >= ENOUGH and course.lost >= 0.8 * course.changes:
            self.report(
                f"{other.kind} computes the rate from its start, whatever {course.kind} has made of it: of "
                f"{course.changes} changes {course.lost} were undone.",
                course.stepped_at or course.site, fix_site=other.site,
                figures={"changes": course.changes, "undone": course.lost},
            )  # fmt: skip

    def _by_hand(self, course: Course) -> None:
        """Every rate that it left was replaced before the next step; not scaled, as a warm-up scales it."""
        if len(course.used) <= ENOUGH or self.doctor.is_cut_short or course.lost:
            return
        if any(abs(used - left) <= 1e-9 * abs(left) for left, used in course.used):
            return
        ratios = [used / left for left, used in course.used if left]
        lefts = {left for left, _ in course.used}
        if len(lefts) < 3 or not ratios or max(ratios) - min(ratios) <= 1e-6 * max(ratios):
            return
        left, used = course.used[-1]
        self.report(
            f"No step has used a rate of this schedule: each time, another one was set by hand after it (last "
            f"{used:.3g}, where it had left {left:.3g}).",
            course.stepped_at or course.site, fix_site=course.site,
            figures={"turns": course.turns, "scheduled": left, "used": used},
            fix="# let one of the two set the rate: the schedule, or the loop",
        )  # fmt: skip

    def _not_resumed(self, course: Course) -> None:
        if course.begun_anew is not None:
            self.report(
                f"The optimizer was loaded in the middle of a schedule, and {course.kind} begins at 0: its "
                "count was not loaded.",
                course.begun_anew, fix_site=course.stepped_at,
                fix="scheduler.load_state_dict(checkpoint['scheduler'])",
            )  # fmt: skip

    def _stepped_beside(self, course: Course) -> None:
        if course.is_part_of is not None and course.turns >= ENOUGH:
            self.report(
                f"This {course.kind} is part of another scheduler, which steps it, and the loop steps it as "
                "well.",
                course.stepped_at, fix_site=course.is_part_of, figures={"turns": course.turns},
                key=(self.code, course.is_part_of, "part"),
                fix="# step only the scheduler that it is part of",
            )  # fmt: skip

    def _anew(self, site: Site, courses: list[Course]) -> None:
        """The same line makes a scheduler of the same optimizer again and again, none of which gets far."""
        lives = [course for course in courses[:-1] if course.turns]
        if len(lives) < ENOUGH - 1 or not all(_is_short(course) for course in lives):
            return
        self.report(
            f"{courses[0].kind} is made anew {len(courses)} times for the same optimizer: each begins to count "
            "at 0, and the schedule never gets further.",
            site, key=(self.code, site, "anew"), fix_site=courses[0].stepped_at,
            figures={"made": len(courses), "turns of each": lives[0].turns},
            fix="# make it once, before the loop",
        )  # fmt: skip


def _is_short(course: Course) -> bool:
    """Whether a schedule ended before it did anything, or was a warm-up, of which there is one."""
    if course.kind in ("LinearLR", "ConstantLR"):
        first = course.settings.get("start_factor", course.settings.get("factor", 1.0))
        if isinstance(first, float) and first < 1:
            return True
    if not course.changes:
        return True
    length = next((course.settings[name] for name in _LENGTHS if name in course.settings), None)
    return isinstance(length, int) and course.turns < length / 2
