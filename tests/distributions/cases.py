"""The distributions under test, each with several parameters, as data for both engines.

A case names a class of `torch.distributions` and its arguments: arrays become tensors (of the dtype
under test, wanting gradients), all else is passed on. `make` builds what is made of other
distributions from the same arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_rng = np.random.default_rng(20)


def real(*shape: int) -> Any:
    return _rng.uniform(-2, 2, shape)


def positive(*shape: int, low: float = 0.3, high: float = 4.0) -> Any:
    return _rng.uniform(low, high, shape)


def unit(*shape: int) -> Any:
    return _rng.uniform(0.05, 0.95, shape)


def simplex(*shape: int) -> Any:
    weights = positive(*shape)
    return weights / weights.sum(-1, keepdims=True)


def spd(*shape: int) -> Any:
    factor = _rng.normal(size=(*shape, shape[-1]))
    return factor @ factor.swapaxes(-1, -2) + 2 * np.eye(shape[-1])


def tril(*shape: int) -> Any:
    return np.linalg.cholesky(spd(*shape))


class Case:
    """A distribution: its class's name, its arguments, and how it is made of them."""

    def __init__(self, name: str, make: Callable[..., Any] | None = None, **arguments: Any) -> None:
        self.name = name
        self.arguments = arguments
        self.make = make or (lambda D, torch, **given: getattr(D, name)(**given))

    def build(self, torch: Any, dtype: str, grad: bool = False, **more: Any) -> tuple[Any, Any]:
        """The distribution on an engine, and the tensors that it was made of."""
        kind = getattr(torch, dtype)
        given = {
            key: torch.tensor(value, dtype=kind, requires_grad=grad)
            if isinstance(value, np.ndarray | np.floating)
            else value
            for key, value in self.arguments.items()
        }
        distribution = self.make(torch.distributions, torch, **given, **more)
        return distribution, [v for v in given.values() if isinstance(v, torch.Tensor)]

    def __repr__(self) -> str:
        def shown(value: Any) -> str:
            return "x".join(map(str, np.shape(value))) or "number"

        return f"{self.name}({', '.join(f'{k}={shown(v)}' for k, v in self.arguments.items())})"


def _two(name: str, first: tuple[str, Any], second: tuple[str, Any]) -> list[Case]:
    """Two parameters: numbers, vectors, a batch of rows, two shapes that broadcast."""
    (a, one), (b, other) = first, second
    return [
        Case(name, **{a: float(one()), b: float(other())}),
        Case(name, **{a: one(), b: other()}),
        Case(name, **{a: one(3), b: other(3)}),
        Case(name, **{a: one(2, 1), b: other(4)}),
        Case(name, **{a: one(5), b: float(other())}),
    ]


def _one(name: str, parameter: str, values: Any) -> list[Case]:
    return [
        Case(name, **{parameter: float(values())}),
        Case(name, **{parameter: values()}),
        Case(name, **{parameter: values(3)}),
        Case(name, **{parameter: values(2, 3)}),
    ]


def _either(name: str, **more: Any) -> list[Case]:
    """By probabilities, and by logits."""
    return [
        Case(name, **more, probs=unit(3)),
        Case(name, **more, logits=real(2, 3)),
        Case(name, **more, probs=unit()),
        Case(name, **more, logits=real(1, 4)),
    ]


def _classes(name: str, **more: Any) -> list[Case]:
    return [
        Case(name, **more, probs=simplex(4)),
        Case(name, **more, probs=positive(2, 3)),
        Case(name, **more, logits=real(5)),
        Case(name, **more, logits=real(2, 2, 3)),
    ]


def _independent(D: Any, torch: Any, loc: Any, scale: Any, dims: int, **more: Any) -> Any:
    return D.Independent(D.Normal(loc, scale), dims, **more)


def _mixture(D: Any, torch: Any, weights: Any, loc: Any, scale: Any, **more: Any) -> Any:
    components = D.Normal(loc, scale)
    if loc.dim() > weights.dim():
        components = D.Independent(components, 1)
    return D.MixtureSameFamily(D.Categorical(logits=weights), components, **more)


def _logistic(D: Any, torch: Any, loc: Any, scale: Any, **more: Any) -> Any:
    base = D.Uniform(torch.zeros_like(loc), torch.ones_like(loc))
    steps = [D.SigmoidTransform().inv, D.AffineTransform(loc=loc, scale=scale)]
    return D.TransformedDistribution(base, steps, **more)


def _squashed(D: Any, torch: Any, loc: Any, scale: Any, **more: Any) -> Any:
    base = D.Independent(D.Normal(loc, scale), 1)
    return D.TransformedDistribution(base, D.TanhTransform(cache_size=1), **more)


def _reshaped(D: Any, torch: Any, rate: Any, **more: Any) -> Any:
    base = D.Independent(D.Exponential(rate), 1)
    return D.TransformedDistribution(base, D.ReshapeTransform((4,), (2, 2)), **more)


LOC_SCALE = (("loc", real), ("scale", positive))
SHAPES = (("concentration1", positive), ("concentration0", positive))

CASES: list[Case] = [
    *(
        case
        for name in ("Normal", "Cauchy", "Laplace", "Gumbel", "LogNormal")
        for case in _two(name, *LOC_SCALE)
    ),
    *_two("LogisticNormal", *LOC_SCALE),
    *_two("VonMises", ("loc", real), ("concentration", positive))[1:4],
    Case("VonMises", loc=real(2), concentration=np.array([1e-6, 60.0])),
    *_two("Uniform", ("low", real), ("high", lambda *shape: positive(*shape) + 2.5)),
    *_two("Gamma", ("concentration", positive), ("rate", positive)),
    # (Beyond 200, PyTorch's incomplete gamma function is good to ten digits only.)
    Case("Gamma", concentration=np.array([0.05, 0.5, 9.0, 150.0]), rate=positive(4)),
    *_two("InverseGamma", ("concentration", positive), ("rate", positive)),
    *_two("Beta", *SHAPES),
    Case(
        "Beta", concentration1=np.array([0.1, 8.0, 50.0]), concentration0=np.array([0.2, 9.0, 3.0])
    ),
    *_two("Kumaraswamy", *SHAPES),
    *_two(
        "FisherSnedecor",
        ("df1", lambda *s: positive(*s, high=9)),
        ("df2", lambda *s: positive(*s, high=9)),
    ),
    *_two("Pareto", ("scale", positive), ("alpha", positive)),
    *_two("Weibull", ("scale", positive), ("concentration", positive)),
    *(
        case
        for name, parameter in {
            "Exponential": "rate",
            "Poisson": "rate",
            "Chi2": "df",
            "HalfNormal": "scale",
            "HalfCauchy": "scale",
        }.items()
        for case in _one(name, parameter, positive)
    ),
    Case("Poisson", rate=np.array([0.0, 12.0, 400.0])),
    Case("StudentT", df=positive(4)),
    Case("StudentT", df=float(positive()), loc=real(2, 1), scale=positive(3)),
    Case("StudentT", df=np.array([0.5, 1.5, 3.0, 50.0]), loc=0.5),
    Case(
        "GeneralizedPareto",
        loc=real(3),
        scale=positive(3),
        concentration=np.array([-0.3, 0.2, 0.7]),
    ),
    Case("GeneralizedPareto", loc=0.0, scale=positive(2, 1), concentration=unit(3)),
    *_either("Bernoulli"),
    Case("Bernoulli", probs=0.3),
    Case("Bernoulli", probs=np.array([0.0, 1.0, 0.5])),
    *_either("Geometric"),
    *_either("ContinuousBernoulli"),
    Case("ContinuousBernoulli", probs=np.array([0.4995, 0.5, 0.5005, 0.02])),
    *_either("Binomial", total_count=7),
    Case("Binomial", total_count=np.array([1.0, 40.0, 300.0]), probs=unit(3)),
    *_either("NegativeBinomial", total_count=4),
    Case("NegativeBinomial", total_count=positive(3), probs=unit(3)),
    *_classes("Categorical"),
    *_classes("OneHotCategorical"),
    *_classes("OneHotCategoricalStraightThrough"),
    *_classes("Multinomial", total_count=6),
    *_either("RelaxedBernoulli", temperature=np.array(0.7)),
    *_classes("RelaxedOneHotCategorical", temperature=np.array(0.7)),
    Case("Dirichlet", concentration=positive(4)),
    Case("Dirichlet", concentration=positive(2, 3, high=20)),
    Case("Dirichlet", concentration=np.array([[0.05, 0.9, 0.4], [9.0, 30.0, 7.0]])),
    Case("MultivariateNormal", loc=real(3), covariance_matrix=spd(3)),
    Case("MultivariateNormal", loc=real(2, 3), precision_matrix=spd(3)),
    Case("MultivariateNormal", loc=real(3), scale_tril=tril(2, 3)),
    Case("MultivariateNormal", loc=real(4, 1, 2), scale_tril=tril(3, 2)),
    Case("LowRankMultivariateNormal", loc=real(4), cov_factor=real(4, 2), cov_diag=positive(4)),
    Case(
        "LowRankMultivariateNormal", loc=real(3, 4), cov_factor=real(4, 1), cov_diag=positive(3, 4)
    ),
    Case("LKJCholesky", dim=3, concentration=1.0),
    Case("LKJCholesky", dim=4, concentration=positive(2)),
    Case("Independent", _independent, loc=real(2, 3), scale=positive(3), dims=1),
    Case("Independent", _independent, loc=real(2, 3), scale=positive(3), dims=2),
    Case("Independent", _independent, loc=real(2), scale=positive(2), dims=0),
    Case("MixtureSameFamily", _mixture, weights=real(4), loc=real(4), scale=positive(4)),
    Case(
        "MixtureSameFamily",
        _mixture,
        weights=real(2, 3),
        loc=real(2, 3, 2),
        scale=positive(2, 3, 2),
    ),
    Case("TransformedDistribution", _logistic, loc=real(3), scale=positive(3)),
    Case("TransformedDistribution", _squashed, loc=real(2, 3), scale=positive(2, 3)),
    Case("TransformedDistribution", _reshaped, rate=positive(3, 4)),
]

# Every draw of these is made again, with a warning (see `Wishart.rsample`).
WISHART = [
    Case("Wishart", df=np.array(5.0), covariance_matrix=spd(3)),
    Case("Wishart", df=7.0, scale_tril=tril(2)),
    Case("Wishart", df=np.array([4.0, 6.5]), precision_matrix=spd(2, 2)),
]
