"""The main comparison: the engine's gradient against differences, over the whole Jacobian or by probes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..numerics.compare import SINGLE, Comparison, compare, farthest_first
from ..numerics.differences import Derivatives
from ..numerics.evaluate import Values
from ..numerics.first_look import along_axes, noise_seen
from ..numerics.noise import EPSILON
from ..numerics.sensitivity import Sensitivity
from ..report.findings import Entry, Kink
from ..report.report import Check
from ..subject.engines import reals_in
from ..subject.subject import Subject
from .fast_mode import Probes, usual_sizes
from .precision import gradient_noise, is_calm

_DIGITS = 2.0**-10  # of a small entry
_SEEN = 2.0**-34  # of an output over an input: the smallest slope that two values show
_SLACK = 16  # roundings by which a computed derivative may be off


@dataclass
class Outcome:
    """The result of one comparison, and what later steps need from it."""

    subject: Subject
    check: Check
    probes: Probes
    found: Derivatives
    claimed: Any
    compared: Comparison
    sensitivity: Sensitivity
    norm: float
    runs: int
    entries: list[Entry] = field(default_factory=list)
    kinks: list[Kink] = field(default_factory=list)
    gradients: Any = None  # of the probes' cotangents
    recorded: Any = None  # the leaves and outputs whose gradients these are

    @property
    def wrong(self) -> bool:
        return self.check.verdict == "wrong"

    def backwards(self) -> tuple[Any, Any]:
        """The cotangents sent, and the gradients returned."""
        if self.gradients is not None:
            return self.probes.cotangents, self.gradients
        return np.eye(self.subject.size), self.claimed.T

    def along_probes(self) -> tuple[Derivatives, Any, Comparison]:
        """Differences, gradients and comparison along the probes; if all entries were compared, sums
        of those."""
        probes = self.probes
        if self.gradients is not None:
            return self.found, self.gradients, self.compared
        found, compared = self.found, self.compared

        def summed(entries: Any, size: Callable[[Any], Any]) -> Any:
            with np.errstate(all="ignore"):
                return size(probes.directions) @ entries @ size(probes.cotangents).T

        shape = len(probes.directions), len(probes.cotangents)
        kink = np.full(shape, bool(compared.kink.any()))
        finite = np.full(shape, bool(found.finite.all()))
        left, right = summed(found.left, np.asarray), summed(found.right, np.asarray)
        along = Derivatives(
            summed(found.value, np.asarray), summed(found.error, np.abs), left, right, kink, finite,
            np.ones(shape),
        )  # fmt: skip
        gradients = probes.cotangents @ self.claimed.T
        gap, tolerance = summed(compared.gap, np.abs), summed(compared.tolerance, np.abs)
        wrong = np.full(shape, bool(compared.wrong.any()))
        return along, gradients, Comparison(gap, tolerance, wrong, kink, ~finite)


def full(subject: Subject, values: Values, probes: int, seed: int, recorded: Any = None) -> Outcome:
    """Compare every entry of the Jacobian; `recorded` are leaves and outputs of an earlier run, if any."""
    row = subject.row
    everything = np.eye(subject.size)
    few = Probes(subject, values, min(probes, 4), seed, everything_compared=True)
    values.expect(few.points_ahead)
    recorded = recorded or subject.recorded(row)
    leaves, outputs = recorded
    jacobian = subject.pull_back(leaves, outputs, everything)
    claimed = jacobian.T
    epsilon = max(EPSILON, subject.epsilon)
    sizes = block_sizes(subject, claimed)
    faintest = _faintest(subject, values.here)
    found = along_axes(
        values, row, noise=lambda: values.noise, claimed=claimed,
        enough=_enough(sizes, faintest, claimed), sizes=usual_sizes(subject), epsilon=epsilon,
        bends=SINGLE * sizes,
    )  # fmt: skip
    if values.noise_is_open:
        values.take_noise(noise_seen(found, claimed, values.here))
    slack = _SLACK * epsilon * np.fmax(sizes, faintest)
    least = _enough(sizes, faintest, claimed, found.value) / SINGLE
    compared = compare(found, claimed, slack, least)
    if compared.wrong.any():
        # The effect of rounding on the gradient itself is measured only where it matters.
        rows = np.nonzero(compared.wrong.any(axis=0))[0]
        spread = np.zeros_like(claimed)
        calm = is_calm(values.noise, values.here, subject.epsilon)
        spread[:, rows] = gradient_noise(subject, everything[rows], seed, calm=calm).T
        compared = compare(found, claimed, slack + spread, least)
    _never_nan(compared, claimed, values.here)
    seen = ~compared.kink & ~compared.unseen
    caught = Sensitivity(np.maximum(compared.tolerance, SINGLE * least)[seen])
    outcome = Outcome(
        subject,
        Check("central differences", f"all {claimed.size:,} entries of the Jacobian"),
        few,
        found, claimed, compared, caught,
        float(np.sqrt(np.nansum(claimed**2))), values.count, recorded=recorded,
    )  # fmt: skip
    if compared.wrong.any():
        outcome.entries = _entries(subject, outcome)
    if compared.kink.any():
        outcome.kinks = _kinks(subject, outcome)
    return _judged(outcome)


def _enough(sizes: Any, faintest: Any, *entries: Any) -> Any:
    """The error that may be ignored: half a float32 unit of the block's largest entry, but at most the
    third digit of an entry far smaller than that, provided values of this size can show it."""
    with np.errstate(all="ignore"):
        own = np.max([np.where(np.isfinite(e), np.abs(e), 0.0) for e in entries], axis=0)
        return np.minimum(SINGLE * sizes, np.maximum(_DIGITS * own, _SEEN * faintest))


def _faintest(subject: Subject, here: Any) -> Any:
    """For each entry, the slope that moves an output by its own size when the input moves by its own: a
    few roundings of that are lost in the output, and reappear as rounding in sums that cancel."""
    with np.errstate(all="ignore"):
        outputs = np.where(np.isfinite(here), np.abs(here), 0.0)
        return outputs / usual_sizes(subject)[:, None]


def _never_nan(compared: Comparison, claimed: Any, here: Any) -> None:
    """NaN is never the derivative of a finite function, though its domain may end there."""
    nan = np.isnan(claimed) & np.isfinite(here)
    compared.wrong |= nan
    compared.unseen &= ~nan
    compared.kink &= ~nan


def block_sizes(subject: Subject, claimed: Any) -> Any:
    """For each entry, the largest one of its block, a leaf by an output tensor: a computed derivative
    is a sum of products with its neighbours' factors, and is rounded on their scale."""
    sizes = np.zeros_like(claimed)
    at = 0
    for _, tensor in subject.outputs:
        columns = slice(at, at + reals_in(tensor))
        at = columns.stop
        for leaf in subject.leaves:
            rows = slice(leaf.start, leaf.start + leaf.reals)
            block = np.abs(claimed[rows, columns])
            sizes[rows, columns] = np.where(np.isfinite(block), block, 0.0).max(initial=0.0)
    return sizes


def fast(subject: Subject, values: Values, probes: int, seed: int) -> Outcome:
    """Compare a few random probes."""
    made = Probes(subject, values, probes, seed)
    found, claimed, gradients = made.differences(), made.claimed, made.gradients
    compared = made.compare(found)
    if compared.wrong.any():
        compared = made.compare(found, gradient_noise(subject, made.cotangents, seed))
    outcome = Outcome(
        subject,
        Check("central differences", f"{probes}×{probes} random probes of the Jacobian"),
        made,
        found, claimed, compared, made.sensitivity(found, claimed, compared),
        float(np.sqrt(np.nanmean(np.sum(gradients**2, axis=1)))), values.count,
        gradients=gradients,
    )  # fmt: skip
    if compared.wrong.any():
        at = np.unravel_index(int(np.nanargmax(compared.gap * compared.wrong)), claimed.shape)
        outcome.entries = [
            Entry(
                f"along probe {at[0]}", (), float(found.value[at]), float(claimed[at]),
                float(compared.tolerance[at]), f"outputs weighted by probe {at[1]}",
            )
        ]  # fmt: skip
    return _judged(outcome)


def _judged(outcome: Outcome) -> Outcome:
    check, compared = outcome.check, outcome.compared
    check.entries = int(compared.gap.size)
    seen = ~(compared.kink | compared.unseen)
    check.measure(compared.gap, compared.tolerance, wrong=compared.wrong, seen=seen)
    if compared.wrong.any():
        check.verdict = "wrong"
        check.note = f"{int(compared.wrong.sum()):,} of {compared.wrong.size:,} do not agree"
    elif compared.kink.any():
        check.verdict = "kinks"
        check.note = f"{int(compared.kink.sum()):,} at kinks, between the one-sided derivatives"
    elif check.worst > 1:
        check.note = "to the digits of float32 only: a constant inside seems to be rounded to it"
    if compared.unseen.size and compared.unseen.all():
        check.verdict, check.entries = "not applicable", 0
    if compared.unseen.any():
        check.note += f"{'; ' if check.note else ''}{int(compared.unseen.sum()):,} not finite there"
    return outcome


def _entries(subject: Subject, outcome: Outcome) -> list[Entry]:
    """The wrong entries, sorted by absolute difference, largest first."""
    compared, found, claimed = outcome.compared, outcome.found, outcome.claimed
    places = np.argwhere(compared.wrong)
    order = farthest_first(compared.gap[compared.wrong])
    entries = []
    for place, output in places[order]:
        leaf = subject.leaf_at(int(place))
        entries.append(
            Entry(
                leaf.name, leaf.index_of(int(place)),
                float(found.value[place, output]), float(claimed[place, output]),
                float(compared.tolerance[place, output]), output_name(subject, int(output)),
            )
        )  # fmt: skip
    return entries


def _kinks(subject: Subject, outcome: Outcome) -> list[Kink]:
    found, claimed = outcome.found, outcome.claimed
    kinks = []
    for place, output in np.argwhere(outcome.compared.kink)[:20]:
        leaf = subject.leaf_at(int(place))
        kinks.append(
            Kink(
                leaf.name, leaf.index_of(int(place)), float(found.left[place, output]),
                float(found.right[place, output]), float(claimed[place, output]),
            )
        )  # fmt: skip
    return kinks


def output_name(subject: Subject, place: int) -> str:
    """The output that a number of the result belongs to: `output[0, 2]`; empty if there is just one."""
    at = 0
    for name, tensor in subject.outputs:
        width = 2 if tensor.is_complex() else 1
        count = int(tensor.numel()) * width
        if place < at + count:
            if len(subject.outputs) == 1 and count == 1:
                return ""
            index = np.unravel_index((place - at) // width, tuple(tensor.shape))
            inside = f"[{', '.join(str(int(i)) for i in index)}]" if len(index) else ""
            return name + inside
        at += count
    return f"output number {place}"
