"""When a record is audited: the third replay, then ever fewer, within a share of the time that replays take."""

from __future__ import annotations

from typing import Any

from .clock import Moment, moment, since
from .fast_entry import MISS

MODES = ("auto", "always", "never")
FIRST = 3  # the replay that is audited first
GROWTH = 3  # the distance to the next audit grows by this factor
TIMED = 5  # replays by the shortest way that are measured
WEIGHED = 8  # the replay before which a record is compared with runs as written
FARTHER = 4  # how much later that is done again, if it saves little
SHARE = 0.01  # of the time of all replays, which audits after the first may take


class Schedule:
    """Which replays of a record are audited: the third, then ever fewer, within a share of the time they take."""

    def __init__(self) -> None:
        self.audits = 0
        self.has_lost = False  # against a run as written, once
        self.compared = ""  # whether its numbers were, or why not
        self.replay_seconds = float("inf")  # of one: the least that was measured
        self.last = 0, 0.0  # the replay that was audited last, and the seconds it took
        self.begin("never")

    def begin(self, mode: str) -> None:
        self.mode = mode
        self.audit_due: float = {"always": 0, "never": float("inf"), "auto": FIRST - 1}[mode]
        self.weigh_due: float = WEIGHED  # when the record is compared with a run as written
        self._settle()

    def _settle(self) -> None:
        self.due = min(self.audit_due, self.weigh_due)  # all that the shortest way looks at

    def note_weighed(self, again: float = float("inf")) -> None:
        """The record was compared with a run as written; that is done again before the replay of a number."""
        self.weigh_due = again
        self._settle()

    def note_replay(self, began: Moment) -> None:
        """A replay has ended; how long it took says when the next audit is."""
        seconds = since(began)
        if seconds < self.replay_seconds:
            self.replay_seconds = seconds
            if self.audits:
                self._plan()

    def audit_next(self, calls: int) -> None:
        """Let the next call be audited."""
        self.audit_due = calls
        self._settle()

    def note_audit(self, calls: int, seconds: float) -> None:
        self.audits += 1
        self.last = calls, seconds
        self._plan()

    def _plan(self) -> None:
        if self.mode == "auto":
            calls, seconds = self.last
            apart = seconds / (SHARE * self.replay_seconds) if self.replay_seconds else 0
            self.audit_due = calls + max((GROWTH - 1) * calls, apart)
            self._settle()

    def timed(self, quick: Any, entry: Any) -> Any:
        """The shortest way into a program, which measures its first few replays; then it is itself again."""
        left = [TIMED]
        quick = getattr(quick, "measured", quick)

        def run(args: tuple[Any, ...]) -> Any:
            began = moment()
            result = quick(args)
            if result is not MISS:
                self.note_replay(began)
            left[0] -= 1
            if not left[0]:
                entry.quick = quick
            return result

        run.measured = quick  # type: ignore[attr-defined]
        return run
