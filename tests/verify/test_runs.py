"""How often `verify` runs what it is given: nothing is computed twice, and nothing is left out for that."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np

from tautograd import verify
from tautograd._stand_ins.silence import WithoutWarnings
from tautograd._verify.numerics.evaluate import Values
from tautograd._verify.subject.subject import Subject


def _counted(torch, seen):
    """A function of 512 numbers that counts its runs; verify would put a list back."""
    matrix = torch.linspace(-1, 1, 128, dtype=torch.float64).reshape(8, 16)

    def loss(w):
        seen.runs += 1
        return (matrix @ w).tanh().square().mean()

    w = torch.linspace(-1, 1, 512, dtype=torch.float64).reshape(16, 32)
    return loss, w.requires_grad_()


def test_one_number_of_many_is_verified_in_few_runs(torch):
    seen = SimpleNamespace(runs=0)
    loss, w = _counted(torch, seen)
    report = verify(loss, w, mode="full", confirm=False)
    assert report.verdict == "correct"
    assert seen.runs <= 16
    tried = {check.reference: check.entries for check in report.checks}
    assert tried["central differences"] == 512
    assert tried["linearity"] == 2 * 512
    kinds = report.figures["kinds"]
    assert [len(kinds[k]) for k in ("incoming gradients", "kinds of inputs")] == [7, 7]


def test_points_that_are_expected_lie_behind_those_that_are_asked_for(torch):
    seen = SimpleNamespace(runs=0)
    loss, w = _counted(torch, seen)
    values = Values(Subject(loss, (w,), {}))
    ahead = np.tile(values.subject.row, (3, 1)) * np.array([[1.1], [1.2], [1.3]])
    values.expect(ahead)
    points = values.blank(20, 512)
    points[:] = values.subject.row * np.linspace(0.5, 2, 20)[:, None]
    seen.runs = 0
    found = values(points)
    assert seen.runs == 4  # one batch, and three single runs that it is held against
    beside = values(ahead)
    assert seen.runs == 4
    for point, value in zip([*points, *ahead], [*found, *beside], strict=True):
        np.testing.assert_allclose(value, values._alone(point), rtol=1e-13)


def test_silence_inside_of_silence():
    silent = WithoutWarnings()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with silent:
            with silent:
                warnings.warn("inner", stacklevel=1)
            warnings.warn("outer", stacklevel=1)
        warnings.warn("after", stacklevel=1)
    assert [str(w.message) for w in told] == ["after"]
