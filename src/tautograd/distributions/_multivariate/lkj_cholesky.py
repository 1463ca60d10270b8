"""The LKJ distribution of correlation matrices, by their Cholesky factors.

Lewandowski, Kurowicka and Joe (2009), "Generating random correlation matrices based on vines and
extended onion method".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Size, Tensor

from .. import constraints
from .._continuous.beta import Beta
from ..distribution import Distribution
from ..utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Triangular matrices L for which L Lᵀ is a `dim` × `dim` correlation matrix, of density |L Lᵀ|^(η
    - 1).

    For a `concentration` η of 1, all correlation matrices are equally likely.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _expanded = ("concentration",)
    _parts = ("_beta",)
    _kept = ("dim",)

    def __init__(
        self,
        dim: int,
        concentration: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # The onion method: the squared length of each row before its diagonal is a beta number.
        kind: dict[str, Any] = {
            "dtype": self.concentration.dtype,
            "device": self.concentration.device,
        }
        offset = torch.arange(dim - 1, **kind)
        offset = torch.cat([offset.new_zeros((1,)), offset])
        marginal = (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1)
        self._beta = Beta(offset + 0.5, marginal - 0.5 * offset)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draw row by row: a direction, a length, and the diagonal that normalises the row."""
        y = self._beta.sample(sample_shape).unsqueeze(-1)
        shape = self._extended_shape(sample_shape)
        normal = torch.randn(shape, dtype=y.dtype, device=y.device).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)  # the first row has no direction
        w = torch.sqrt(y) * direction
        left = torch.clamp(1 - torch.sum(w**2, dim=-1), min=torch.finfo(w.dtype).tiny)
        w += torch.diag_embed(left.sqrt())
        return w

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density: of the matrix, plus the change of variables to its factor.

        |L Lᵀ|^(η - 1) is Π L_ii^(2η - 2), and the Jacobian Π L_ii^(dim - i).
        """
        self._check(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        rows = torch.arange(2, self.dim + 1, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - rows
        unnormalized = torch.sum(powers * diagonal.log(), dim=-1)
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        # Page 1999 of the paper; its power of π is that of `mvlgamma` and this one.
        pi_power = 0.5 * less * math.log(math.pi)
        normalizer = pi_power + torch.mvlgamma(alpha - 0.5, less) - torch.lgamma(alpha) * less
        return unnormalized - normalizer
