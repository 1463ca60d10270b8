"""Gradients far from where the samples lie: a rule that is wrong only for large inputs is wrong.

Samples are small, so that differences are accurate. Here the tensors of an elementwise operation go
over both signs and five orders of magnitude, and gradients are compared with PyTorch's in double
precision. What is not finite must not be on either (but for poles that PyTorch rounds away, of
functions whose exact value `exact` knows).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tautograd._ops.declare.record import REGISTRY

from .cases import RECORDS, TAUTOGRAD, TORCH, Call, is_elementwise, samples_of, tensors_in
from .exact import EXACT
from .measure import measure

_MAGNITUDES = np.geomspace(1.1e-3, 53.0, 23)
SWEEP = np.concatenate([-_MAGNITUDES[::-1], _MAGNITUDES])
FAR = np.array([-2000.0, -800.0, -100.0, -3.0, -0.5, 0.0, 0.5, 3.0, 100.0, 800.0, 2000.0])
# Of the largest gradient in the sweep's row: functions lose digits where their condition is large.
TOLERANCE = 1e-7


def _sample(name: str) -> Any:
    """A sample whose tensors are plain numbers of the dtype under test."""
    for sample in samples_of(name):
        tensors = list(tensors_in(sample))
        if tensors and all(t.dtype is None and t.kind == "uniform" for t in tensors):
            return sample
    return None


def _swept(name: str) -> bool:
    op = REGISTRY.get(name)
    return op is not None and op.differentiable and is_elementwise(op) and bool(_sample(name))


def _gradients(
    engine: Any, name: str, across: bool, order: int = 1, sweep: np.ndarray = SWEEP
) -> dict[str, np.ndarray]:
    """Gradients of an order by each input; `across` each other, all pairs of values meet."""
    sample = _sample(name)
    tensors = list(tensors_in(sample))
    shapes = [tuple(len(sweep) if d == i else 1 for d in range(len(tensors))) for i in range(4)]
    if not across:
        shapes = [(len(sweep),)] * 4
    before = [(t.shape, t.grad) for t in tensors]
    try:
        for t, shape in zip(tensors, shapes, strict=False):
            t.shape, t.grad = shape, True
        call = Call(engine, REGISTRY[name], sample, "float64", True)
    finally:
        for t, (shape, grad) in zip(tensors, before, strict=True):
            t.shape, t.grad = shape, grad
    for tensor, shape in zip(call.tensors, shapes, strict=False):
        values = engine.tensor(sweep.reshape(shape).copy())
        with engine.no_grad():
            tensor.copy_(values)
    outcome = measure(call, order)
    if outcome.error is not None:
        raise outcome.error
    start = ("grad", "second")[order - 1]
    return {key: v.array for key, v in outcome.items.items() if key.startswith(start) and v}


@pytest.mark.parametrize("name", [n for n in RECORDS if _swept(n)])
def test_gradients_far_from_the_samples(name: str, tally: Any) -> None:
    across = name != "clamp_tensor"  # PyTorch's rule for it does not undo broadcasting
    try:
        expected = _gradients(TORCH, name, across)
    except Exception as error:  # there is no derivative
        with pytest.raises(type(error)):
            _gradients(TAUTOGRAD, name, across)
        return
    found = _gradients(TAUTOGRAD, name, across)
    assert found.keys() == expected.keys()
    for theirs, ours in ((expected[key], found[key]) for key in expected):
        both = np.isfinite(theirs) & np.isfinite(ours)
        alike = both | (theirs == ours) | (np.isnan(theirs) & np.isnan(ours))
        assert alike.all() or name in EXACT, (theirs[~alike][:4], ours[~alike][:4])
        scale = np.abs(theirs[both]) + np.max(np.abs(theirs[both]), initial=0) * 1e-9
        wrong = np.abs(theirs[both] - ours[both]) > TOLERANCE * scale
        assert not wrong.any(), (theirs[both][wrong][:4], ours[both][wrong][:4])
        tally("gradients compared far from the samples", int(both.sum()))


@pytest.mark.parametrize("name", [n for n in RECORDS if _swept(n) and n not in EXACT])
def test_second_gradients_are_finite_where_pytorchs_are(name: str) -> None:
    """Far enough out for an exponential to overflow: 0 times infinity is what goes wrong there."""
    across = name != "clamp_tensor"
    try:
        expected = _gradients(TORCH, name, across, 2, FAR)
    except Exception:  # there is no second derivative, here or in PyTorch alone
        return
    found = _gradients(TAUTOGRAD, name, across, 2, FAR)
    for key in expected.keys() & found.keys():
        lost = np.isfinite(expected[key]) & ~np.isfinite(found[key])
        assert not lost.any(), (key, np.argwhere(lost)[:4], expected[key][lost][:4])
