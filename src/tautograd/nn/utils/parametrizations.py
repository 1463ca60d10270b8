"""Ready-made parametrizations: weight norm, spectral norm, orthogonal."""

from __future__ import annotations

from typing import Any, TypeVar

import tautograd as torch

from ..._ops.declare.python_surface import speak
from ..._ops.nn.weight_norms import _weight_norm, norm_except_dim
from ..._tensor.tensor import Tensor
from .. import functional as F
from ..modules.module import Module
from . import parametrize
from ._orthogonal import _Orthogonal, orthogonal_maps
from .spectral_norm import output_dim

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

Given = TypeVar("Given", bound=Module)


def _tensor_of(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


# --- orthogonal -----------------------------------------------------------------------------------


def orthogonal(
    module: Given,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Given:
    """Keep a matrix orthogonal: by the exponential, the Cayley map or Householder reflections."""
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in orthogonal_maps:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
            f"{orthogonal_map}"
        )
    parametrization = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, parametrization, unsafe=True)
    return module


# --- weight norm ----------------------------------------------------------------------------------


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Any:
        return _weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Given, name: str = "weight", dim: int | None = 0) -> Given:
    """Parametrize a parameter by its length and its direction."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def read_old_names(state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Convert state dicts of the hook of the same name, with `weight_g` and `weight_v`."""
        old = (f"{prefix}{name}_g", f"{prefix}{name}_v")
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                new = f"{prefix}parametrizations.{name}.original{i}"
                state_dict[new] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(read_old_names)
    return module


# --- spectral norm --------------------------------------------------------------------------------


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        rank = weight.ndim
        if dim >= rank or dim < -rank:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{rank}, {rank - 1}] but got "
                f"{dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + rank
        self.eps = eps
        if rank > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            rows, columns = matrix.shape
            u, v = (matrix.new_empty(n).normal_(0, 1) for n in (rows, columns))
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)  # to start from a good estimate

    def _matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.ndim) if d != self.dim))
        return weight.flatten(1)

    def _power_method(self, matrix: Tensor, times: int) -> None:
        with torch.no_grad():
            for _ in range(times):
                product = torch.mv(matrix, self._v)
                self._u = F.normalize(product, dim=0, eps=self.eps, out=self._u)
                product = torch.mv(matrix.H, self._u)
                self._v = F.normalize(product, dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # The graph keeps these; the buffers change in place on the next call.
        u, v = (x.clone(memory_format=torch.contiguous_format) for x in (self._u, self._v))
        return weight / torch.vdot(u, torch.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Given,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Given:
    """Divide a parameter by its largest singular value."""
    weight = _tensor_of(module, name)
    dim = output_dim(module) if dim is None else dim
    parametrization = _SpectralNorm(weight, n_power_iterations, dim, eps)
    parametrize.register_parametrization(module, name, parametrization)
    return module


speak(globals(), __all__)
