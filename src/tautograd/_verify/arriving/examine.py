"""Sends every kind of gradient, input and state through a computation and through its custom Functions.

An engine's operations are tested as part of the whole computation. A custom Function is also tested in
isolation, since within the program it may only ever receive one kind of gradient (all ones before a
sum, for example). Each finding names its kind. If the whole goes wrong and no custom Function does,
every recorded call is tested in isolation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..locate.isolated_call import Isolated
from ..locate.locate import in_turn
from ..locate.reasons import IGNORED
from ..locate.suspects import runnable
from ..locate.tape import Call
from ..locate.trace import custom_calls, trace
from ..report.findings import Suspect, in_a_line
from ..report.report import Check, Report
from ..subject.subject import Subject
from .comparing import Difference, rounding_of
from .gradients import CHANGED_IN_PLACE, Incoming, Refused
from .inputs import Inputs
from .problem import OneCall, Problem, Rows, Whole
from .rules import ELSEWHERE, wrong_elsewhere
from .states import States

ARRIVING, INPUTS, STATES = "incoming gradients", "kinds of inputs", "states"
KINDS = ARRIVING, INPUTS, STATES
_COMPARES = {
    ARRIVING: "the same gradient, whatever kind arrives",
    INPUTS: "the same gradient, however inputs lie in memory",
    STATES: "the same gradient in every state",
}
_WHOLE, _CUSTOM = 3.0, 6.0  # seconds; fewer kinds are tried on computations that take longer
_CALLS = 16  # custom calls tested in isolation


@dataclass
class Found:
    """What was tried on one problem, grouped by the question it answers."""

    tried: dict[str, list[str]] = field(default_factory=dict)
    wrong: list[tuple[str, Difference]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def examine_arrivals(
    report: Report,
    subject: Subject,
    seed: int,
    locate: bool,
    has_custom: bool,
    recorded: Any = None,
    jacobian: Any = None,
) -> None:
    """Try all kinds, and write checks and suspects into the report.

    `recorded` is an existing run, and `jacobian` what backward gave for each of its outputs.
    """
    checks = {name: Check(name, compares) for name, compares in _COMPARES.items()}
    known = _of_ones(subject, jacobian) if recorded is not None else None
    whole = _try_all(Whole(subject), seed, _WHOLE, recorded=recorded, of_ones=known)
    _count(checks, whole, "")
    results: list[Any] = []
    customs = _calls(subject, custom_calls, results) if has_custom else []
    agreed = all(check.ok for check in report.checks) and subject.intent is None
    elsewhere = results if agreed else []
    suspects = list(_suspects(customs, checks, seed, _CUSTOM, elsewhere))
    if whole.wrong and not suspects and locate:
        suspects = list(_suspects(_calls(subject, _every_call), {}, seed, 4 * _CUSTOM))
    report.suspects += suspects
    for check in checks.values():
        if check.entries:
            report.checks.append(check)
    report.figures["kinds"] = {name: whole.tried.get(name, []) for name in checks}
    refusals = list(dict.fromkeys(whole.refused))
    if refusals:
        report.notes.append(f"Backward raises for some incoming gradients: {refusals[0]}.")


def _every_call(engine: Any, run: Callable[[], Any]) -> list[Call]:
    return in_turn(trace(engine, run).calls)


def _calls(
    subject: Subject, record: Callable[..., list[Call]], results: list[Any] | None = None
) -> list[Call]:
    """The recorded calls, one per calling line; `results` receives their results."""
    run, _ = runnable(subject)
    kept: list[Any] = [] if results is None else results
    try:
        calls = record(subject.engine, lambda: kept.extend(run()))
    except Exception:  # errors of a run are found and reported elsewhere
        return []
    first: dict[Any, Call] = {}
    for call in calls:
        if call.grad and any(call.wanted):
            first.setdefault((call.name, call.site), call)
    return list(first.values())[:_CALLS]


def _suspects(
    calls: Iterable[Call],
    checks: dict[str, Check],
    seed: int,
    seconds: float,
    results: Sequence[Any] = (),
) -> Iterator[Suspect]:
    """The calls that go wrong; `results` are those of the whole program, if those are right."""
    end = time.monotonic() + seconds
    for call in calls:
        if time.monotonic() > end:
            return
        try:
            isolated = _isolated(call)
            problem = OneCall(isolated)
        except Exception:  # it cannot run in isolation
            continue
        found = _try_all(problem, seed, max(0.2, end - time.monotonic()), with_state=call.custom)
        if results and call.custom and not found.wrong and time.monotonic() < end:
            _try_elsewhere(found, problem, isolated, call, results, seed)
        if checks:
            _count(checks, found, call.name)
        if found.wrong:
            yield _suspect(call, found)


def _try_elsewhere(
    found: Found, problem: Problem, isolated: Isolated, call: Call, results: Any, seed: int
) -> None:
    try:
        difference = wrong_elsewhere(problem, isolated, call, results, seed)
    except Exception:  # it does not run beside the point
        return
    found.tried.setdefault(ARRIVING, []).append(ELSEWHERE)
    if difference is not None:
        found.wrong.append((ARRIVING, difference))


def remembering(subject: Subject) -> list[Suspect]:
    """The custom Functions of a computation whose gradient was different the first time."""
    note = "the first time it gave another gradient for the same inputs: it keeps state of its own"
    return [
        Suspect(call.name, call.node_name, call.module, call.site, [], note)
        for call in _calls(subject, custom_calls)
    ]


def _isolated(call: Call) -> Isolated:
    engine = call.engine
    own = Isolated(engine, call, double=False)
    if own.epsilon < 1e-12:
        return own
    try:
        return Isolated(engine, call, double=True)
    except Exception:  # it does not run in float64
        return own


def _of_ones(subject: Subject, jacobian: Any) -> Rows | None:
    """What backward gave for a gradient of ones, if it has already received one: for a scalar result."""
    if jacobian is None or subject.size != 1 or any(t.is_complex() for _, t in subject.outputs):
        return None
    if any(leaf.tensor.is_complex() for leaf in subject.leaves):
        return None
    return [
        jacobian[0, leaf.start : leaf.start + leaf.reals].reshape(tuple(leaf.tensor.shape))
        for leaf in subject.leaves
    ]


# --- one problem ---------------------------------------------------------------------------------


def _try_all(
    problem: Problem,
    seed: int,
    seconds: float,
    *,
    with_state: bool = False,
    recorded: Any = None,
    of_ones: Rows | None = None,
) -> Found:
    found = Found()
    end = time.monotonic() + seconds

    def stop() -> bool:
        return time.monotonic() > end

    leaves = problem.leaves()
    try:
        asked, outputs = recorded or problem.recorded(leaves)
        incoming = Incoming(problem, asked, outputs, seed, of_ones)
    except Exception:  # errors on plain inputs are found and reported elsewhere
        return found
    if not any(out.requires_grad and out.numel() for out in outputs):
        return found
    moved: list[Rows] = []

    def spread() -> Rows:
        if not moved:
            moved.append(rounding_of(problem, leaves, incoming.any, seed))
        return moved[0]

    _follow(found, ARRIVING, incoming.differences(spread, stop))
    inputs = Inputs(problem, incoming.any, (incoming.plain, outputs), seed)
    _follow(found, INPUTS, inputs.differences(spread, stop))
    if with_state and not stop():
        _follow(found, STATES, States(problem, incoming.any, incoming.plain).differences(stop))
    return found


def _follow(found: Found, question: str, outcomes: Iterator[Any]) -> None:
    """Go through the kinds until one goes wrong; a kind for which it raises is reported."""
    while True:
        try:
            kind, difference = next(outcomes)
        except StopIteration:
            return
        except Exception as error:
            found.refused.append(in_a_line(error))
            return
        if isinstance(difference, Refused):
            found.refused.append(f"{kind} ({in_a_line(difference.error)})")
            continue
        known = found.tried.setdefault(question, [])
        if kind not in known:
            known.append(kind)
        if difference is not None:
            found.wrong.append((question, difference))
            return


# --- reports -------------------------------------------------------------------------------------


def _count(checks: dict[str, Check], found: Found, name: str) -> None:
    for question, kinds in found.tried.items():
        checks[question].entries += len(kinds)
    for question, difference in found.wrong:
        check = checks[question]
        check.verdict = "wrong"
        check.error, check.tolerance = difference.largest, difference.allowed
        where = f"{name}: " if name else ""
        if not check.note or name:
            check.note = f"{where}{_sentence(question, difference)}"


def _sentence(question: str, difference: Difference) -> str:
    if difference.kind == CHANGED_IN_PLACE:
        return f"the incoming gradient is {CHANGED_IN_PLACE}"
    if difference.kind == IGNORED:
        return f"{IGNORED}, even for zeros"
    if question == ARRIVING:
        return f"it is wrong for an incoming gradient that is {difference.kind}"
    if question == STATES:
        return f"it gives another gradient: {difference.kind}"
    if "requires grad" in difference.kind:
        return f"it is wrong where {difference.kind}"
    return f"it is wrong for inputs that are {difference.kind}"


def _suspect(call: Call, found: Found) -> Suspect:
    question, difference = found.wrong[0]
    note = _sentence(question, difference)
    if call.custom and call.defined_at:
        note += f"; its backward is written at {call.defined_at}"
    return Suspect(call.name, call.node_name, call.module, call.site, difference.entries, note)
