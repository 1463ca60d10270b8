"""Incoming gradients of every kind: by memory layout, by magnitude, by what shares them.

Backward is linear, so the expected result of each kind follows from plain gradients: that of u is that
of u + c minus that of c, where c is random; that of s·c is s times that of c; that of zero is zero. The
memory layout of an incoming gradient, and whether it is recorded itself, must make no difference at
all; and a rule must not modify it in place, because another node may hold it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..locate.leaving import nodes_behind
from ..locate.reasons import IGNORED
from ..subject.engines import as_numpy
from .comparing import Difference, Spread, difference, plainly_the_same
from .layouts import expanded, strided, transposed, with_offset
from .problem import Problem, Rows

ONES = "all ones"
_TINY, _HUGE = (1e-11, 1e-30), (1e7, 1e20)
_PARTS = 4  # outputs tried alone


@dataclass(frozen=True)
class Sent:
    """Gradients of one kind for all outputs."""

    kind: str
    arriving: list[Any]
    scale: float | None = None  # times the random one; None: its own gradient


class Incoming:
    """All kinds of incoming gradients for a recorded problem."""

    def __init__(
        self,
        problem: Problem,
        leaves: Sequence[Any],
        outputs: Sequence[Any],
        seed: int,
        of_ones: Rows | None = None,
    ) -> None:
        self.problem, self.leaves, self.outputs = problem, leaves, outputs
        self._of_ones = of_ones  # what ones give, where that is known
        self.random = np.random.default_rng(seed)
        self.any = [self._uniform(out) for out in outputs]  # c: of both signs, nothing special
        before = [as_numpy(t).copy() for t in self.any]
        self.plain = self.pulled(self.any)
        after = [as_numpy(t) for t in self.any]
        self.left_alone = all(
            np.array_equal(a, b, equal_nan=True) for a, b in zip(after, before, strict=True)
        )
        if not self.left_alone:
            self.any = [self._tensor(b, out) for b, out in zip(before, outputs, strict=True)]

    @cached_property
    def _faintest(self) -> float:
        """The rounding in a vanishing gradient: a residue of cancelling terms of size output over input."""
        largest, least = (
            [np.abs(as_numpy(t)[np.isfinite(as_numpy(t))]).max(initial=0.0) for t in tensors]
            for tensors in (self.outputs, self.leaves)
        )
        return float(64 * self.problem.epsilon * max(largest) / max(1.0, min(least, default=1.0)))

    def pulled(self, arriving: Sequence[Any], **options: Any) -> Rows:
        return self.problem.pulled(self.leaves, self.outputs, arriving, **options)

    # --- the kinds -----------------------------------------------------------------------------

    def kinds(self) -> Iterator[Sent]:
        """Yield each kind, made lazily."""
        outputs, c = self.outputs, self.any
        ones = [self._filled(out, 1.0) for out in outputs]
        if len(outputs) == 1 and outputs[0].numel() == 1 and not c[0].is_complex():
            number = float(c[0])
            yield Sent(ONES, ones, 1.0 / number)
            yield Sent("negative", [-t for t in ones], -1.0 / number)
        else:
            yield Sent(ONES, ones)
        if all(out.numel() <= 1 for out in outputs):  # a single number has only one layout
            yield Sent(f"very small ({_TINY[-1]:g})", [t * _TINY[-1] for t in c], _TINY[-1])
            yield Sent(f"very large ({_HUGE[-1]:g})", [t * _HUGE[-1] for t in c], _HUGE[-1])
            if len(outputs) > 1:
                yield Sent("negative", [-t.abs() if not t.is_complex() else -t for t in c])
            yield Sent("exactly zero", [t * 0 for t in c], 0.0)
            return
        yield Sent("all equal", [self._filled(out, -2.5) for out in outputs])
        for name, lay_out in _LAYOUTS.items():
            made = [lay_out(self.problem.engine, t) for t in c]
            if any(m is not t for m, t in zip(made, c, strict=True)):
                yield Sent(name, made, 1.0 if not name.startswith("expanded") else None)
        ones = [one.reshape(-1)[:1] for one in ones]
        flat = [o.reshape(()).expand(tuple(out.shape)) if out.numel() else o
                for o, out in zip(ones, outputs, strict=True)]  # fmt: skip
        yield Sent("all ones, expanded as that of sum() is", flat)
        for size in _TINY:
            yield Sent(f"very small ({size:g})", [t * size for t in c], size)
        for size in _HUGE:
            yield Sent(f"very large ({size:g})", [t * size for t in c], size)
        yield Sent("positive throughout", [t.abs() if not t.is_complex() else t for t in c])
        yield Sent("negative throughout", [-t.abs() if not t.is_complex() else -t for t in c])
        for word, keep in (
            ("zero but for one number", _only_one),
            ("zero in the first half", _late),
        ):
            yield Sent(word, [self._masked(t, keep) for t in c])
        yield Sent("exactly zero", [t * 0 for t in c], 0.0)

    def differences(self, spread: Spread, stop: Callable[[], bool]) -> Iterator[Any]:
        """Yield what is tried, kind by kind: its name, and a `Difference` where it goes wrong."""
        for sent in self.kinds():
            if stop():
                return
            yield sent.kind, _or_refused(sent.kind, partial(self._judged, sent, spread))
        recorded = "one that requires grad (create_graph=True)"
        yield recorded, _or_refused(recorded, lambda: self._as_recorded(recorded, spread))
        for number in self._parts():
            if stop():
                return
            kind = f"none at all, but for output {number}"
            yield kind, _or_refused(kind, partial(self._of_one_output, number, kind, spread))
        shared = "shared with another node"
        yield shared, _or_refused(shared, self._left_alone)

    def _judged(self, sent: Sent, spread: Spread) -> Difference | None:
        known = self._of_ones if sent.kind == ONES else None
        found = known or self.pulled(sent.arriving)
        if sent.scale is not None:
            with np.errstate(all="ignore"):
                expected: Rows = [None if row is None else sent.scale * row for row in self.plain]
            reach: Rows = expected
            if plainly_the_same(self.problem, found, expected, reach):
                return None
        else:
            expected, reach = self._by_sums(sent.arriving)
        least = 0.0
        if sent.scale:
            info = self.problem.engine.finfo(self.outputs[0].dtype)
            least = 1e6 * float(info.tiny)  # underflow along the way is nobody's mistake
            expected = [_within(row, float(info.max)) for row in expected]
            if not _as_finite(found, expected) and self._overflows(abs(sent.scale), info):
                return None
        scale = abs(sent.scale) if sent.scale else 1.0
        least += scale * self._faintest

        def moved() -> Rows:
            return [None if row is None else scale * row for row in spread()]

        wrong = difference(self.problem, sent.kind, found, expected, reach, moved, least)
        return wrong and (self._ignored(found, expected, spread) or wrong)

    def _ignored(self, found: Rows, expected: Rows, spread: Spread) -> Difference | None:
        """Whether the rule ignores what arrives: zeros give the same as any other gradient."""
        odd = [
            i
            for i, (one, plain) in enumerate(zip(found, self.plain, strict=True))
            if one is not None and not plainly_the_same(self.problem, [one], [expected[i]], [plain])
        ]
        of_zeros = self.pulled([c * 0 for c in self.any])
        if not odd or any(
            not np.any(self.plain[i])
            or not plainly_the_same(self.problem, [row[i]], [self.plain[i]], [self.plain[i]])
            for row in (found, of_zeros)
            for i in odd
        ):
            return None
        nothing: Rows = [None if row is None else np.zeros_like(row) for row in of_zeros]
        return difference(self.problem, IGNORED, of_zeros, nothing, nothing, spread)

    def _overflows(self, scale: float, info: Any) -> bool:
        """Whether some gradient along the way, scaled by this factor, would overflow the dtype."""
        sizes = [0.0]

        def note(grad_inputs: Any, grad_outputs: Any) -> None:
            sizes.extend(
                float(gradient.detach().abs().max())
                for gradient in (*grad_inputs, *grad_outputs)
                if gradient is not None and gradient.numel()
            )

        handles = [node.register_hook(note) for node in nodes_behind(self.outputs)]
        try:
            self.pulled(self.any)
        finally:
            for handle in handles:
                handle.remove()
        return max(sizes) > float(info.max) / scale

    def _by_sums(self, arriving: Sequence[Any]) -> tuple[Rows, Rows]:
        """What a gradient u must give: the result for u + c minus that for c."""
        both = self.pulled([u.contiguous() + c for u, c in zip(arriving, self.any, strict=True)])
        with np.errstate(all="ignore"):
            expected = [None if a is None else a - b for a, b in zip(both, self.plain, strict=True)]
            reach = [
                None if a is None else np.abs(a) + np.abs(b)
                for a, b in zip(both, self.plain, strict=True)
            ]
        return expected, reach

    def _as_recorded(self, kind: str, spread: Spread) -> Difference | None:
        """The same gradient, recorded itself (`create_graph=True`)."""
        sent = [t.detach().clone().requires_grad_() for t in self.any]
        try:
            found = self.pulled(sent, create_graph=True)
        except Exception as error:  # a backward that can be differentiated only once says so
            if "once_differentiable" in str(error) or "twice" in str(error):
                return None
            raise
        return difference(self.problem, kind, found, self.plain, self.plain, spread)

    def _parts(self) -> list[int]:
        """The outputs that may be used alone, so that the others receive no gradient at all."""
        live = [i for i, out in enumerate(self.outputs) if out.requires_grad]
        return live[:_PARTS] if len(live) > 1 else []

    def _of_one_output(self, number: int, kind: str, spread: Spread) -> Difference | None:
        """The gradient of one output, with none for the others and with zeros for the others."""
        alone = [c if i == number else None for i, c in enumerate(self.any)]
        zeros = [c if i == number else c * 0 for i, c in enumerate(self.any)]
        expected = self.pulled(zeros)
        return difference(self.problem, kind, self.pulled(alone), expected, self.plain, spread)

    def _left_alone(self) -> Difference | None:
        """Whether a gradient that may be shared was modified."""
        return None if self.left_alone else Difference(CHANGED_IN_PLACE, [], 1, 0.0, 0.0)

    # --- making them ---------------------------------------------------------------------------

    def _uniform(self, like: Any) -> Any:
        shape = tuple(like.shape)
        values = self.random.uniform(0.5, 1.5, shape) * self.random.choice([-1.0, 1.0], shape)
        if like.is_complex():
            values = values + 1j * self.random.uniform(0.5, 1.5, shape)
        return self._tensor(values, like)

    def _filled(self, like: Any, value: float) -> Any:
        return self._tensor(np.full(tuple(like.shape), value), like)

    def _masked(self, tensor: Any, keep: Callable[[int], Any]) -> Any:
        mask = keep(int(tensor.numel())).reshape(tuple(tensor.shape))
        return tensor * self._tensor(mask, tensor)

    def _tensor(self, values: Any, like: Any) -> Any:
        made = self.problem.engine.from_numpy(np.ascontiguousarray(values).reshape(values.shape))
        return made.to(dtype=like.dtype, device=like.device)


CHANGED_IN_PLACE = "changed in place, although another node may hold it as well"

_LAYOUTS: dict[str, Callable[[Any, Any], Any]] = {
    "not contiguous (transposed)": transposed,
    "not contiguous (every second number)": strided,
    "offset in its memory": with_offset,
    "expanded along the first dimension": lambda engine, t: expanded(engine, t, 0),
    "expanded along the last dimension": lambda engine, t: expanded(engine, t, -1),
    "expanded along all dimensions": lambda engine, t: expanded(engine, t, None),
}


@dataclass(frozen=True)
class Refused:
    """Backward raised for one kind."""

    kind: str
    error: Exception


def _or_refused(kind: str, judge: Callable[[], Difference | None]) -> Difference | Refused | None:
    try:
        return judge()
    except Exception as error:
        return Refused(kind, error)


def _only_one(size: int) -> Any:
    return (np.arange(size) == size // 2).astype(float)


def _late(size: int) -> Any:
    return (np.arange(size) >= (size + 1) // 2).astype(float)


def _as_finite(found: Rows, expected: Rows) -> bool:
    """Whether numbers are finite wherever they should be."""
    return all(
        one is None or other is None or bool(np.all(np.isfinite(one) | ~np.isfinite(other)))
        for one, other in zip(found, expected, strict=True)
    )


def _within(row: Any, largest: float) -> Any:
    """Entries that overflow along the way are nobody's mistake and are not compared."""
    if row is None:
        return None
    with np.errstate(all="ignore"):
        return np.where(np.abs(row) < 1e-12 * largest, row, np.nan)
