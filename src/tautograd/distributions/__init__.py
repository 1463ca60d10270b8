"""Probability distributions, as in `torch.distributions`: draws, densities, gradients through both.

For the same seed the draws are PyTorch's. `rsample` draws numbers that are functions of the
parameters, so that a loss of them can be differentiated; `log_prob` serves where there is no such
function (the score-function estimator of policy gradients).

Each distribution has its own module, in a package for its kind. PyTorch has them all in one package:
the names of its modules (`torch.distributions.normal`) are aliases of the same modules here.
"""

from __future__ import annotations

import sys as _sys

from .._ops.declare.python_surface import speak
from . import constraints, kl, transforms, utils
from ._continuous import (
    beta,
    cauchy,
    chi2,
    continuous_bernoulli,
    exponential,
    fishersnedecor,
    gamma,
    generalized_pareto,
    laplace,
    normal,
    studentT,
    uniform,
    von_mises,
)
from ._continuous.beta import Beta
from ._continuous.cauchy import Cauchy
from ._continuous.chi2 import Chi2
from ._continuous.continuous_bernoulli import ContinuousBernoulli
from ._continuous.exponential import Exponential
from ._continuous.fishersnedecor import FisherSnedecor
from ._continuous.gamma import Gamma
from ._continuous.generalized_pareto import GeneralizedPareto
from ._continuous.laplace import Laplace
from ._continuous.normal import Normal
from ._continuous.studentT import StudentT
from ._continuous.uniform import Uniform
from ._continuous.von_mises import VonMises
from ._derived import (
    gumbel,
    half_cauchy,
    half_normal,
    independent,
    inverse_gamma,
    kumaraswamy,
    log_normal,
    logistic_normal,
    mixture_same_family,
    pareto,
    relaxed_bernoulli,
    relaxed_categorical,
    transformed_distribution,
    weibull,
)
from ._derived.gumbel import Gumbel
from ._derived.half_cauchy import HalfCauchy
from ._derived.half_normal import HalfNormal
from ._derived.independent import Independent
from ._derived.inverse_gamma import InverseGamma
from ._derived.kumaraswamy import Kumaraswamy
from ._derived.log_normal import LogNormal
from ._derived.logistic_normal import LogisticNormal
from ._derived.mixture_same_family import MixtureSameFamily
from ._derived.pareto import Pareto
from ._derived.relaxed_bernoulli import RelaxedBernoulli
from ._derived.relaxed_categorical import RelaxedOneHotCategorical
from ._derived.transformed_distribution import TransformedDistribution
from ._derived.weibull import Weibull
from ._discrete import (
    bernoulli,
    binomial,
    categorical,
    geometric,
    multinomial,
    negative_binomial,
    one_hot_categorical,
    poisson,
)
from ._discrete.bernoulli import Bernoulli
from ._discrete.binomial import Binomial
from ._discrete.categorical import Categorical
from ._discrete.geometric import Geometric
from ._discrete.multinomial import Multinomial
from ._discrete.negative_binomial import NegativeBinomial
from ._discrete.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from ._discrete.poisson import Poisson
from ._multivariate import (
    dirichlet,
    lkj_cholesky,
    lowrank_multivariate_normal,
    multivariate_normal,
    wishart,
)
from ._multivariate.dirichlet import Dirichlet
from ._multivariate.lkj_cholesky import LKJCholesky
from ._multivariate.lowrank_multivariate_normal import LowRankMultivariateNormal
from ._multivariate.multivariate_normal import MultivariateNormal
from ._multivariate.wishart import Wishart
from .constraint_registry import biject_to, transform_to
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .kl import kl_divergence, register_kl
from .transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
]

for _module in [module for module in globals().values() if isinstance(module, type(_sys))]:
    _room, _, _name = _module.__name__.rpartition(".")
    if _room.startswith(f"{__name__}._"):
        _public = f"{__name__}.{_name}"
        _sys.modules[_public] = _module
        for _value in list(vars(_module).values()):
            if isinstance(_value, type) and _value.__module__ == _module.__name__:
                _value.__module__ = _public  # where PyTorch has it, and pickles look for it


speak(
    globals(),
    __all__,
    (
        *(
            "__init__",
            "log_prob",
            "cdf",
            "icdf",
            "sample",
            "rsample",
            "entropy",
            "expand",
            "__call__",
        ),
        *("enumerate_support", "perplexity", "log_abs_det_jacobian"),
    ),
)
