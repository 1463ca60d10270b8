"""Spectral normalisation as a hook: before each call the weight is divided by its largest singular
value, which power iteration keeps track of."""

from __future__ import annotations

from typing import Any, TypeVar

import tautograd as torch

from ..._ops.declare.python_surface import speak
from ..._tensor.tensor import Tensor
from .. import functional as F
from ..modules.module import Module
from ..parameter import Parameter, UninitializedParameter

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]

Given = TypeVar("Given", bound=Module)


class SpectralNorm:
    """The hook: `weight` = `weight_orig` / σ, with σ = uᵀ W v."""

    _version = 1  # 1: v is saved, too; version 0 recomputed it from u

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight with one row per index along `dim`."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.ndim) if d != self.dim))
        return weight.reshape(weight.shape[0], -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The normalised weight; updates u and v if requested."""
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with torch.no_grad():
                for _ in range(self.n_power_iterations):
                    v = F.normalize(torch.mv(matrix.t(), u), dim=0, eps=self.eps, out=v)
                    u = F.normalize(torch.mv(matrix, v), dim=0, eps=self.eps, out=u)
                # The graph keeps these; the buffers change in place on the next call.
                u, v = (x.clone(memory_format=torch.contiguous_format) for x in (u, v))
        normalised: Tensor = weight / torch.dot(u, torch.mv(matrix, v))
        return normalised

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        with torch.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for end in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def _solve_v_and_rescale(self, matrix: Tensor, u: Tensor, sigma: Tensor) -> Tensor:
        """The v with u = W v, scaled so that uᵀ W v = σ."""
        v = torch.linalg.multi_dot(
            [matrix.t().mm(matrix).pinverse(), matrix.t(), u.unsqueeze(1)]
        ).squeeze(1)
        return v.mul_(sigma / torch.dot(u, torch.mv(matrix, v)))

    @staticmethod
    def apply(
        module: Module, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Replace a parameter by its original and the vectors u and v."""
        if _find(module._forward_pre_hooks, SpectralNorm, name) is not None:
            raise RuntimeError(
                f"Cannot register two spectral_norm hooks on the same parameter {name}"
            )
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make "
                "sure to run the dummy forward before applying spectral normalization"
            )
        with torch.no_grad():
            rows, columns = hook.reshape_weight_to_matrix(weight).shape
            u = F.normalize(weight.new_empty(rows).normal_(0, 1), dim=0, eps=eps)
            v = F.normalize(weight.new_empty(columns).normal_(0, 1), dim=0, eps=eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class _StateHook:
    """What both state dict hooks know: the parameter they belong to."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    @property
    def name(self) -> str:
        """The parameter's name."""
        return self.fn.name


class SpectralNormLoadStateDictPreHook(_StateHook):
    """Reads state dicts of version 0, which had no v."""

    def __call__(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        version = local_metadata.get("spectral_norm", {}).get(self.name + ".version", None)
        if version is not None and version >= 1:
            return
        key = prefix + self.name
        new_keys = all(key + end in state_dict for end in ("_orig", "_u", "_v"))
        if version is None and new_keys and key not in state_dict:
            return
        missing = [key + end for end in ("_orig", "", "_u") if key + end not in state_dict]
        if missing:
            if strict:
                missing_keys.extend(missing)
            return
        with torch.no_grad():
            original = state_dict[key + "_orig"]
            sigma = (original / state_dict.pop(key)).mean()
            matrix = self.fn.reshape_weight_to_matrix(original)
            u = state_dict[key + "_u"]
            state_dict[key + "_v"] = self.fn._solve_v_and_rescale(matrix, u, sigma)


class SpectralNormStateDictHook(_StateHook):
    """Writes the version into the metadata of a state dict."""

    def __call__(
        self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]
    ) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def _find(hooks: dict[int, Any], kind: Any, name: str) -> int | None:
    """The id of the hook of this kind for a parameter."""
    for number, hook in hooks.items():
        hook = getattr(hook, "hook", hook)  # loading hooks are wrapped
        if isinstance(hook, kind) and hook.name == name:
            return number
    return None


def output_dim(module: Module) -> int:
    """The output dimension of a weight: 1 for transposed convolutions."""
    return 1 if getattr(module, "transposed", False) else 0


def spectral_norm(
    module: Given,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Given:
    """Divide a parameter by its largest singular value on each call."""
    dim = output_dim(module) if dim is None else dim
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: Given, name: str = "weight") -> Given:
    """Undo `spectral_norm`; the weight keeps its value."""
    number = _find(module._forward_pre_hooks, SpectralNorm, name)
    if number is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    module._forward_pre_hooks.pop(number).remove(module)  # type: ignore[attr-defined]
    for hooks, kind in (
        (module._state_dict_hooks, SpectralNormStateDictHook),
        (module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook),
    ):
        number = _find(hooks, kind, name)
        if number is not None:
            del hooks[number]
    return module


speak(globals(), __all__)
