"""`check_gradients`: one line per parameter with its gradient norm and a verdict.

Judged by absolute bounds, as tutorials teach; or, with `relative=True`, by what is usual for each
parameter: its own history and the size of its update relative to its weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..._report.plain import Plain
from ..._report.tables import html_table, text_table
from ..._report.wording import shape_text, tallied
from ..numerics.norms import norms_of
from ..subject.engines import is_module, is_tensor
from .gradient_history import ENOUGH, GradientHistory, history_of

VERDICTS = "fine", "exploding", "vanishing", "zero", "not finite", "none", "frozen"
_HARMLESS = "fine", "frozen"
_UNUSUAL = 6.0  # spreads from the median: at least a factor of 8
_LARGE_UPDATE = 1e-1  # of the weight; about 1e-3 is usual


@dataclass(frozen=True)
class GradientRow(Plain):
    """What was found for one parameter."""

    name: str
    shape: tuple[int, ...]
    norm: float | None  # None if there is no gradient
    verdict: str
    note: str = ""
    usual: float | None = None  # the median of its history
    update: float | None = None  # lr * norm over the norm of the weight


@dataclass(frozen=True)
class GradientTable(Plain):
    """The rows of `check_gradients`, in the order of the parameters."""

    rows: list[GradientRow]
    relative: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every gradient is fine (frozen parameters need none)."""
        return all(row.verdict in _HARMLESS for row in self.rows)

    @property
    def total_norm(self) -> float:
        """The norm of all gradients taken together."""
        return math.hypot(*(row.norm for row in self.rows if row.norm is not None))

    def __iter__(self) -> Iterator[GradientRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> GradientRow:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(name)

    @property
    def summary(self) -> str:
        """One line: the count of each verdict, and the norm of all gradients together."""
        count = len(self.rows)
        verdicts = tallied([row.verdict for row in self.rows], VERDICTS)
        text = f"{count} parameter{'s' * (count != 1)}: {verdicts}"
        if any(row.norm is not None for row in self.rows):
            text += f"; norm of all gradients {self.total_norm:.4g}"
        return text + "."

    def _cells(self) -> tuple[list[str], list[list[str]], set[int]]:
        headers = ["parameter", "shape", "norm"]
        headers += ["usual", "update"] if self.relative else []
        rows = []
        for row in self.rows:
            cells = [row.name, shape_text(row.shape), _number(row.norm)]
            if self.relative:
                cells += [_number(row.usual), _number(row.update)]
            rows.append([*cells, row.verdict, row.note])
        numbers = set(range(2, len(headers)))
        return [*headers, "verdict", ""], rows, numbers

    def __str__(self) -> str:
        headers, rows, numbers = self._cells()
        return "\n".join([text_table(headers, rows, numbers), self.summary, *self.notes])

    def _repr_html_(self) -> str:
        headers, rows, numbers = self._cells()
        bad = {i for i, row in enumerate(self.rows) if row.verdict not in _HARMLESS}
        return html_table(headers, rows, bad, numbers, after=[self.summary, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "ok": self.ok, "summary": self.summary}


def check_gradients(
    model: Any,
    *,
    exploding: float = 10.0,
    vanishing: float = 1e-6,
    relative: bool = False,
    lr: float | None = None,
    history: GradientHistory | None = None,
) -> GradientTable:
    """The norm of each parameter's gradient, and whether it is fine; call it after `backward()`.

    `model` is a module, or its parameters by name. Norms above `exploding` or below `vanishing` are
    reported, as are gradients that are all zeros, contain `nan` or `inf`, or are missing.

    With `relative=True` the two bounds are not used: a gradient is judged by its own history, which
    this function keeps per model across calls (or in `history`), and with `lr` also by the size
    of the update, `lr * norm`, relative to the weight: about 1e-3 is usual, above 1e-1 alarming.
    """
    named = _named(model)
    _check_bounds(exploding, vanishing, lr, history)
    norms = _norms(named)
    if not relative:
        rows = [
            _row(name, p, norm, _by_bounds(norm, exploding, vanishing))
            for (name, p), norm in zip(named, norms, strict=True)
        ]
        return GradientTable(rows, notes=_missing(rows))
    if history is None:
        history = history_of(model if is_module(model) else named[0][1])
    sizes: list[float] = [math.nan] * len(named)
    if lr is not None:
        with_gradient = [i for i, norm in enumerate(norms) if norm is not None]
        weights = norms_of([named[i][1] for i in with_gradient])
        for i, size in zip(with_gradient, weights, strict=True):
            sizes[i] = size
    rows = []
    for (name, p), norm, size in zip(named, norms, sizes, strict=True):
        update = lr * norm / size if lr is not None and norm is not None and size > 0 else None
        rows.append(_by_history(name, p, norm, update, history))
    notes = _missing(rows)
    known = [history.seen(row.name) for row in rows if row.norm]
    if known and min(known) < ENOUGH:
        notes.append(
            f"History: {min(known)} of the {ENOUGH} steps that are needed to say what is usual."
        )
    if lr is None:
        notes.append("No lr was given: the size of the updates is not judged.")
    for row in rows:
        if row.norm is not None:
            history.add(row.name, row.norm)
    return GradientTable(rows, relative=True, notes=notes)


def _named(model: Any) -> list[tuple[str, Any]]:
    """The parameters with their names, from a module, a mapping, or pairs."""
    if is_module(model):
        named = list(model.named_parameters())
    else:
        if is_tensor(model) or not isinstance(model, Iterable):
            raise TypeError(f"model: a module or named parameters are needed, not {_kind(model)}")
        pairs = model.items() if isinstance(model, Mapping) else model
        named = []
        for i, pair in enumerate(pairs):
            if is_tensor(pair):
                pair = (f"parameter {i}", pair)
            if not (isinstance(pair, tuple) and len(pair) == 2 and is_tensor(pair[1])):
                raise TypeError(
                    f"model: item {i} must be a pair of a name and a tensor, not {_kind(pair)}"
                )
            named.append((str(pair[0]), pair[1]))
    if not named:
        raise ValueError("model: it has no parameters, so there are no gradients to check")
    return named


def _kind(value: Any) -> str:
    return "a tensor" if is_tensor(value) else type(value).__name__


def _check_bounds(exploding: Any, vanishing: Any, lr: Any, history: Any) -> None:
    for name, value in (("exploding", exploding), ("vanishing", vanishing), ("lr", lr)):
        if name == "lr" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"{name}: must be a number, not {_kind(value)}")
        if not value >= 0:
            raise ValueError(f"{name}: must not be negative, got {value}")
    if vanishing >= exploding:
        raise ValueError(
            f"vanishing: must be below exploding, got {vanishing} and exploding={exploding}"
        )
    if history is not None and not isinstance(history, GradientHistory):
        raise TypeError(f"history: must be a GradientHistory, not {_kind(history)}")


def _norms(named: list[tuple[str, Any]]) -> list[float | None]:
    grads = [(i, p.grad) for i, (_, p) in enumerate(named) if p.grad is not None]
    norms: list[float | None] = [None] * len(named)
    for (i, _), norm in zip(grads, norms_of([grad for _, grad in grads]), strict=True):
        norms[i] = norm
    return norms


def _by_bounds(norm: float | None, exploding: float, vanishing: float) -> tuple[str, str]:
    if norm is not None and norm > exploding:
        return "exploding", f"above {exploding:g}"
    if norm is not None and norm < vanishing:
        return "vanishing", f"below {vanishing:g}"
    return "fine", ""


def _row(
    name: str, parameter: Any, norm: float | None, judged: tuple[str, str], **more: Any
) -> GradientRow:
    """A row with this verdict, unless the gradient is missing, non-finite or zero."""
    try:
        shape = tuple(parameter.shape)
    except RuntimeError:  # a lazy parameter has none yet
        return GradientRow(name, (), None, "none", "not initialised: run the model once")
    if norm is None:
        if parameter.requires_grad:
            judged = "none", "no gradient reached it"
        else:
            judged = "frozen", "requires_grad is False"
    elif not math.isfinite(norm):
        judged = "not finite", f"holds {norm}"
    elif norm == 0.0 and math.prod(shape):
        judged = "zero", "all of it is 0"
    elif norm == 0.0:
        judged = "fine", "empty"
    return GradientRow(name, shape, norm, *judged, **more)


def _by_history(
    name: str, parameter: Any, norm: float | None, update: float | None, history: GradientHistory
) -> GradientRow:
    score = history.score(name, norm) if norm is not None else None
    usual = history.usual(name)
    judged = "fine", ""
    if score is not None and usual is not None and norm is not None and abs(score) > _UNUSUAL:
        if score > 0:
            judged = "exploding", f"{norm / usual:.3g} times the usual"
        else:
            judged = "vanishing", f"1/{usual / norm:.3g} of the usual"
    # Biases start at 0, so their first updates are large relative to them and mean nothing.
    elif update is not None and update > _LARGE_UPDATE and parameter.dim() > 1:
        judged = "exploding", f"the update is {update:.2g} of the weight; about 1e-3 is usual"
    elif norm and usual is None:
        judged = "fine", "no history yet" if not history.seen(name) else "little history yet"
    return _row(name, parameter, norm, judged, usual=usual, update=update)


def _missing(rows: list[GradientRow]) -> list[str]:
    wanted = [row for row in rows if row.verdict != "frozen"]
    if wanted and all(row.norm is None for row in wanted):
        return ["No parameter has a gradient: call loss.backward() before this."]
    return []


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
