"""Locates the source of a wrong gradient by checking each call of a run in isolation.

A call is run again on its recorded inputs, apart from the rest. First its gradient is compared with
differences of its own values, in float64 where it can run there; then its gradient in its own precision
with that; then what it gave within the whole program with what it gives alone: these differ if
something it had saved was modified in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..._stand_ins.silence import without_warnings
from ..._trees.nests import WITH_DATACLASSES as NESTS
from ..numerics.signs import uneven_signs
from ..numerics.tolerance import Verdict, WrongEntry
from ..report.findings import Cut, Entry, Kink, Suspect
from ..subject.agreed import by_agreement
from ..subject.engines import tensors_of
from ..subject.intent import Intent, word_at
from .backward_flow import Arrivals
from .call_gradient import check_rule
from .graph_cuts import find_cuts
from .in_context import changed_since, infinite, lower_precision, not_a_number
from .isolated_call import Backward, Isolated
from .leaving import ABOUT_GRAPH
from .reasons import reason
from .tape import MODULE_HOOK, Call, Slot, Tape
from .trace import trace

_BY_CONVENTION = frozenset(
    (
        *("cholesky", "cholesky_ex", "cholesky_inverse", "cholesky_solve", "eigh", "eigvalsh"),
        *("solve_triangular", "triangular_solve", "as_strided_scatter", "ctc_loss", "normal"),
    )
)
"""Engine operations whose gradient makes an assumption: that a matrix is symmetric, or zero where it
is not read, that probabilities are normalised, that a drawn number is a constant."""

_CASTS = frozenset(("to", "float", "double", "half", "bfloat16", "type", "type_as", "cfloat"))

CHANGED = "a value it saved was changed afterwards"
TWICE = "its gradient is right, but the derivative of its gradient is not"
LOWER = "it is right in float64, but not in {dtype}"
NOT_A_NUMBER = "given finite values and a finite gradient it gave NaN"
INFINITE = "given finite values and a finite gradient it gave infinity"
HOOK = "a hook gave back another gradient than it was given"


@dataclass
class Located:
    """The result of a search for the cause."""

    suspects: list[Suspect] = field(default_factory=list)
    kinks: list[Kink] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list, repr=False)
    checked: int = 0  # calls whose rule was checked
    unchecked: int = 0  # calls for which time ran out, or that could not be run again
    notes: list[str] = field(default_factory=list)
    infinite: list[Suspect] = field(default_factory=list)  # calls where infinity first appears
    nan_from: list[Suspect] = field(default_factory=list)  # the one among them that leads to NaN


def locate(
    engine: Any,
    run: Callable[[], Any],
    leaves: Mapping[str, Any],
    cotangents: Sequence[Any] | None = None,
    *,
    order: int = 1,
    seconds: float = 30.0,
    seed: int = 0,
    intent: Intent | None = None,
) -> Located:
    """Check every call that `run()` makes to compute its result from `leaves`.

    `cotangents` are the gradients to start from, one per floating-point tensor of the result
    (default: random signs). With `order=2` the derivative of each gradient is checked as well.
    Calls not reached within `seconds` are counted as `unchecked`. `intent` says which
    of them are meant to have a gradient other than their derivative.
    """
    state = engine.get_rng_state()
    try:
        with without_warnings:
            search = _Search(engine, run, leaves, cotangents, order, seconds, seed, state)
            _state_meant(search.tape.calls, intent)
            located = search.found()
            located.cuts = [cut for cut in located.cuts if not _is_meant(cut)]
            return located
    finally:
        engine.set_rng_state(state)


def _state_meant(calls: Sequence[Call], intent: Intent | None) -> None:
    for call in calls if intent is not None else ():
        if call.custom:
            call.meant = intent.functions.get(call.function.__self__)  # type: ignore[union-attr,attr-defined]
        elif (agreed := by_agreement(call.function, *_given(call))) is not None:
            call.meant = agreed[1]


def _given(call: Call) -> tuple[Any, Any]:
    """The arguments of a call, with the tensors as they were then."""
    given = NESTS.mapped(
        (call.args, call.kwargs), lambda v: call.copies[v.number] if isinstance(v, Slot) else v
    )
    return given[0], given[1]


def _is_meant(cut: Cut) -> bool:
    """Whether a comment on the line of a cut states that it is intended."""
    return cut.site is not None and word_at(cut.site.file, cut.site.line) == "stop-gradient"


class _Search:
    def __init__(
        self,
        engine: Any,
        run: Callable[[], Any],
        leaves: Mapping[str, Any],
        cotangents: Sequence[Any] | None,
        order: int,
        seconds: float,
        seed: int,
        state: Any,
    ) -> None:
        self.engine, self.run, self.leaves = engine, run, leaves
        self.order, self.seed, self.state = order, seed, state
        self.end = time.monotonic() + seconds
        self.located = Located()
        with engine.enable_grad():
            self.tape = trace(engine, run)
        self.located.calls = self.tape.calls
        self.outputs = [
            t
            for t in tensors_of(self.tape.result).values()
            if t.is_floating_point() or t.is_complex()
        ]
        if cotangents is None:
            random = np.random.default_rng(seed)
            cotangents = [_uneven(engine, random, out) for out in self.outputs]
        self.cotangents = list(cotangents)
        if order == 1 and any(c.name == "grad" and _records(c) for c in self.tape.calls):
            self.order = 2  # the program itself differentiates twice
        self.arrivals: Arrivals | None = None
        self.infinite: list[Suspect] = []
        self.gradients = self._backward(self.tape)

    def _backward(self, tape: Tape) -> dict[str, Any]:
        """The gradients of the leaves, while recording everything that flows."""
        pairs = [
            (out, g)
            for out, g in zip(self.outputs, self.cotangents, strict=True)
            if out.requires_grad
        ]
        gradients: dict[str, Any] = dict.fromkeys(self.leaves)
        if not pairs:
            return gradients
        self.arrivals = Arrivals(tape.calls, self.outputs)
        names = [name for name, leaf in self.leaves.items() if leaf.requires_grad]
        outputs, starts = [out for out, _ in pairs], [g for _, g in pairs]
        leaves = [self.leaves[name] for name in names]
        try:
            if any(call.checkpointed for call in tape.calls):
                found = self._whole_backward(outputs, starts, leaves)
            else:
                found = self.engine.autograd.grad(outputs, leaves, starts, allow_unused=True)
            gradients.update(zip(names, found, strict=True))
        except RuntimeError as error:
            self.located.notes.append(f"backward raised: {error}")
            self.arrivals = None
        return gradients

    def _whole_backward(self, outputs: Any, starts: Any, leaves: Any) -> list[Any]:
        """Gradients by `backward()`, which reentrant checkpoints need; every `.grad` is restored."""
        tensors = {id(t): t for call in self.tape.calls for t in call.inputs if t.is_leaf}
        tensors |= {id(t): t for t in leaves}
        held = {key: t.grad for key, t in tensors.items()}
        try:
            for tensor in tensors.values():
                tensor.grad = None
            self.engine.autograd.backward(outputs, starts)
            return [leaf.grad for leaf in leaves]
        finally:
            for key, tensor in tensors.items():
                tensor.grad = held[key]

    def found(self) -> Located:
        located = self.located
        for call in self.tape.altered:
            located.suspects.append(Suspect("register_hook", "", call.module, call.site, [], HOOK))
        for call in in_turn(self.tape.calls):
            if time.monotonic() > self.end:
                located.unchecked += 1
                continue
            try:
                suspect, kinks = self._check(call)
            except Exception as error:
                located.unchecked += 1
                if call.custom:
                    located.notes.append(f"{call.name} could not be run by itself: {error}")
                continue
            located.checked += 1
            located.kinks += kinks
            if suspect is not None:
                self._add(suspect)
        if not located.suspects and _has_nan(self.gradients) and self._is_finite():
            located.nan_from = self.infinite[:1]  # further along, ∞ times 0 or ∞ minus ∞
        located.infinite = self.infinite
        located.cuts = find_cuts(
            self.engine, self.run, self.leaves, self.tape, self.cotangents, self.gradients,
            state=self.state, end=max(self.end, time.monotonic() + 5.0), seed=self.seed,
        )  # fmt: skip
        return located

    def _add(self, suspect: Suspect) -> None:
        """Merge calls on one line into one suspect."""
        for i, known in enumerate(self.located.suspects):
            same = (known.operation, known.site, known.note) == (
                suspect.operation,
                suspect.site,
                suspect.note,
            )
            if same:
                entries = [*known.entries, *suspect.entries][: max(6, len(known.entries))]
                self.located.suspects[i] = replace(known, entries=entries)
                return
        self.located.suspects.append(suspect)

    def _is_finite(self) -> bool:
        return all(bool(out.isfinite().all()) for out in self.outputs)

    # --- one call ------------------------------------------------------------------------------

    def _check(self, call: Call) -> tuple[Suspect | None, list[Kink]]:
        own = Isolated(self.engine, call, double=False)
        if not own.x.size or not own.y.size:
            return None, []
        try:
            double = own if own.epsilon < 1e-12 else Isolated(self.engine, call, double=True)
        except Exception:  # it does not run in float64: fall back to its own precision
            double = own
        arriving = None
        if self.arrivals is not None:
            arriving = self.arrivals.arriving(call, own.live)
        if double.live != own.live or double.y.size != own.y.size:
            double = own
        verdict = check_rule(double, self.seed, arriving)
        kinks = [self._kink(double, call, verdict)] if verdict.kinks else []
        flat = [kink for group in kinks for kink in group]
        if verdict.wrong:
            # A non-finite gradient is reported as such, with the entry at which it begins.
            if self.arrivals is not None and arriving is not None and _only_nan(verdict.wrong):
                wrong = not_a_number(own, call, self.arrivals, arriving)
                if wrong:
                    return self._suspect(call, own, wrong, NOT_A_NUMBER), flat
            return self._suspect(call, double, verdict.wrong, reason(double, self.seed)), flat
        if double is not own:
            wrong = lower_precision(own, double, self.seed)
            if wrong:
                dtype = str(call.copies[own.variables[0]].dtype).rpartition(".")[2]
                return self._suspect(call, own, wrong, LOWER.format(dtype=dtype)), flat
        if arriving is not None and self.arrivals is not None:
            wrong = changed_since(own, call, self.arrivals, arriving)
            if wrong:
                note = HOOK if call.name == MODULE_HOOK else CHANGED
                return self._suspect(call, own, wrong, note), flat
            wrong = not_a_number(own, call, self.arrivals, arriving)
            if wrong and np.isfinite(own.y).all():
                return self._suspect(call, own, wrong, NOT_A_NUMBER), flat
            if wrong:  # its value is non-finite: NaN shows it, though later ops may mask it
                self.infinite.append(self._suspect(call, own, wrong, NOT_A_NUMBER))
            wrong = infinite(own, call, self.arrivals, arriving)
            if wrong:
                self.infinite.append(self._suspect(call, own, wrong, INFINITE))
        if self.order > 1:
            return self._second_order(call, double.double), flat
        return None, flat

    def _second_order(self, call: Call, double: bool) -> Suspect | None:
        try:
            problem = Backward(self.engine, call, double)
            verdict = check_rule(problem, self.seed)
        except Exception:  # not every gradient can be differentiated
            return None
        if not verdict.wrong:
            return None
        return self._suspect(call, problem, verdict.wrong, TWICE)

    def _suspect(
        self, call: Call, problem: Isolated, wrong: list[WrongEntry], note: str
    ) -> Suspect:
        entries = []
        for one in wrong:
            tensor, index = problem.place(one.number)
            output = "" if one.weighting == 0 else "the output with random weights"
            entries.append(Entry(tensor, index, one.expected, one.got, one.error, output))
        if call.custom and call.defined_at:
            note = f"{note}; " if note else ""
            note += f"its backward is written at {call.defined_at}"
        return Suspect(call.name, call.node_name, call.module, call.site, entries, note)

    def _kink(self, problem: Isolated, call: Call, verdict: Verdict) -> list[Kink]:
        found = []
        for kink in verdict.kinks:
            tensor, index = problem.place(kink.number)
            where = f"{call.name}: {tensor}"
            found.append(Kink(where, index, kink.left, kink.right, kink.taken, call.site))
        return found


def _only_nan(wrong: list[WrongEntry]) -> bool:
    return all(np.isnan(one.got) for one in wrong)


def _has_nan(gradients: Mapping[str, Any]) -> bool:
    return any(g is not None and bool(g.isnan().any()) for g in gradients.values())


def in_turn(calls: Sequence[Call]) -> list[Call]:
    """The order in which calls are checked: custom Functions first, then each line once before any twice."""
    wanted = [
        c
        for c in calls
        if _is_recorded(c)
        and c.name not in ABOUT_GRAPH
        and not _is_cast(c)
        and (c.custom or c.name.removeprefix("linalg_") not in _BY_CONVENTION)
    ]
    times: dict[Any, int] = {}
    ranked = []
    for i, call in enumerate(wanted):
        key = call.name, call.site, tuple(str(t.shape) for t in call.copies)
        times[key] = times.get(key, 0) + 1
        ranked.append((not call.custom, times[key], i, call))
    return [call for *_, call in sorted(ranked, key=lambda r: r[:3])]


def _is_cast(call: Call) -> bool:
    """Whether a call only rounds: its gradient is the incoming one."""
    if call.custom or call.name not in _CASTS or len(call.outputs) != 1 or len(call.inputs) < 1:
        return False
    return bool(call.outputs[0].dtype != call.copies[0].dtype)


def _is_recorded(call: Call) -> bool:
    if call.checkpointed:
        return bool(call.outputs)
    return call.grad and any(edge is not None for edge in call.nodes) and any(call.wanted)


def _records(call: Call) -> bool:
    return bool(call.kwargs.get("create_graph", False)) if isinstance(call.kwargs, dict) else False


def _uneven(engine: Any, random: Any, like: Any) -> Any:
    made = engine.from_numpy(np.asarray(uneven_signs(random, tuple(like.shape))))
    return made.to(dtype=like.dtype, device=like.device)
