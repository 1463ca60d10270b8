"""Operations put together: random programs of 5 to 15 records, the same on both engines.

A program follows from a number: a few fixed ones, and in the long run what Hypothesis draws. Each
step takes a record and one of its samples, puts a tensor made earlier in the place of one of the
sample's tensors (squeezed into the range that the sample asks for), and keeps what comes out. All
values and the gradients of the leaves are compared; the tolerance is that of `tolerance`, its
condition measured on the program.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tautograd._ops.declare.samples import Sample, T
from tests.planted_rules import planted

from .arrays import array_for
from .cases import (
    RECORDS,
    TAUTOGRAD,
    TORCH,
    Call,
    Engine,
    program_of,
    record,
    samples_of,
    tensors_in,
)  # fmt: skip
from .departures import NOISE_IN_PYTORCH, WRONG_IN_PYTORCH
from .exact import EXACT
from .measure import flatten
from .rules import refuses_derivative
from .test_seam import SHAPE_DEPENDS_ON_VALUES
from .tolerance import PATTERNS, STEP, epsilon

DTYPE = "float64"
ROUNDING = 2.0**-50
JUMPS = 32  # patterns of rounding errors: a jump is easily missed
# What a rounding error may change by more than a rounding error: counts, orders, ranks.
LEFT_OUT = {*SHAPE_DEPENDS_ON_VALUES, *NOISE_IN_PYTORCH, *EXACT}

Step = tuple[int, int, int, int]  # record, sample, which of its tensors, what to put there


def program_of_seed(seed: int) -> list[Step]:
    rng = np.random.default_rng(seed)
    return [tuple(map(int, rng.integers(0, 10**6, 4))) for _ in range(rng.integers(5, 16))]


@cache
def catalogue() -> tuple[tuple[str, Sample], ...]:
    """Every sample with a place for a tensor made earlier."""
    return tuple(
        (name, sample)
        for name in RECORDS
        if name not in LEFT_OUT and not (record(name).differentiable and refuses_derivative(name))
        for sample in samples_of(name)
        if any(_takes_any(t) for t in tensors_in(sample))
        and not (name in WRONG_IN_PYTORCH and WRONG_IN_PYTORCH[name].where(sample, DTYPE))
    )


@cache
def _by_name() -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {}
    for name, sample in catalogue():
        found.setdefault(name, []).append(sample)
    return found


def _takes_any(t: T) -> bool:
    """Whether a tensor of a sample may be any of its shape and range."""
    return t.kind == "uniform" and t.dtype is None and t.grad and 0 not in t.shape


@dataclass
class Run:
    """A program on one engine: its leaves, what it made, and what could not be made."""

    engine: Engine
    nudge: Callable[[np.ndarray], np.ndarray]
    leaves: list[Any] = field(default_factory=list)
    made: list[Any] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    refusal: str = ""  # why there are no gradients

    def step(self, number: int, choice: Step) -> None:
        names = sorted(_by_name())
        name = names[choice[0] % len(names)]
        sample = _by_name()[name][choice[1] % len(_by_name()[name])]
        call = Call(self.engine, record(name), Sample(), DTYPE, False)
        places = [i for i, t in enumerate(tensors_in(sample)) if _takes_any(t)]
        place = places[choice[2] % len(places)]
        position = -1

        def put(value: Any) -> Any:
            nonlocal position
            if isinstance(value, T):
                position += 1
                earlier = self._earlier(value, choice[3]) if position == place else None
                return self._leaf(value, number, position) if earlier is None else earlier
            if type(value) in (list, tuple):
                return type(value)(put(v) for v in value)
            if isinstance(value, dict):
                return {k: put(v) for k, v in value.items()}
            return call._made(value)

        args = [put(a) for a in sample.args]
        options = {k: put(v) for k, v in sample.kwargs.items()}
        try:
            outs = flatten(program_of(self.engine, record(name))(*args, **options), self.engine)
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
            self.log.append(f"{name} {sample} raises {type(error).__name__}")
            return
        self.log.append(f"{name} {sample}")
        self.made += [o for o in outs if self.engine.is_tensor(o) and o.is_floating_point()]

    def _leaf(self, t: T, number: int, position: int) -> Any:
        array = array_for(t, DTYPE, 1000 * number + position)
        if array.dtype != np.float64:
            return self.engine.tensor(array)
        leaf = self.engine.tensor(np.array(self.nudge(array), order="C"), True)
        self.leaves.append(leaf)
        return leaf

    def _earlier(self, t: T, pick: int) -> Any:
        """A tensor made before, of this shape, squeezed into this range."""
        fitting = [x for x in self.made if tuple(x.shape) == t.shape]
        if not fitting:
            return None
        x = fitting[pick % len(fitting)]
        x = x * self.engine.tensor(np.asarray(self.nudge(np.ones(t.shape))))
        return t.low + (t.high - t.low) * (0.02 + 0.96 * x.sigmoid())

    def gradients(self) -> list[Any]:
        """Of a weighted sum of all that was made."""
        live = [m for m in self.made if m.requires_grad]
        if not live:
            return []
        weights = [
            np.random.default_rng(i).uniform(-1, 1, tuple(m.shape)) for i, m in enumerate(live)
        ]
        gs = [
            self.engine.tensor(np.asarray(w)).to(m.dtype)
            for w, m in zip(weights, live, strict=True)
        ]
        try:
            return list(self.engine.grad(live, self.leaves, gs, allow_unused=True))
        except (RuntimeError, NotImplementedError) as error:  # a derivative that PyTorch lacks
            self.refusal = str(error)
            return []


def run(engine: Engine, program: list[Step], nudge: Any = None) -> tuple[Run, list[np.ndarray]]:
    """A program's values and gradients, in order (an absent gradient is zero)."""
    state = Run(engine, nudge or (lambda x: x))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number, choice in enumerate(program):
            state.step(number, choice)
        values = [np.array(engine.array(m), np.float64) for m in state.made]
        for leaf, gradient in zip(state.leaves, state.gradients(), strict=False):
            found = np.zeros(tuple(leaf.shape)) if gradient is None else engine.array(gradient)
            values.append(np.array(found, np.float64))
    return state, values


def around(program: list[Step], step: float, patterns: int) -> Iterator[list[np.ndarray]]:
    """PyTorch's values when the input of each step changes by this much, relatively."""
    for pattern in range(patterns):
        for sign in (1, -1):
            rng = np.random.default_rng(pattern)
            yield run(
                TORCH, program,
                lambda x, rng=rng, s=sign: x * (1 + s * step * rng.choice([-1.0, 1.0], x.shape)),
            )[1]  # fmt: skip


def reach(program: list[Step], centre: list[np.ndarray]) -> list[float]:
    """How far each value moves, at most, per relative change of the inputs; jumps do not count."""
    found = [0.0] * len(centre)
    for moved in around(program, STEP, PATTERNS):
        for i, (a, b) in enumerate(zip(centre, moved, strict=False)):
            if a.shape == b.shape:
                with np.errstate(invalid="ignore"):
                    move = np.abs(a - b) / STEP
                found[i] = max(found[i], float(np.max(move, initial=0, where=np.isfinite(move))))
    return found


def check(program: list[Step]) -> None:
    theirs, want = run(TORCH, program)
    ours, got = run(TAUTOGRAD, program)
    listing = "\n".join(ours.log)
    assert ours.log == theirs.log, f"another course of events: {theirs.log}"
    if theirs.refusal:
        got = got[: len(want)]
    assert theirs.refusal or not ours.refusal, ours.refusal
    assert [v.shape for v in got] == [v.shape for v in want]
    if all(np.all(_near(a, b)) for a, b in zip(want, got, strict=True)):
        return
    moves = reach(program, want)
    agreed = [_near(a, b, move) for a, b, move in zip(want, got, moves, strict=True)]
    if not all(np.all(near) for near in agreed):
        # A count at the edge of a bin jumps by a rounding error. Such an element must be what
        # PyTorch itself gives for inputs that are a rounding error away; unless it is finite there
        # and not here (or the other way about), at a pole, where any number is as good.
        for moved in around(program, ROUNDING, JUMPS):
            for i, (a, b, move) in enumerate(zip(moved, got, moves, strict=False)):
                if a.shape == b.shape:
                    agreed[i] |= _near(a, b, move) | (np.isfinite(a) != np.isfinite(want[i]))
    for i, (a, b, near) in enumerate(zip(want, got, agreed, strict=True)):
        made = i < len(ours.made)
        what = f"value {i}" if made else f"the gradient of leaf {i - len(ours.made)}"
        assert np.all(near), f"{what}: {b} for {a} in the program\n{listing}"


def _near(want: np.ndarray, got: np.ndarray, move: float = 0.0) -> np.ndarray:
    """Where values agree, given how far they move per change of the inputs."""
    size = np.max(np.abs(want), initial=0.0, where=np.isfinite(want)) + move
    tolerance = 4 * 15 * max(want.size, 12) ** 0.5 * epsilon(DTYPE) * size
    with np.errstate(invalid="ignore"):
        near = (np.abs(got - want) <= tolerance) | (got == want)
    return np.asarray(near | (np.isnan(got) & np.isnan(want)))


def check_seed(seed: int) -> None:
    """The program of a seed; one that fails is made as short as it can be and still fail."""
    program = program_of_seed(seed)
    if _passes(program):
        return
    for i in reversed(range(len(program))):
        shorter = program[:i] + program[i + 1 :]
        if not _passes(shorter):
            program = shorter
    try:
        check(program)
    except Exception as error:
        failure = f"seed {seed}, program {program}\n{type(error).__name__}: {error}"
    pytest.fail(failure, pytrace=False)


def _passes(program: list[Step]) -> bool:
    try:
        check(program)
    except Exception:
        return False
    return True


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_short_run_of_random_programs(start: int) -> None:
    for seed in range(start, start + 50):
        check_seed(seed)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None, database=None, phases=(Phase.generate,))
@given(st.integers(200, 2**32 - 1))
def test_long_run_of_random_programs(seed: int) -> None:
    check_seed(seed)


def test_jumps_are_those_of_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value may be another only if PyTorch's is, for inputs a rounding error away."""
    at = sorted(_by_name()).index("sigmoid")
    program: list[Step] = [(at, 0, 0, 0)]
    true_run = run

    def jumping(by: float) -> Any:
        def changed(engine: Engine, program: Any, nudge: Any = None) -> Any:
            state, values = true_run(engine, program, nudge)
            if engine is TAUTOGRAD or nudge is not None:
                values[0] = values[0] + (by if engine is TAUTOGRAD else 1.0)
            return state, values

        return changed

    monkeypatch.setitem(globals(), "run", jumping(1.0))
    check(program)
    monkeypatch.setitem(globals(), "run", jumping(0.5))
    with pytest.raises(AssertionError, match="value 0"):
        check(program)


def test_the_check_can_fail() -> None:
    """A wrong rule in a program is noticed."""
    op = record("sigmoid")
    at = sorted(_by_name()).index("sigmoid")
    program: list[Step] = [(at, 0, 0, 0), (at, 0, 0, 0)] * 3
    check(program)
    wrong = {"x": lambda g, out: 1.01 * g * out * (1 - out)}
    with planted(op, wrong), pytest.raises(AssertionError, match="gradient"):
        check(program)
