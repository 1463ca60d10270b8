"""Transforms to vectors and matrices: simplices, triangular matrices, positive definite matrices."""

from __future__ import annotations

import math
from typing import Any

import tautograd as torch
from tautograd import Tensor
from tautograd.nn import functional as F

from .. import constraints
from ..utils import tril_matrix_to_vec, vec_to_tril_matrix
from ._elementwise import clipped_sigmoid
from ._transform import Stateless, Transform


def _require_dims(shape: Any, count: int) -> None:
    if len(shape) < count:
        raise ValueError("Too few dimensions on input")


class CorrCholeskyTransform(Transform):
    """Maps D (D - 1) / 2 real numbers to the Cholesky factor of a D × D correlation matrix.

    The numbers, squashed by tanh, are partial correlations; each row breaks a stick
    of length 1 by their squares, and takes square roots with their signs.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = torch.finfo(x.dtype).eps
        partial = torch.tanh(x).clamp(min=-1 + eps, max=1 - eps)
        r = vec_to_tril_matrix(partial, diag=-1)
        # The rest of the stick before each break: y = sign(r) √(r² · left) = r √left.
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + torch.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * F.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = F.pad((1 - torch.cumsum(y * y, dim=-1))[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2  # tanh's inverse

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        """That of the map from x to the elements below the diagonal, of which there are as many."""
        left = 1 - (y * y).cumsum(dim=-1)
        # From the second diagonal on, shifting by one column means shifting by one break.
        of_sticks = 0.5 * tril_matrix_to_vec(left, diag=-2).log().sum(-1)
        of_tanh = -2 * (x + F.softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return of_sticks + of_tanh

    def forward_shape(self, shape: Any) -> Any:
        """(…, D (D - 1) / 2) to (…, D, D)."""
        _require_dims(shape, 1)
        n = shape[-1]
        d = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if d * (d - 1) // 2 != n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (d, d)

    def inverse_shape(self, shape: Any) -> Any:
        """(…, D, D) to (…, D (D - 1) / 2)."""
        _require_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        d = shape[-1]
        return shape[:-2] + (d * (d - 1) // 2,)


class SoftmaxTransform(Stateless):
    """exp(x), normalised. Many x give the same y: not bijective, but simple to optimise through."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        """The same shape."""
        _require_dims(shape, 1)
        return shape

    inverse_shape = forward_shape


def _offset(like: Tensor, length: int, first: int) -> Tensor:
    """log of first - 1, first - 2, …: offsets that map zero to equal parts."""
    return (first - like.new_ones(length).cumsum(-1)).log()


class StickBreakingTransform(Stateless):
    """Maps n real numbers onto the simplex of n + 1 parts: each breaks off a fraction of the rest."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        n = x.shape[-1]
        z = clipped_sigmoid(x - _offset(x, n, n + 1))
        left = (1 - z).cumprod(-1)
        return F.pad(z, [0, 1], value=1) * F.pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        shares = y[..., :-1]
        # Rounding can make the rest zero or negative.
        left = torch.clamp(1 - shares.cumsum(-1), min=torch.finfo(y.dtype).tiny)
        return shares.log() - left.log() + _offset(y, shares.shape[-1], y.shape[-1])

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Σ log(dz/dx · left), by 1 - σ(x) = exp(-x) σ(x)."""
        n = x.shape[-1]
        x = x - _offset(x, n, n + 1)
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        """One more element."""
        _require_dims(shape, 1)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        """One element fewer."""
        _require_dims(shape, 1)
        return shape[:-1] + (shape[-1] - 1,)


class LowerCholeskyTransform(Stateless):
    """Maps a matrix to a lower triangular one whose diagonal is made positive by exp."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Stateless):
    """Maps a matrix to L Lᵀ, with the L of `LowerCholeskyTransform`."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        triangle = LowerCholeskyTransform()(x)
        return triangle @ triangle.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))
