"""`verify`: is the gradient of this function right, and if not, where does it go wrong?

It runs the function and observes its behaviour, compares its gradient with finite differences (in
float64, which resolves them), consults the other references and checks the gradient in its own
precision. Only if something is off does it check the recorded operations one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

import numpy as np

from .._stand_ins.silence import without_warnings
from .arriving.examine import KINDS, examine_arrivals, remembering
from .locate.survey import Survey, survey
from .locate.suspects import explain, explain_forward, runnable, tell_infinities
from .locate.unimplemented import raise_with_line
from .numerics.compare import Comparison
from .numerics.evaluate import Values
from .references.across_kinks import beside_kinks
from .references.derived_by_hand import against_analytical, wrong_by_hand
from .references.fast_mode import Probes
from .references.first_order import Outcome, fast, full
from .references.forward_rules import NO_RULE, runs_elsewhere
from .references.linearity import linear_backward
from .references.of_nothing import gradient_of_nothing
from .references.precision import own_precision
from .references.references import amplification, complex_step, forward_mode, taylor
from .references.second_order import gradient_subject
from .references.training import TRAINED, as_it_trains, hooked_parameters
from .report.findings import Suspect, in_a_line
from .report.report import Check, Report
from .subject.argument_order import tell_order
from .subject.determinism import behaviour, why_it_changes
from .subject.engines import engine_of, is_module, is_tensor, name_of, tensors_of
from .subject.intent import Intent
from .subject.lost_precision import on_the_way
from .subject.projected import LARGE, Projected
from .subject.sparse_inputs import by_their_values
from .subject.subject import Subject
from .subject.time_limit import TookTooLong, ending_in
from .subject.training_step import with_parameters_of

Progress = Callable[[str, float], None]
"""Called with the name of the current step and the fraction done, from 0 to 1."""

_FULL = 2048, 512, 262_144  # limits of inputs, outputs and entries for a full Jacobian
WIRTINGER = (
    "Gradients by complex inputs z = x + iy are those of PyTorch: ∂L/∂x + i·∂L/∂y, which is 2·∂L/∂z̄ in "
    "Wirtinger's terms and the direction of steepest ascent. The other convention, 2·∂L/∂z, is its conjugate."
)
_FULL_AGAIN = 64  # the same for second order: up to this many inputs


def verify(
    target: Callable[..., Any],
    inputs: Any = (),
    *rest: Any,
    kwargs: Mapping[str, Any] | None = None,
    mode: str = "auto",
    order: int = 1,
    analytical: Any = None,
    intended: Any = None,
    probes: int = 8,
    seed: int = 0,
    wrt: str | int | Iterable[str | int] | None = None,
    parameters: Any = True,
    seconds: float | None = None,
    locate: bool = True,
    confirm: bool = True,
    try_inputs: bool = False,
    progress: Progress | None = None,
    name: str | None = None,
) -> Report:
    """Check the gradient of a function or a module, of tautograd or of PyTorch.

    Args:
        target: a function of tensors, or an `nn.Module`, whose parameters are checked as well.
        inputs: its arguments: a tensor, or a tuple that may hold other things besides tensors.
        kwargs: its keyword arguments.
        mode: "full" compares every entry of the Jacobian, "fast" a few random probes; "auto" is
            "full" while the Jacobian is small.
        order: 2 checks the gradient's own gradient too.
        analytical: the gradient you derived yourself: a function of the same inputs, or tensors;
            by default the function's attribute `analytical`, if it has one.
        intended: the intended gradient, where it is not the derivative: a function of the same inputs
            with that gradient, or a dictionary of such functions by custom Function (or its name).
        probes: how many random directions fast mode uses.
        seed: of the probes.
        wrt: the leaves to check, by name or number (default: all).
        parameters: whether to check a module's parameters; for a function, the module whose
            parameters it uses: `verify(training_loss, batch, parameters=model)`.
        seconds: time limit for the comparisons; the report says what was left out.
        locate: on a mismatch, find the operation and the line.
        confirm: also look at shapes, dtypes, modes and determinism.
        try_inputs: also try boundary, empty and invalid inputs.
        progress: called with the current step and the fraction done.
        name: what the report calls it.
    """
    if mode not in ("auto", "full", "fast"):
        raise ValueError(f'mode: "auto", "full" or "fast" expected, got {mode!r}')
    if order not in (1, 2):
        raise ValueError(f"order: 1 or 2 expected, got {order!r}")
    if probes < 1:
        raise ValueError(f"probes: at least 1 is needed, got {probes!r}")
    _refuse_others(target, inputs, rest)
    if analytical is None and isinstance(target, FunctionType):
        analytical = target.__dict__.get("analytical")
    if seconds is not None and not seconds > 0:
        raise ValueError(f"seconds: must be positive, got {seconds!r}")
    told = progress or (lambda what, part: None)
    args, named = _arguments(inputs, kwargs)
    title = name or _name(target)
    if not isinstance(parameters, bool):
        target, parameters = with_parameters_of(target, parameters), True
    target, args, named = by_their_values(target, args, named)

    report = Report(title, "")
    report.settings = {"mode": mode, "order": order, "probes": probes, "seed": seed}
    try:
        with ending_in(seconds):
            _examine_all(
                report, target, args, named, wrt, parameters, analytical, intended, locate, told
            )
            if confirm:
                from .behaviour.confirm import confirm as confirmed

                told("confirming shapes and modes", 0.9)
                report.confirmed = confirmed(target, args, named)
            if try_inputs:
                from .behaviour.try_inputs import try_inputs as tried

                told("trying other inputs", 0.95)
                report.tried = tried(target, args, named)
    except TookTooLong:
        if not report.engine:  # on its very first run
            report.engine = name_of(engine_of([*tensors_of((args, named)).values(), target]))
        _stopped(report, seconds)
    told("done", 1.0)
    return report


def _examine_all(
    report: Report,
    target: Any,
    args: Any,
    named: Any,
    wrt: Any,
    parameters: Any,
    analytical: Any,
    intended: Any,
    locate: bool,
    told: Progress,
) -> None:
    """Run it for the first time and compare; its state is restored afterwards."""
    told("running it once", 0.0)
    try:
        subject = Subject(target, args, named, wrt=wrt, parameters=parameters)
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        tell_order(error, target, args, named)
        raise
    report.subject, report.engine = subject, name_of(subject.engine)
    report.settings["wrt"] = [leaf.name for leaf in subject.leaves]
    try:
        with without_warnings:
            seen = survey(subject)
            _state_intent(report, subject, intended, seen)
            _examine(report, subject, seen, analytical, locate, told)
    except RuntimeError as error:
        raise_with_line(error, subject)
    finally:
        subject.put_back()


def _examine(
    report: Report, subject: Subject, seen: Survey, analytical: Any, locate: bool, told: Progress
) -> None:
    """All comparisons, in order, written into the report."""
    mode, order, probes, seed = (report.settings[k] for k in ("mode", "order", "probes", "seed"))
    here, recorded = behaviour(subject, report, seen.values)
    if any(leaf.tensor.is_complex() for leaf in subject.leaves):
        report.notes.append(WIRTINGER)
    if not report.behaviour["deterministic"]:
        report.verdict = "unclear"
        report.notes.append(why_it_changes(subject))
        return

    if not subject.numbers or not subject.size:
        report.notes.append("There are no numbers to compare: the inputs or the results are empty.")
        check = gradient_of_nothing(subject)
        report.checks.append(check)
        if not check.ok:
            report.verdict = "wrong"
        return
    losses = on_the_way(subject, seen.losses)
    intent = subject.intent
    checked = _widest(subject, report, bool(losses))
    if intent is not None and checked is not subject:
        checked.means(intent)
    large = mode != "full" and checked.numbers > LARGE
    if large:
        checked = Projected(checked, min(probes, 2), seed)
        report.notes.append(
            f"With {checked.inner.numbers:,} numbers it was compared along "
            f"{checked.row.size} random directions, by differences and linearity only."
        )
    values = Values(checked, here if checked is subject else None)
    if isinstance(checked, Projected):
        values.batches = False
    values.told = lambda count: told(f"comparing with differences, {count:,} runs", 0.3)
    told("comparing with differences", 0.1)
    recorded = recorded if checked is subject and intent is None else None
    outcome = _first_order(checked, values, mode, probes, seed, recorded)
    if isinstance(checked, Projected):
        outcome.sensitivity = outcome.sensitivity.of_steps(checked.step)
        outcome.check.compares = f"{outcome.check.entries:,} random projections of the gradient"
    _add(report, outcome)
    aside = beside_kinks(outcome) if not outcome.wrong else None
    if aside is not None:
        report.checks.append(aside.check)
        report.entries += (aside.entries or [])[:20]
        report.wrong_entries += len(aside.entries or [])
    told("asking the other references", 0.5)
    wrong = outcome if outcome.wrong else None
    if not large:
        _other_references(report, outcome, intent is not None)
    cotangents, gradients = outcome.backwards()
    check, guilty = linear_backward(
        checked, cotangents, gradients, seed, outcome.recorded, values.here
    )
    report.checks.append(check)
    if analytical is not None:
        found = against_analytical(checked, outcome, analytical)
        report.checks += found
        report.suspects += wrong_by_hand(analytical, found)
    if checked is not subject and not large:
        told("looking at its own precision", 0.6)
        check, entries = own_precision(subject, checked, seed, losses)
        report.checks.append(check)
        report.entries += entries[:20]
        report.wrong_entries += len(entries)
    if subject.is_module and not large:
        report.checks.append(as_it_trains(subject, seed))
    if order == 2:
        told("checking the second order", 0.7)
        again = gradient_subject(checked, seed)
        small = again.row.size <= _FULL_AGAIN and mode != "fast"
        second = (full if small else fast)(again, Values(again), probes, seed)
        second.check.reference += ", second order"
        second.check.compares = "the gradient of the gradient"
        _add(report, second)
        wrong = wrong or (second if second.wrong else None)
    if not large:
        told("sending every kind of gradient and input", 0.75)
        known = gradients if outcome.gradients is None else None
        examine_arrivals(report, checked, seed, locate, bool(seen.calls), recorded, known)
    if aside is not None and aside.subject is not None and locate:
        explain(report, aside.subject, None, at_kinks=aside.at_kinks)
    _conclude(report, wrong, subject, checked, locate, told, guilty, seen.calls)
    if losses and checked is not subject and report.verdict == "correct":
        report.figures["bits"] = losses[0].bits
        report.notes.append(f"The gradient is {losses[0].sentence()}.")


def _stopped(report: Report, seconds: float | None) -> None:
    """Time ran out: keep what was compared so far, and report what was left out."""
    done = [check.reference for check in report.checks]
    if report.verdict == "correct":
        wrong = any(not check.ok for check in report.checks)
        report.verdict = "wrong" if wrong else "correct" if done else "unclear"
    report.settings["seconds"] = seconds
    compared = f"compared with: {', '.join(done)}" if done else "nothing was compared"
    report.notes.append(f"Stopped to end within {seconds:g} s; {compared}. The rest was not tried.")


def _state_intent(report: Report, subject: Subject, stated: Any, seen: Survey) -> None:
    """Verify against the intended gradient, where one is stated, and report that."""
    if stated is not None and not callable(stated) and not isinstance(stated, Mapping):
        kind = type(stated).__name__
        raise TypeError(f"intended: a function, or a dictionary of them expected, got {kind}")
    if callable(stated) and subject.is_module:
        raise TypeError(
            "intended: for a module say which custom Function of it is meant otherwise: "
            "intended={Function: function}"
        )
    intent = Intent(stated, seen.calls)
    if intent or seen.states_intent:
        subject.means(intent)
    if subject.intent is None:
        return
    names = ["the whole"] if intent.whole is not None else list(intent.used)
    report.settings["intended"] = names
    report.notes.append(
        f"Verified is the gradient that is meant, as stated for {', '.join(names)}; the derivative of "
        "what is computed there is another."
    )


def _refuse_others(target: Any, inputs: Any, rest: tuple[Any, ...]) -> None:
    """Reject what only resembles a function of tensors or a module, and misplaced arguments."""
    if not callable(target):
        order = "; the function comes first: verify(function, inputs)" if callable(inputs) else ""
        raise TypeError(
            f"target: a function or a module expected, got {type(target).__name__}{order}"
        )
    if rest:
        raise TypeError(
            f"inputs: {1 + len(rest)} were given one by one; several go into one tuple: "
            "verify(function, (x, y)). Everything else goes by name"
        )
    if callable(inputs) and not is_tensor(inputs):
        raise TypeError(
            f"inputs: tensors expected, got {type(inputs).__name__}, which is callable; an intended or "
            "analytical gradient goes by name"
        )
    if not isinstance(target, type):
        return
    name = target.__name__
    if hasattr(target, "forward") and hasattr(target, "apply"):
        made = "named_parameters" in dir(target)
        instead = f"a module of it: {name}(...)" if made else f"its function: {name}.apply"
        raise TypeError(f"target: {name} is a class; give {instead}")


def _arguments(
    inputs: Any, kwargs: Mapping[str, Any] | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, Mapping):
        if kwargs:
            raise TypeError("inputs: a dictionary is keyword arguments already; kwargs has more")
        return (), dict(inputs)
    if is_tensor(inputs) or not isinstance(inputs, (list, tuple)):
        inputs = (inputs,)
    return tuple(inputs), dict(kwargs or {})


def _name(target: Any) -> str:
    if is_module(target):
        return type(target).__name__
    owner = getattr(target, "__self__", None)
    if isinstance(owner, type):  # the apply of an autograd.Function
        return f"{owner.__qualname__}.{target.__name__}".replace("<locals>.", "")
    # A built-in function's qualified name starts with an internal class name.
    key = "__qualname__" if hasattr(target, "__code__") else "__name__"
    return str(getattr(target, key, None) or type(target).__name__)


def _widest(subject: Subject, report: Report, loses: bool) -> Subject:
    """The subject in float64 throughout, unless it already is or cannot run there."""
    if subject.is_double and not loses:
        return subject
    try:
        return subject.in_double(wide=loses)
    except Exception as error:
        report.notes.append(
            f"It cannot be run in float64 ({in_a_line(error)}), so differences were "
            "taken in its own precision, with the error that has."
        )
        return subject


def _first_order(
    subject: Subject, values: Values, mode: str, probes: int, seed: int, recorded: Any
) -> Outcome:
    inputs = subject.row.size
    outputs = subject.size
    small = inputs <= _FULL[0] and outputs <= _FULL[1] and inputs * outputs <= _FULL[2]
    whole = mode == "full" or (mode == "auto" and small) or isinstance(subject, Projected)
    if whole:
        return full(subject, values, probes, seed, recorded)
    return fast(subject, values, probes, seed)


def _add(report: Report, outcome: Outcome) -> None:
    report.checks.append(outcome.check)
    report.entries += outcome.entries[:20]
    report.wrong_entries += len(outcome.entries)
    report.kinks += outcome.kinks[:20]
    report.figures.setdefault("gradient_norm", outcome.norm)
    report.figures.setdefault("runs", outcome.runs)
    if report.sensitivity is None:
        report.sensitivity = outcome.sensitivity
        report.figures["caught_with_probability_0.99"] = outcome.sensitivity.certain_size()


def _other_references(report: Report, outcome: Outcome, meant: bool) -> None:
    """Along the probes of the first comparison (full mode draws a few of its own)."""
    probes: Probes = outcome.probes
    found, gradients, compared = outcome.along_probes()
    epsilon = probes.subject.epsilon * amplification(probes)
    if not meant:  # they would find the derivative
        report.checks.append(_kept(forward_mode(probes, gradients, epsilon), compared))
        report.checks.append(complex_step(probes, gradients, found, compared, epsilon))
    report.checks.append(taylor(probes, gradients, compared))


def _kept(check: Check, compared: Comparison) -> Check:
    """At a kink, the two modes may take different sides."""
    if check.verdict == "wrong" and compared.kink.any():
        check.verdict = "kinks"
    return check


def _conclude(
    report: Report,
    wrong: Outcome | None,
    subject: Subject,
    checked: Subject,
    locate: bool,
    told: Progress,
    guilty: Any,
    calls: list[Any],
) -> None:
    failed = [check for check in report.checks if not check.ok]
    if not failed:
        if report.checks[0].verdict == "not applicable":
            report.verdict = "unclear"
            report.notes.append(
                "It is not finite at these inputs, or beside them, so there was nothing to compare: "
                "choose inputs at which it is defined."
            )
        if locate and not np.isfinite(report.figures.get("gradient_norm", 0.0)):
            tell_infinities(report, checked)
        return
    report.verdict = "wrong"
    if not locate:
        return
    told("looking for the operation", 0.8)
    if wrong is not None:
        explain(report, wrong.subject, wrong)
    elif guilty is not None:
        explain(report, checked, None, guilty)
    elif any(check.reference.startswith("float64 gradient") for check in failed):
        explain(report, subject, None)
    elif any(check.reference == "forward mode" for check in failed):
        explain_forward(report, checked)
        _excuse_missing_rules(report, failed, checked)
    elif not report.suspects and any(check.reference in KINDS for check in failed):
        explain(report, checked, None)
    if wrong is not None and not report.suspects and not report.cuts and _was_another(wrong):
        report.suspects += remembering(wrong.subject)
    if any(check.reference == TRAINED for check in failed):
        report.suspects += hooked_parameters(subject)
    if report.verdict == "wrong" and not report.suspects and not report.cuts:
        report.suspects += _only_custom(calls)


def _only_custom(calls: list[Any]) -> list[Suspect]:
    """The custom Function, if there is exactly one: all other rules are the engine's and presumed right."""
    if len({call.name for call in calls}) != 1:
        return []
    call = calls[0]
    note = "right by itself, but not as it is called here; all other rules are the engine's own"
    return [Suspect(call.name, call.node_name, call.module, call.site, note=note)]


def _excuse_missing_rules(report: Report, failed: list[Check], checked: Subject) -> None:
    """A tangent lost in forward mode says nothing about the gradient: it happens at an operator without a
    forward rule, and in another thread."""
    if len(failed) > 1:
        return
    missing = [suspect for suspect in report.suspects if suspect.note == NO_RULE]
    if missing and len(missing) == len(report.suspects):
        names = ", ".join(dict.fromkeys(suspect.operation for suspect in missing))
        why = f"{names} has no forward rule, and the tangent is dropped there"
    elif not report.suspects and runs_elsewhere(runnable(checked)[0]):
        why = "a part is computed in another thread, and the tangent is dropped there"
    else:
        return
    failed[0].verdict = "not applicable"
    failed[0].note = why
    report.suspects.clear()
    report.verdict = "correct"


def _was_another(outcome: Outcome) -> bool:
    """Whether backward now gives a different gradient than the first time."""
    cotangents, before = outcome.backwards()
    now = outcome.subject.gradients(outcome.subject.row, cotangents)
    with np.errstate(all="ignore"):
        size = np.abs(np.where(np.isfinite(before), before, 0.0)).max(initial=0.0)
        gap = np.abs(now - before)
    return bool(np.any(gap > 1e-6 * size))


__all__ = ["verify"]
