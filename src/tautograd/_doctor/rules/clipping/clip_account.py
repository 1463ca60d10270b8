"""What becomes of every clipping: which step used what it clipped, or why none did.

The rules TG203, TG204 and TG205 share one account per doctor. A clip is open until a step uses its
parameters, or until the step that it was meant for comes round again. A line is judged once per step;
what it does wrong twice in a row is a verdict, which the rule with that code reports.
"""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass, field
from typing import Any

from ...._user_code.sites import Site
from ...watch.events import Clip, Step

NONE, OTHERS, LOST = "TG203", "TG204", "TG205"
NO_LIMIT = 1e8  # nothing is clipped by that: it is called for the norm it returns
AGAIN = 2  # times in a row


@dataclass
class Record:
    """A clip that no step has used yet."""

    event: Clip
    ids: set[int]
    shapes: list[Any]
    with_grad: int  # how many of its parameters had a gradient
    weights: tuple[Any, int]  # one of them, and its version then
    missed: Step | None = None  # a step on gradients that nothing has clipped, after it


@dataclass
class Verdict:
    """What is wrong with the clipping of a line."""

    code: str
    message: str
    site: Site | None
    parameters: list[Any] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)


class ClipAccount:
    """Follows clips through the steps of one doctor."""

    def __init__(self, doctor: Any) -> None:
        self.doctor = weakref.proxy(doctor)
        self.verdicts: list[Verdict] = []
        self._open: list[Record] = []
        self._bad: dict[tuple[Site | None, str], int] = {}
        self._last: Any = None  # the event that was handled last: three rules pass each one on
        self._step = 0
        self._stepped: set[int] = set()  # optimizers

    # --- events --------------------------------------------------------------------------------

    def after_clip(self, event: Clip) -> None:
        if event is self._last:
            return
        self._last = event
        self._mind_the_gap(event.step)
        if math.isinf(event.limit) or event.limit >= NO_LIMIT:
            return
        parameters = event.parameters
        first = parameters[0] if parameters else None
        record = Record(
            event,
            {id(p) for p in parameters},
            [tuple(p.shape) for p in parameters],
            sum(p.grad is not None for p in parameters),
            (None, 0) if first is None else (weakref.ref(first), first._version),
        )
        self._open = [*self._open[-30:], record]

    def before_step(self, event: Step) -> None:
        if event is self._last:
            return
        self._last = event
        self._mind_the_gap(event.step)
        self._stepped.add(id(event.optimizer))
        accounts = {
            id(p): self.doctor.ledger.account(p) for p in event.parameters if p.grad is not None
        }
        fresh = {key: account.added for key, account in accounts.items() if account.added}
        mine = {id(p) for p in event.parameters}
        clipped = any(
            key in record.ids and record.event.number > added[-1].number
            for record in self._open
            for key, added in fresh.items()
        )
        judged: dict[Site | None, Verdict | None] = {}
        remaining = []
        for record in self._open:
            if record.ids & mine:
                verdict = self._used(record, event, fresh, clipped)
            elif record.missed is not None and record.missed.optimizer is event.optimizer:
                verdict = self._never_used(record)
            else:
                if record.missed is None and fresh and not clipped:
                    record.missed = event
                remaining.append(record)
                continue
            site = record.event.site
            judged[site] = judged.get(site) or verdict
        self._open = remaining
        for site, verdict in judged.items():
            self._count(site, verdict)

    def after_step(self, event: Step) -> None:
        self._step = self.doctor.steps
        if event.has_closure:  # clips inside of the closure are the closure's business
            self._open = []

    def _mind_the_gap(self, step: int) -> None:
        """Steps that nobody looked at may have used what is open."""
        if step > self._step:
            self._step, self._open = step, []

    # --- judging -------------------------------------------------------------------------------

    def _used(
        self, record: Record, event: Step, fresh: dict[int, Any], clipped: bool
    ) -> Verdict | None:
        """A step on parameters that were clipped: whether the clip is still in their gradients."""
        number = record.event.number
        shared = {key: added for key, added in fresh.items() if key in record.ids}
        if not shared:
            if fresh and not clipped and not record.with_grad:
                return self._nothing(record, event)
            return None
        reference, version = record.weights
        first = reference() if reference is not None else None
        if first is None or first._version != version:
            return None  # the gradients were used by hand
        later = [b for added in shared.values() for b in added if b.number > number]
        if not later:
            return None
        line = later[0].site.line if later[0].site else "?"
        names = [p for p in event.parameters if id(p) in shared]
        if any(b.number < number for added in shared.values() for b in added):
            message = (
                f"After this clipping, the backward in line {line} adds to the gradients before the "
                "step: what is added is not bounded."
            )
            return Verdict(LOST, message, record.event.site, names)
        if record.missed is not None:
            return self._of_others(record)
        if clipped:
            return None  # it is clipped again, in time
        message = (
            "What is clipped here is never stepped on: the next step uses the gradients of the backward "
            f"in line {line}, which comes later."
        )
        return Verdict(LOST, message, record.event.site, names)

    def _never_used(self, record: Record) -> Verdict | None:
        """A whole round went by, and no step used these parameters."""
        assert record.missed is not None
        held = self.doctor.held()
        owners = {id(held[key]) for key in record.ids if key in held}
        if record.with_grad == 0 and not owners & self._stepped:
            return self._nothing(record, record.missed)
        wanted = [tuple(p.shape) for p in record.missed.parameters]
        if not owners and record.with_grad and record.shapes == wanted:
            message = (
                "Copies of the parameters are clipped: they have the same shapes, and are not those "
                f"that the step in line {_line(record.missed)} uses."
            )
            return Verdict(LOST, message, record.event.site, record.missed.parameters)
        return self._of_others(record)

    def _nothing(self, record: Record, step: Step) -> Verdict:
        given = len(record.ids)
        what = (
            f"none of the {given} parameters has a gradient" if given else "no parameter is given"
        )
        message = (
            f"Nothing is clipped here: {what}, while the step in line {_line(step)} uses gradients."
        )
        unclipped = [p for p in step.parameters if p.grad is not None]
        return Verdict(NONE, message, record.event.site, unclipped, {"parameters given": given})

    def _of_others(self, record: Record) -> Verdict:
        assert record.missed is not None
        message = (
            f"The step in line {_line(record.missed)} follows, and shares no parameter with what is "
            "clipped here: its own gradients are not clipped."
        )
        figures = {"clipped": len(record.ids), "stepped": len(record.missed.parameters)}
        return Verdict(OTHERS, message, record.event.site, record.missed.parameters, figures)

    def _count(self, site: Site | None, verdict: Verdict | None) -> None:
        for code in (NONE, OTHERS, LOST):
            if verdict is None or verdict.code != code:
                self._bad[site, code] = 0
        if verdict is not None:
            times = self._bad[site, verdict.code] = self._bad.get((site, verdict.code), 0) + 1
            if times >= AGAIN:
                self.verdicts = [*self.verdicts[-9:], verdict]


def _line(event: Step) -> str:
    return str(event.site.line) if event.site else "?"


_ACCOUNTS: weakref.WeakKeyDictionary[Any, ClipAccount] = weakref.WeakKeyDictionary()


def account_of(doctor: Any) -> ClipAccount:
    """The one account of a doctor."""
    found = _ACCOUNTS.get(doctor)
    if found is None:
        found = _ACCOUNTS[doctor] = ClipAccount(doctor)
    return found
