"""`try_inputs`: records what a computation does on normal, boundary, odd and invalid inputs.

Each case runs forward, and backward from the sum of the outputs, from the same state, which is restored
at the end. Most outcomes are only reported; alarming are a NaN gradient of a finite loss at finite
inputs, a gradient that differences contradict, and a crash whose message does not say what was wrong.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..._report.plain import Plain
from ..._report.tables import html_table, text_table
from ..._report.wording import tallied
from ..references.spot_check import disagreement, other_values
from ..subject.calls import Call, parameter_names, title_of
from ..subject.engines import engine_of, is_module
from ..subject.restore import Untouched
from ..subject.runs import Run, error_line, pulled_back, run_once
from ..subject.time_limit import TookTooLong, time_limit
from .input_variants import Variant, variants_of

OUTCOMES = (
    *("fine", "clear error", "warning", "NaN passed on", "infinity passed on", "swallowed"),
    *("infinite output", "infinite gradient", "NaN output", "too slow"),
    *("NaN gradient", "wrong", "obscure error"),
)
ALARMING = "NaN gradient", "wrong", "obscure error"

# Words in a message that tell its reader which input to fix, and how.
_TELLING = re.compile(
    r"\b(shapes?|sizes?|dim|dims|dimensions?|dimensional|[0-9]+-?D|dtypes?|types?|floating|integer"
    r"|integral|Float|Double|Half|BFloat16|Long|Int|Bool|Byte|float|int|int64|float32|float64|complex"
    r"|bool|scalars?|elements?|empty|contiguous|broadcast\w*|features?|channels?|batch\w*|index\w*"
    r"|indices|range|bounds|points?|numbers?|expected|Expected|inputs?|arguments?|tensors?|values?|NaN|nan|finite|positive)\b"
)
_UNTELLING = (AttributeError, KeyError, NameError, ZeroDivisionError, MemoryError, AssertionError)


@dataclass(frozen=True)
class TriedRow(Plain):
    """One kind of input, and what it did."""

    inputs: str
    outcome: str
    note: str = ""
    seconds: float = 0.0

    @property
    def alarming(self) -> bool:
        return self.outcome in ALARMING


@dataclass(frozen=True)
class Tried(Plain):
    """All inputs that were tried."""

    title: str
    rows: list[TriedRow] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing alarming happened."""
        return not any(row.alarming for row in self.rows)

    def __iter__(self) -> Iterator[TriedRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, inputs: str) -> TriedRow:
        for row in self.rows:
            if row.inputs == inputs:
                return row
        raise KeyError(inputs)

    @property
    def summary(self) -> str:
        """One line: the count of each outcome."""
        outcomes = tallied([row.outcome for row in self.rows], OUTCOMES)
        return f"{len(self.rows)} kinds of input: {outcomes}."

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        rows = [[row.inputs, row.outcome, row.note] for row in self.rows]
        return ["inputs", "outcome", ""], rows

    def __str__(self) -> str:
        return "\n".join([self.title, text_table(*self._cells()), self.summary])

    def _repr_html_(self) -> str:
        bad = {i for i, row in enumerate(self.rows) if row.alarming}
        return html_table(*self._cells(), bad, caption=self.title, after=[self.summary])

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "ok": self.ok, "summary": self.summary}


def try_inputs(
    subject: Any,
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    differences: bool = True,
    seconds: float = 60.0,
) -> Tried:
    """Run a function or module on inputs derived from these, and record what each did.

    `differences` says whether gradients are compared with finite differences where the function can
    be evaluated around the inputs; `seconds` limits each case.
    """
    if not callable(subject):
        raise TypeError(f"subject: a function or a module is needed, not {type(subject).__name__}")
    if not seconds > 0:
        raise ValueError(f"seconds: must be positive, got {seconds}")
    call = Call(subject, args, kwargs)
    engine = engine_of([*call.tensors().values(), *([subject] if is_module(subject) else [])])
    rows: list[TriedRow] = []
    with Untouched(engine, subject, call.args, call.kwargs) as state:
        for variant in variants_of(engine, call):
            began = time.perf_counter()
            try:
                with time_limit(seconds):
                    outcome, note = _try(engine, variant, state, differences)
            except TookTooLong:
                outcome, note = "too slow", f"stopped after {seconds:g} s"
            rows.append(TriedRow(variant.name, outcome, note, time.perf_counter() - began))
    return Tried(title_of(subject), rows)


def _try(engine: Any, variant: Variant, state: Untouched, differences: bool) -> tuple[str, str]:
    run = run_once(engine, variant.call, state, layout=variant.layout)
    if run.exception is not None:
        return _failed(variant.call, run.exception)
    leaves = {**run.leaves, **_parameters(variant.call.subject)}
    try:
        gradients = pulled_back(engine, run, list(leaves.values()), ones=True)
    except Exception as error:
        outcome, note = _failed(variant.call, error)
        return outcome, f"in backward: {note}"
    found = dict(zip(leaves, gradients, strict=True))
    judged = _not_finite(run, found, variant)
    if judged is None and variant.layout is not None:
        other = other_values(engine, variant, state, run, found)
        judged = ("wrong", other) if other else None
    if judged is None and differences and variant.numerical and variant.finite:
        state.restore()
        other = disagreement(variant.call)
        judged = ("wrong", other) if other else None
    if judged is None and run.warnings:
        judged = "warning", run.warnings[0]
    return judged or ("fine", _described(run, found))


def _parameters(subject: Any) -> dict[str, Any]:
    if not is_module(subject):
        return {}
    return {name: p for name, p in subject.named_parameters() if p.requires_grad}


def _not_finite(run: Run, gradients: dict[str, Any], variant: Variant) -> tuple[str, str] | None:
    numbers = {
        name: t for name, t in run.outputs.items() if t.is_floating_point() or t.is_complex()
    }
    outputs_nan = [name for name, t in numbers.items() if bool(t.isnan().any())]
    outputs_inf = [name for name, t in numbers.items() if bool(t.isinf().any())]
    arrived = {name: g for name, g in gradients.items() if g is not None}
    gradients_nan = [name for name, g in arrived.items() if bool(g.isnan().any())]
    if not variant.finite:
        if outputs_nan or gradients_nan:
            where = outputs_nan or [f"the gradient of {name}" for name in gradients_nan]
            return "NaN passed on", f"in {', '.join(where)}"
        if outputs_inf:
            return "infinity passed on", f"in {', '.join(outputs_inf)}"
        return "swallowed", "what came out is finite" if numbers else "no number came out"
    if outputs_nan:
        return "NaN output", f"in {', '.join(outputs_nan)}, from finite inputs"
    if outputs_inf:
        return "infinite output", f"in {', '.join(outputs_inf)}, from finite inputs"
    if gradients_nan:
        return "NaN gradient", f"of a finite loss, for {', '.join(gradients_nan)}"
    infinite = [name for name, g in arrived.items() if bool(g.isinf().any())]
    if infinite:
        return "infinite gradient", f"of a finite loss, for {', '.join(infinite)}"
    return None


def _failed(call: Call, error: BaseException) -> tuple[str, str]:
    said = str(error)
    names = [name for name in parameter_names(call.subject) if name not in ("args", "kwargs")]
    named = any(re.search(rf"\b{re.escape(name)}\b", said, re.I) for name in names)
    told = bool(_TELLING.search(said)) or named
    if isinstance(error, AssertionError):
        clear = told
    else:
        clear = told and not isinstance(error, _UNTELLING) and "INTERNAL ASSERT" not in said
    return "clear error" if clear else "obscure error", error_line(error)[:160]


def _described(run: Run, gradients: dict[str, Any]) -> str:
    shapes = ", ".join(str(tuple(t.shape)) for t in run.outputs.values())
    text = f"output {shapes}" if shapes else "no tensor came out"
    return text if any(g is not None for g in gradients.values()) else f"{text}, no gradient"
