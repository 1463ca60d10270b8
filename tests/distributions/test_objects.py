"""Distributions as objects: shapes, `repr`, expansion, copies, validation and what it says."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import tautograd
from tests.both import same

from .cases import CASES, WISHART, Case
from .comparing import array, assert_alike, both, is_error, outcome, seed

ALL = [*CASES, *WISHART]
SHOWN = ("batch_shape", "event_shape", "has_rsample", "has_enumerate_support")


def described(distribution: Any) -> Any:
    """All that can be read off a distribution, as text."""
    facts = {name: str(outcome(lambda n=name: getattr(distribution, n))) for name in SHOWN}
    support = outcome(lambda: distribution.support)
    facts["support"] = repr(support)
    facts["discrete"] = repr(outcome(lambda: support.is_discrete))
    facts["event_dim"] = repr(outcome(lambda: support.event_dim))
    facts["constraints"] = repr(outcome(lambda: distribution.arg_constraints))
    return {"repr": repr(distribution), **facts}


@pytest.mark.parametrize("case", ALL, ids=repr)
def test_what_is_shown(case: Case) -> None:
    theirs, ours = both(lambda engine: described(case.build(engine, "float32")[0]))
    for name, text in theirs.items():
        assert ours[name].replace("tautograd", "torch") == text


def _expandable(case: Case) -> bool:
    """In PyTorch an expanded `Multinomial` has lost what its entropy needs."""
    return case.name != "Multinomial"


@pytest.mark.parametrize("case", ALL, ids=repr)
def test_expand(case: Case) -> None:
    def expanded(engine: Any) -> Any:
        distribution = case.build(engine, "float32")[0]
        return distribution.expand((2, 3, *distribution.batch_shape))

    theirs, ours = both(expanded)
    for name, text in described(theirs).items():
        assert described(ours)[name].replace("tautograd", "torch") == text
    for method in ("sample", "entropy", "rsample"):
        seed(4)
        if method == "entropy" and not _expandable(case):
            assert array(ours.entropy()).shape == tuple(ours.batch_shape)
            continue
        wanted, found = outcome(getattr(theirs, method)), outcome(getattr(ours, method))
        if is_error(wanted):
            assert found == wanted
        else:
            assert_alike(found, wanted, 1e4, method)
    values = outcome(lambda: theirs.sample((2,)))
    found = ours.log_prob(tautograd.tensor(array(values)))
    assert_alike(found, theirs.log_prob(values), 1e4)


@pytest.mark.parametrize("case", ALL, ids=repr)
def test_expand_to_another_shape_is_refused(case: Case) -> None:
    for shape in ((7,), (-1, 5)):

        def call(engine: Any, shape: Any = shape) -> Any:
            return described(case.build(engine, "float32")[0].expand(shape))["batch_shape"]

        theirs, ours = both(call)
        if is_error(theirs):
            assert is_error(ours), (shape, ours)
            assert ours[0] == theirs[0]
        else:
            assert ours == theirs


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))]
)
@pytest.mark.parametrize("case", ALL, ids=repr)
def test_copies(case: Case, copied: Any) -> None:
    original = case.build(tautograd, "float64")[0]
    again = copied(original)
    assert type(again) is type(original)
    assert repr(again) == repr(original)
    seed(4)
    drawn = outcome(lambda: original.sample((3,)))
    seed(4)
    np.testing.assert_array_equal(array(outcome(lambda: again.sample((3,)))), array(drawn))
    elsewhere = drawn.clone()  # not the tensor that a transform may have kept
    np.testing.assert_array_equal(
        array(again.log_prob(elsewhere)), array(original.log_prob(elsewhere))
    )


def _spoiled(case: Case) -> Any:
    """The case with one argument after the other made invalid."""
    for name, value in case.arguments.items():
        if isinstance(value, np.ndarray):
            for bad in (np.nan, -1.5):
                spoiled = np.array(value, copy=True)
                spoiled.reshape(-1)[-1] = bad
                yield Case(case.name, case.make, **{**case.arguments, name: spoiled})
        elif isinstance(value, float):
            yield Case(case.name, case.make, **{**case.arguments, name: -1.5})


@pytest.mark.parametrize("case", ALL, ids=repr)
def test_wrong_parameters(case: Case) -> None:
    for spoiled in _spoiled(case):
        theirs, ours = both(lambda engine, s=spoiled: repr(s.build(engine, "float32")[0]))
        if is_error(theirs) and "linalg" in theirs[1]:
            assert ours[0] == theirs[0]
        else:
            assert ours == theirs, spoiled.arguments
        unchecked = both(lambda e, s=spoiled: repr(s.build(e, "float32", validate_args=False)[0]))
        assert is_error(unchecked[0]) == is_error(unchecked[1])


@pytest.mark.parametrize("case", ALL, ids=repr)
def test_wrong_values(case: Case) -> None:
    """Outside the support, of a shape that does not fit, no tensor."""
    values = array(outcome(lambda: case.build(torch, "float32")[0].sample((3,))))
    wrong = [np.full_like(values, fill) for fill in (-3, 7)]
    if values.dtype.kind == "f":
        wrong += [np.full_like(values, fill) for fill in (np.nan, 0.25)]
    wrong += [values[..., None, None], values[..., :1], np.zeros((11, 13), values.dtype)]
    for value in wrong:

        def call(engine: Any, value: Any = value) -> Any:
            return case.build(engine, "float32")[0].log_prob(engine.tensor(value))

        theirs, ours = both(call)
        if is_error(theirs):
            assert is_error(ours), value
            assert ours[0] == theirs[0]
            if theirs[0] == "ValueError":
                assert ours == theirs
        else:
            assert_alike(ours, theirs, 1e5)
    theirs, ours = both(lambda engine: case.build(engine, "float32")[0].log_prob("text"))
    assert ours[0] == theirs[0]


@same
def test_validation_can_be_turned_off(torch: Any) -> Any:
    D = torch.distributions
    default = D.Distribution._validate_args
    try:
        D.Distribution.set_default_validate_args(False)
        off = D.Normal(0.0, -1.0)
        D.Distribution.set_default_validate_args(True)
        with pytest.raises(ValueError, match="Expected parameter scale"):
            D.Normal(0.0, -1.0)
        with pytest.raises(ValueError):
            D.Distribution.set_default_validate_args("yes")
    finally:
        D.Distribution.set_default_validate_args(default)
    once = D.Uniform(torch.tensor(0.0), 1.0, validate_args=False)
    return off.mean, once.log_prob(torch.tensor(2.0)), once.expand((2,))._validate_args


@same
def test_subclasses_of_the_user(torch: Any) -> Any:
    D = torch.distributions

    class Shifted(D.Normal):
        def __init__(self, shift: float) -> None:
            super().__init__(shift, 1.0)

    class Plain(D.Normal):
        pass

    class Own(D.Distribution):
        arg_constraints: ClassVar[Any] = {}

    class Undeclared(D.Distribution):
        def __init__(self) -> None:
            super().__init__(torch.Size([2]))

    with pytest.raises(
        NotImplementedError, match=r"Subclass Shifted of Normal that defines a custom"
    ):
        Shifted(1.0).expand((2,))
    for name in ("mean", "variance", "stddev", "mode", "support"):
        with pytest.raises(NotImplementedError):
            getattr(Own(), name)
    for name in ("rsample", "sample", "entropy", "perplexity", "enumerate_support"):
        with pytest.raises(NotImplementedError):
            getattr(Own(), name)()
    for name in ("log_prob", "cdf", "icdf", "expand"):
        with pytest.raises(NotImplementedError):
            getattr(Own(), name)(torch.zeros(()))
    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        undeclared = Undeclared()
    with pytest.warns(UserWarning, match="does not define `support`"):
        Own()._validate_sample(torch.zeros(()))
    return repr(Plain(0.0, 1.0).expand((2,))), undeclared.batch_shape, repr(Own())


@same
def test_sample_n_is_deprecated(torch: Any) -> Any:
    torch.manual_seed(0)
    with pytest.warns(FutureWarning, match="will be deprecated"):
        return torch.distributions.Normal(torch.zeros(2), 1.0).sample_n(3)


@same
def test_refused_arguments(torch: Any) -> Any:
    D, t = torch.distributions, torch.tensor
    calls = [
        D.Bernoulli,
        lambda: D.Bernoulli(0.5, 0.5),
        lambda: D.Categorical(t(1.0)),
        lambda: D.Categorical(logits=t(1.0)),
        lambda: D.Dirichlet(t(1.0)),
        lambda: D.Normal("a", 1.0),
        lambda: D.LKJCholesky(1),
        lambda: D.Multinomial(t([1, 2]), t([0.5, 0.5])),
        lambda: D.MultivariateNormal(t(0.0), torch.eye(2)),
        lambda: D.MultivariateNormal(torch.zeros(2)),
        lambda: D.MultivariateNormal(torch.zeros(2), torch.eye(2), torch.eye(2)),
        lambda: D.MultivariateNormal(torch.zeros(2), scale_tril=torch.ones(2)),
        lambda: D.MultivariateNormal(torch.zeros(2), covariance_matrix=torch.ones(2)),
        lambda: D.MultivariateNormal(torch.zeros(2), precision_matrix=torch.ones(2)),
        lambda: D.LowRankMultivariateNormal(torch.zeros(2), torch.zeros(2), torch.ones(2)),
        lambda: D.LowRankMultivariateNormal(torch.zeros(2), torch.zeros(3, 1), torch.ones(2)),
        lambda: D.LowRankMultivariateNormal(torch.zeros(2), torch.zeros(2, 1), torch.ones(3)),
        lambda: D.LowRankMultivariateNormal(torch.zeros(3, 2), torch.zeros(4, 2, 1), torch.ones(2)),
        lambda: D.Independent(D.Normal(torch.zeros(2), 1.0), 2),
        lambda: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(torch.zeros(2), 1.0)),
        lambda: D.MixtureSameFamily(D.Categorical(torch.ones(2)), "components"),
        lambda: D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.zeros(3), 1.0)),
        lambda: D.MixtureSameFamily(
            D.Categorical(torch.ones(3, 2)), D.Normal(torch.zeros(4, 2), 1.0)
        ),
        lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), "t"),
        lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), ["t"]),
        lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform()),
        lambda: D.Wishart(t(3.0)),
        lambda: D.Wishart(t(3.0), torch.ones(2)),
        lambda: D.Wishart(t(1.0), torch.eye(3)),
        lambda: D.Geometric(t([0.0, 0.5])),
        lambda: D.ContinuousBernoulli(t([1.5]), validate_args=True),
        lambda: D.Independent(D.Bernoulli(torch.ones(2)), 1).enumerate_support(),
        lambda: D.Binomial(t([1, 2]), t([0.5, 0.5])).enumerate_support(),
        lambda: D.Binomial(t([1, 2]), t([0.5, 0.5])).entropy(),
        lambda: D.utils.vec_to_tril_matrix(torch.ones(4)),
        lambda: D.utils.tril_matrix_to_vec(torch.ones(2, 2), 5),
    ]
    return [outcome(call) for call in calls]


def test_wishart_draws_have_gradients() -> None:
    """PyTorch's cannot be differentiated: it changes the mask that backward needs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        df = tautograd.tensor(5.0, requires_grad=True)
        tautograd.manual_seed(0)
        drawn = tautograd.distributions.Wishart(df, tautograd.eye(2)).rsample((3,))
        (slope,) = tautograd.autograd.grad(drawn.sum(), df)
    assert np.isfinite(slope.item())
    assert slope.item() != 0


@same
def test_a_covariance_with_nan_is_refused(torch: Any) -> Any:
    """Without validation, by the factorization itself: NaN is no positive pivot."""
    found = []
    for place in ((0, 0), (1, 0), (2, 1), (2, 2)):
        matrix = torch.eye(3)
        matrix[place] = torch.nan
        found.append(torch.linalg.cholesky_ex(matrix).info)
        with pytest.raises(RuntimeError, match="not positive-definite"):
            torch.distributions.MultivariateNormal(
                torch.zeros(3), covariance_matrix=matrix, validate_args=False
            )
    return found
