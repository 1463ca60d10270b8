"""Constraints: what each of them allows, how it is shown, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.both import same

from .comparing import assert_alike, both, is_error, outcome

_rng = np.random.default_rng(8)
_square = _rng.normal(size=(4, 2, 2))
_symmetric = _square @ _square.swapaxes(-1, -2)
_triangle = np.linalg.cholesky(_symmetric + np.eye(2))
_unit_rows = _triangle / np.linalg.norm(_triangle, axis=-1, keepdims=True)

VALUES = {
    "numbers": np.array([-2.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, np.inf, -np.inf, np.nan]),
    "whole": np.arange(-3, 5),
    "vectors": np.array(
        [[0.25, 0.75], [0.0, 1.0], [1.0, 1.0], [-0.5, 1.5], [np.nan, 1.0], [2.0, 3.0]]
    ),
    "square": _square,
    "symmetric": np.concatenate([_symmetric, -_symmetric, 0 * _symmetric]),
    "triangles": np.concatenate([_triangle, -_triangle, _unit_rows, _square]),
    "oblong": _rng.normal(size=(2, 2, 3)),
    "scalar": np.array(0.5),
}


def _all(engine: Any) -> dict[str, Any]:
    c = engine.distributions.constraints
    bound = engine.tensor([0.0, 1.0])
    named = {n: getattr(c, n) for n in c.__all__ if isinstance(getattr(c, n), c.Constraint)}
    return {
        **named,
        "greater_than": c.greater_than(0.25),
        "greater_than_eq": c.greater_than_eq(0.25),
        "less_than": c.less_than(bound),
        "interval": c.interval(-0.5, 0.5),
        "half_open_interval": c.half_open_interval(0.0, bound),
        "integer_interval": c.integer_interval(-1, 2),
        "multinomial": c.multinomial(3),
        "independent": c.independent(c.positive, 1),
        "twice": c.independent(c.independent(c.real, 1), 1),
        "cat": c.cat([c.positive, c.real], -1, [1, 1]),
        "stack": c.stack([c.positive, c.real], -1),
        "mixture": c.MixtureSameFamilyConstraint(c.interval(bound, 2.0)),
        "mixture of vectors": c.MixtureSameFamilyConstraint(c.simplex),
        "dependent on": c.dependent(is_discrete=True, event_dim=1),
    }


def test_names() -> None:
    theirs, ours = both(lambda engine: sorted(_all(engine)))
    assert ours == theirs


@pytest.mark.parametrize("values", VALUES)
def test_checks(values: str) -> None:
    def table(engine: Any) -> Any:
        value = engine.tensor(VALUES[values])
        found = {}
        for name, constraint in _all(engine).items():
            found[name] = outcome(lambda c=constraint: c.check(value))
        return found

    theirs, ours = both(table)
    for name, wanted in theirs.items():
        if is_error(wanted) and wanted[0] not in ("ValueError", "AssertionError"):
            assert is_error(ours[name]), name
            assert ours[name][0] == wanted[0], name
        else:
            assert_alike(ours[name], wanted, what=name)


def test_what_is_shown() -> None:
    def table(engine: Any) -> Any:
        found = _all(engine)
        c = engine.distributions.constraints
        return {
            name: [
                repr(constraint),
                str(outcome(lambda k=constraint: k.is_discrete)),
                str(outcome(lambda k=constraint: k.event_dim)),
                c.is_dependent(constraint),
            ]
            for name, constraint in found.items()
        }

    theirs, ours = both(table)
    assert ours == theirs


@same
def test_refusals(torch: Any) -> Any:
    c = torch.distributions.constraints
    calls = [
        lambda: c.independent(3, 1),
        lambda: c.independent(c.real, 1.5),
        lambda: c.independent(c.real, -1),
        lambda: c.MixtureSameFamilyConstraint("real"),
        lambda: c.cat(["real"]),
        lambda: c.cat([c.real], 0, [1, 2]),
        lambda: c.stack(["real"]),
        lambda: c.cat([c.real], 3).check(torch.ones(1)),
        lambda: c.stack([c.real], 3).check(torch.ones(1)),
        lambda: c.Constraint().check(torch.ones(1)),
        lambda: c.dependent.check(torch.ones(1)),
        lambda: c.real_vector.check(torch.tensor(1.0)),
    ]
    return [outcome(call) for call in calls]


@same
def test_a_property_that_depends(torch: Any) -> Any:
    c = torch.distributions.constraints

    class Holder:
        def __init__(self, bound: float) -> None:
            self.bound = bound

        @c.dependent_property(is_discrete=False, event_dim=0)
        def support(self) -> Any:
            return c.greater_than(self.bound)

        @c.dependent_property
        def other(self) -> Any:
            return c.real

    on_class = Holder.support
    with pytest.raises(NotImplementedError, match="event_dim cannot be determined"):
        Holder.other.event_dim
    return (
        c.is_dependent(on_class),
        on_class.event_dim,
        repr(Holder(2.0).support),
        repr(Holder(1.0).other),
    )
