"""Transforms: forward, inverse, Jacobians, shapes, caches, equality; and where registries lead."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch

import tautograd
from tests.both import same

from .comparing import array, assert_alike, both, is_error, lost_digits, outcome

_rng = np.random.default_rng(6)


def _t(engine: Any, *values: Any) -> Any:
    return engine.tensor(np.array(values), dtype=engine.float64)


# A transform and an input of it.
TRANSFORMS: dict[str, tuple[Any, Any]] = {
    "exp": (lambda D, e: D.ExpTransform(), _rng.normal(size=(3, 4))),
    "power": (
        lambda D, e: D.PowerTransform(_t(e, 2.0, -1.0, 0.5, 3.0)),
        _rng.uniform(0.2, 3, (3, 4)),
    ),
    "power of a number": (lambda D, e: D.PowerTransform(2.0), _rng.uniform(0.2, 3, (4,))),
    "sigmoid": (lambda D, e: D.SigmoidTransform(), _rng.normal(size=(3, 4)) * 20),
    "softplus": (lambda D, e: D.SoftplusTransform(), _rng.normal(size=(3, 4)) * 5),
    "tanh": (lambda D, e: D.TanhTransform(), _rng.normal(size=(3, 4))),
    "abs": (lambda D, e: D.AbsTransform(), _rng.normal(size=(3, 4))),
    "affine": (
        lambda D, e: D.AffineTransform(_t(e, 1.0, 2.0), _t(e, 3.0, -4.0)),
        _rng.normal(size=(3, 2)),
    ),
    "affine by numbers": (lambda D, e: D.AffineTransform(1.0, -2.0), _rng.normal(size=(3, 2))),
    "affine event": (
        lambda D, e: D.AffineTransform(1.0, -2.0, event_dim=1),
        _rng.normal(size=(3, 2)),
    ),
    "cholesky of correlations": (lambda D, e: D.CorrCholeskyTransform(), _rng.normal(size=(2, 6))),
    "softmax": (lambda D, e: D.SoftmaxTransform(), _rng.normal(size=(3, 4))),
    "sticks": (lambda D, e: D.StickBreakingTransform(), _rng.normal(size=(3, 4))),
    "triangle": (lambda D, e: D.LowerCholeskyTransform(), _rng.normal(size=(2, 3, 3))),
    "positive definite": (lambda D, e: D.PositiveDefiniteTransform(), _rng.normal(size=(2, 3, 3))),
    "reshape": (lambda D, e: D.ReshapeTransform((4,), (2, 2)), _rng.normal(size=(3, 4))),
    "independent": (
        lambda D, e: D.IndependentTransform(D.ExpTransform(), 1),
        _rng.normal(size=(3, 4)),
    ),
    "composed": (
        lambda D, e: D.ComposeTransform(
            [D.AffineTransform(0.5, 2.0), D.TanhTransform(), D.StickBreakingTransform()]
        ),
        _rng.normal(size=(3, 4)),
    ),
    "nothing": (lambda D, e: D.identity_transform, _rng.normal(size=(3, 4))),
    "inverse": (lambda D, e: D.ExpTransform().inv, _rng.uniform(0.2, 3, (3, 4))),
    "inverse of composed": (
        lambda D, e: D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)]).inv,
        _rng.uniform(1.2, 3, (3, 4)),
    ),
    "joined": (
        lambda D, e: D.CatTransform(
            [D.ExpTransform(), D.identity_transform], dim=-1, lengths=[1, 3]
        ),
        _rng.normal(size=(3, 4)),
    ),
    "joined in an event": (
        lambda D, e: D.CatTransform(
            [D.IndependentTransform(D.ExpTransform(), 1)] * 2, dim=1, lengths=[1, 3]
        ),
        _rng.normal(size=(3, 4)),
    ),
    "stacked": (
        lambda D, e: D.StackTransform(
            [D.ExpTransform(), D.SigmoidTransform(), D.TanhTransform()], dim=0
        ),
        _rng.normal(size=(3, 4)),
    ),
    "cumulative": (
        lambda D, e: D.CumulativeDistributionTransform(D.Normal(0.0, 2.0)),
        _rng.normal(size=(3,)),
    ),
}


def _facts(engine: Any, name: str, dtype: str, cache: int) -> Any:
    make, values = TRANSFORMS[name]
    transform = make(engine.distributions, engine)
    if cache:
        transform = transform.with_cache(1)
    x = engine.tensor(values, dtype=getattr(engine, dtype), requires_grad=True)
    y = transform(x)
    fresh = y.detach().clone()
    found: dict[str, Any] = {
        "y": y,
        "x again": transform.inv(fresh),
        "jacobian": outcome(lambda: transform.log_abs_det_jacobian(x, y)),
        "slope": outcome(lambda: engine.autograd.grad(y.sum(), x, retain_graph=True)[0]),
        "inverse jacobian": outcome(lambda: transform.inv.log_abs_det_jacobian(y, x)),
    }
    if not is_error(found["jacobian"]) and found["jacobian"].requires_grad:
        jacobian = found["jacobian"].sum()
        slopes = engine.autograd.grad(jacobian, x, retain_graph=True, allow_unused=True)
        found["slope of the jacobian"] = [s for s in slopes if s is not None]
    texts = {
        "repr": repr(transform),
        "inverse": repr(transform.inv),
        "bijective": transform.bijective,
        "sign": str(outcome(lambda: transform.sign)),
        "event_dim": str(outcome(lambda: transform.event_dim)),
        "domain": str(outcome(lambda: transform.domain)),
        "codomain": str(outcome(lambda: transform.codomain)),
        "forward": tuple(transform.forward_shape(x.shape)),
        "back": tuple(transform.inverse_shape(y.shape)),
        "twice": transform.inv.inv is transform,
        "cached": transform.inv(y) is x if cache else None,
    }
    return found, texts


@pytest.mark.parametrize("cache", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform(name: str, dtype: str, cache: int) -> None:
    make = TRANSFORMS[name][0]
    mixed = name == "affine" or name == "power"
    if mixed and dtype == "float32":
        dtype = "float64"  # parameters of their own dtype
    theirs, ours = both(lambda engine: _facts(engine, name, dtype, cache))
    single, double = (
        outcome(lambda k=k: _facts(torch, name, k, cache)) for k in ("float32", "float64")
    )
    assert make is not None
    if is_error(theirs):
        assert ours == theirs
        return
    assert {k: str(v).replace("tautograd", "torch") for k, v in ours[1].items()} == {
        k: str(v) for k, v in theirs[1].items()
    }
    for key, wanted in theirs[0].items():
        lost = 0.0
        if isinstance(wanted, torch.Tensor) and not is_error(single):
            lost = lost_digits(array(single[0][key]), array(double[0][key]))
        assert_alike(ours[0][key], wanted, lost, key)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_jacobians_are_right(name: str) -> None:
    """log |det| of the derivative itself, where input and output have one dimension each."""
    make, values = TRANSFORMS[name]
    transform = make(tautograd.distributions, tautograd)
    if not transform.bijective or transform.domain.event_dim != transform.codomain.event_dim:
        return
    x = tautograd.tensor(values, dtype=tautograd.float64, requires_grad=True)
    found = outcome(lambda: transform.log_abs_det_jacobian(x, transform(x)))
    if transform.domain.event_dim == 0 and found.shape == x.shape:
        (slope,) = tautograd.autograd.grad(transform(x).sum(), x)
        saturated = np.abs(array(slope)) < 1e-12
        wanted = np.log(np.abs(np.where(saturated, 1, array(slope))))
        np.testing.assert_allclose(np.where(saturated, 0, array(found)), wanted, atol=1e-8)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_copies_and_equality(name: str) -> None:
    make, values = TRANSFORMS[name]
    transform = make(tautograd.distributions, tautograd)
    x = tautograd.tensor(values, dtype=tautograd.float64)
    for again in (copy.deepcopy(transform), pickle.loads(pickle.dumps(transform))):
        np.testing.assert_array_equal(array(again(x)), array(transform(x)))
        np.testing.assert_array_equal(
            array(again.inv(again(x))), array(transform.inv(transform(x)))
        )


def test_equality_of_all_pairs() -> None:
    def table(engine: Any) -> Any:
        made = [make(engine.distributions, engine) for make, _ in TRANSFORMS.values()]
        again = [make(engine.distributions, engine) for make, _ in TRANSFORMS.values()]
        return [[str(outcome(lambda a=a, b=b: a == b)) for b in again] for a in made]

    theirs, ours = both(table)
    for name, one, other in zip(TRANSFORMS, ours, theirs, strict=True):
        pairs = zip(TRANSFORMS, one, other, strict=True)
        assert all(a == b or "error" in b.lower() for _, a, b in pairs), name


@same
def test_refusals(torch: Any) -> Any:
    D = torch.distributions
    calls = [
        lambda: D.ExpTransform(cache_size=2),
        lambda: D.ReshapeTransform((2,), (3,)),
        lambda: D.ReshapeTransform((2,), (1, 2)).forward_shape(()),
        lambda: D.ReshapeTransform((2,), (1, 2)).forward_shape((3,)),
        lambda: D.StickBreakingTransform().forward_shape(()),
        lambda: D.StickBreakingTransform().inverse_shape(()),
        lambda: D.SoftmaxTransform().forward_shape(()),
        lambda: D.CorrCholeskyTransform().forward_shape((4,)),
        lambda: D.CorrCholeskyTransform().forward_shape(()),
        lambda: D.CorrCholeskyTransform().inverse_shape((2, 3)),
        lambda: D.CorrCholeskyTransform().inverse_shape((2,)),
        lambda: D.IndependentTransform(D.ExpTransform(), 1)(torch.tensor(1.0)),
        lambda: D.IndependentTransform(D.ExpTransform(), 1).inv(torch.tensor(1.0)),
        lambda: D.CatTransform([D.ExpTransform()], lengths=[1, 2]),
        lambda: D.CatTransform(["exp"]),
        lambda: D.CatTransform([D.ExpTransform()], dim=2)(torch.ones(1)),
        lambda: D.CatTransform([D.ExpTransform()])(torch.ones(2)),
        lambda: D.CatTransform([D.ExpTransform()]).inv(torch.ones(2)),
        lambda: D.CatTransform([D.ExpTransform()]).log_abs_det_jacobian(
            torch.ones(2), torch.ones(2)
        ),
        lambda: D.StackTransform(["exp"]),
        lambda: D.StackTransform([D.ExpTransform()])(torch.ones(2, 2)),
        lambda: D.StackTransform([D.ExpTransform()], dim=5).inv(torch.ones(2, 2)),
        lambda: D.AbsTransform().sign,
        lambda: D.AbsTransform().log_abs_det_jacobian(torch.ones(1), torch.ones(1)),
        lambda: D.StickBreakingTransform().sign,
        lambda: D.ReshapeTransform((4,), (2, 2)).event_dim,
        lambda: D.Transform()(torch.ones(1)),
        lambda: D.Transform().inv(torch.ones(1)),
        lambda: hash(D.ExpTransform()),
    ]
    return [outcome(call) for call in calls]


# --- from a constraint to a transform ---------------------------------------------------------------


def _constraints(engine: Any) -> list[Any]:
    c = engine.distributions.constraints
    bound = engine.tensor([0.5, -1.0])
    return [
        c.real, c.positive, c.nonnegative, c.greater_than(2.0), c.greater_than_eq(bound),
        c.less_than(-1.0), c.less_than(bound), c.unit_interval, c.interval(-1.0, 3.0),
        c.half_open_interval(bound, bound + 2), c.simplex, c.corr_cholesky, c.lower_cholesky,
        c.positive_definite, c.positive_semidefinite, c.real_vector,
        c.independent(c.positive, 1), c.cat([c.positive, c.real], 0, [1, 1]),
        c.stack([c.positive, c.unit_interval], 0), c.boolean, c.dependent, c.nonnegative_integer,
    ]  # fmt: skip


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_registries(registry: str) -> None:
    values = {1: [1.0, -0.5], 2: [[0.3, 0.2], [-0.5, 1.0]]}

    def table(engine: Any) -> Any:
        rows = []
        for constraint in _constraints(engine):
            found = outcome(lambda c=constraint: getattr(engine.distributions, registry)(c))
            if is_error(found):
                rows.append(found)
                continue
            rank = 2 if "LowerCholesky" in repr(found) or "PositiveDefinite" in repr(found) else 1
            given = [0.4] if "CorrCholesky" in repr(found) else values[rank]
            y = found(engine.tensor(given))
            assert constraint.check(y).all()
            rows.append([repr(found), y, found.inv(y)])
        return rows

    theirs, ours = both(table)
    assert not is_error(theirs)
    assert not is_error(ours), ours
    for one, other in zip(ours, theirs, strict=True):
        assert_alike(one, other, 10.0)


@same
def test_a_registry_of_the_user(torch: Any) -> Any:
    D = torch.distributions
    registry = D.constraint_registry.ConstraintRegistry()

    class Mine(D.constraints.Constraint):
        pass

    @registry.register(Mine)
    def made(constraint: Any) -> Any:
        return D.ExpTransform()

    registry.register(D.constraints.boolean, lambda c: D.AbsTransform())
    found = [
        repr(registry(Mine())),
        repr(registry(D.constraints.boolean)),
        made(None) == registry(Mine()),
    ]
    for wrong in (3, int):
        with pytest.raises(TypeError, match="Expected constraint to be either"):
            registry.register(wrong, made)
    with pytest.raises(NotImplementedError, match="Cannot transform _Real constraints"):
        registry(D.constraints.real)
    return found
