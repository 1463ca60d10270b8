"""Does every record run under `vmap`? Each sample as a batch, against a Python loop over it.

No operation knows of batches: `vmap` is an array type. So the test is the same for all: three
examples that differ in their values only, all tensors batched or just one of them, forward and
gradient (`vmap(grad(f))`), must give what the examples give one by one, up to rounding.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tautograd
from tautograd._ops.declare.samples import Sample, T
from tautograd._tensor.tensor import make

from .arrays import array_for, to_tautograd
from .cases import RECORDS, TAUTOGRAD, Call, program_of, record, samples_of, tensors_in
from .measure import flatten
from .programs import DRAWN
from .reporting import Problems
from .rules import refuses_derivative
from .test_seam import SHAPE_DEPENDS_ON_VALUES
from .tolerance import epsilon

EXAMPLES = 3
DTYPES = ("float64", "complex128", "int64", "bool")
RANDOM = frozenset(f"drawn_{name}" for name in DRAWN)
WITH_SAMPLES = [name for name in RECORDS if samples_of(name)]
DIFFERENTIABLE = [name for name in WITH_SAMPLES if record(name).differentiable]


class Batch:
    """A sample as a function of its tensors, and examples of them."""

    def __init__(self, name: str, sample: Sample, dtype: str) -> None:
        self.sample, self.dtype = sample, dtype
        self.program = program_of(TAUTOGRAD, record(name))
        self.call = Call(TAUTOGRAD, record(name), sample, dtype, False)
        self.slots = list(tensors_in(sample))
        self.examples = [
            [self._array(t, i, example) for i, t in enumerate(self.slots)]
            for example in range(EXAMPLES)
        ]

    def _array(self, t: T, position: int, example: int) -> Any:
        return array_for(t, self.dtype, position + 100 * example)

    def choices(self) -> Iterator[tuple[int | None, ...]]:
        """Which tensors are batched: all of them, or only the first, or only the last.

        Never the sizes of packed steps: what shape a result has depends on them.
        """
        free = [i for i, t in enumerate(self.slots) if t.kind != "falling"]
        chosen = [free, free[:1], free[-1:]] if len(self.slots) > 1 else [free]
        for batched in chosen:
            yield tuple(0 if i in batched else None for i in range(len(self.slots)))

    def tensors(self, example: int, dims: tuple[int | None, ...]) -> list[Any]:
        """One example; a tensor that is not batched is that of the first."""
        chosen = zip(self.examples[example], self.examples[0], dims, strict=True)
        return [to_tautograd(shared if d is None else own) for own, shared, d in chosen]

    def stacked(self, dims: tuple[int | None, ...]) -> list[Any]:
        """All examples at once, each batched tensor stacked along a first dimension."""
        return [
            to_tautograd(column[0] if d is None else np.stack(column))
            for *column, d in zip(*self.examples, dims, strict=True)
        ]

    def run(self, *tensors: Any) -> Any:
        """The sample's call with these tensors in it."""
        left = list(tensors)

        def put(value: Any) -> Any:
            if isinstance(value, T):
                return left.pop(0)
            if type(value) in (list, tuple):
                return type(value)(put(v) for v in value)
            if isinstance(value, dict):
                return {k: put(v) for k, v in value.items()}
            return self.call._made(value)

        args = [put(a) for a in self.sample.args]
        options = {k: put(v) for k, v in self.sample.kwargs.items()}
        return tuple(flatten(self.program(*args, **options), TAUTOGRAD))

    def writes_shared(self, dims: tuple[int | None, ...]) -> bool:
        """Whether a batch is to be written in place into a tensor that all examples share: an error
        on both engines."""
        op = self.call.op
        in_place = op.public_name[-1] == "_" != op.public_name[-2] or op.name in (
            "view_scatter",
            "view_replay",
        )
        return in_place and dims[0] is None and any(d is not None for d in dims[1:])

    def masked(self, dims: tuple[int | None, ...]) -> bool:
        """Whether a mask of their own picks elements for each example: an error on both engines."""
        masks = [t.dtype == "bool" and d is not None for t, d in zip(self.slots, dims, strict=True)]
        return self.call.op.name == "index" and any(masks)

    def wanted(self) -> tuple[int, ...]:
        """The tensors to differentiate with respect to."""
        kinds = "fc"
        return tuple(
            i
            for i, (t, x) in enumerate(zip(self.slots, self.examples[0], strict=True))
            if t.grad and x.dtype.kind in kinds and x.size
        )

    def loss(self, *tensors: Any) -> Any:
        """A real number that depends on every output."""
        total = 0
        for i, out in enumerate(self.run(*tensors)):
            if out.is_floating_point() or out.is_complex():
                weights = np.random.default_rng(i).uniform(0.5, 1.5, tuple(out.shape))
                part = (out * make(np.asarray(weights)).to(out.dtype)).sum()
                total = total + (part.real if part.is_complex() else part)
        return total


@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_forward(name: str, tally: Any) -> None:
    problems = Problems(name)
    for label, batch, dims in _batches(name, DTYPES):
        problems.add(label, _compared(batch.run, batch, dims), batch.dtype)
        tally("batches compared with loops")
    tally("records run under vmap")
    problems.fail_if_any()


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient(name: str, tally: Any) -> None:
    problems = Problems(name)
    if refuses_derivative(name):
        return
    for label, batch, dims in _batches(name, ("float64", "complex128")):
        if batch.wanted():
            gradient = tautograd.func.grad(batch.loss, argnums=batch.wanted())
            problems.add(label, _compared(gradient, batch, dims), batch.dtype)
            tally("batched gradients compared with loops")
    problems.fail_if_any()


def _batches(name: str, dtypes: Any) -> Iterator[tuple[str, Batch, tuple[int | None, ...]]]:
    for i, sample in enumerate(samples_of(name)):
        if any(True for _ in tensors_in(sample)):
            for dtype in dtypes:
                batch = Batch(name, sample, dtype)
                for dims in batch.choices():
                    yield f"sample{i} {sample} in_dims={dims}", batch, dims


def _compared(fn: Callable[..., Any], batch: Batch, dims: tuple[int | None, ...]) -> str | None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            looped = [fn(*batch.tensors(i, dims)) for i in range(EXAMPLES)]
        except Exception:
            return None  # not defined for this dtype, batched or not
        possible = all(isinstance(out, tautograd.Tensor) for out in looped[0])
        try:
            found = tautograd.func.vmap(fn, in_dims=dims)(*batch.stacked(dims))
        except Exception as error:
            if not possible or batch.call.op.name in SHAPE_DEPENDS_ON_VALUES:
                return None
            if batch.writes_shared(dims) and isinstance(error, RuntimeError):
                return None
            if batch.call.op.name in RANDOM and "randomness error mode" in str(error):
                return None  # as it is to be, unless `randomness=` says otherwise
            if batch.masked(dims) and "data-dependent" in str(error):
                return None
            return f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"
    if batch.call.op.name in RANDOM:
        return "random numbers were drawn without asking how"
    if batch.writes_shared(dims):
        return "one tensor was written in place with a batch of values"
    for i, (have, *want) in enumerate(zip(found, *looped, strict=True)):
        if not possible or len({tuple(w.shape) for w in want}) > 1:
            return None
        problem = _difference(have._data, np.stack([w._data for w in want]))
        if problem:
            return f"item {i}: {problem}"
    return None


def _difference(have: Any, want: Any) -> str | None:
    if have.dtype != want.dtype or have.shape != want.shape:
        return f"{have.dtype} {have.shape} for {want.dtype} {want.shape}"
    if want.dtype.kind not in "fc":
        return None if np.array_equal(have, want) else "differs from the loop"
    size = float(np.max(np.abs(want), initial=0.0, where=np.isfinite(want)))
    tolerance = 64 * max(have.shape, default=1) * epsilon(str(want.dtype)) * size
    if np.allclose(have, want, 0, tolerance, equal_nan=True):
        return None
    return f"differs from the loop by {np.nanmax(np.abs(have - want)):.1e} (size {size:.1e})"
