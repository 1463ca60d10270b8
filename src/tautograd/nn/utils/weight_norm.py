"""Weight normalisation as a hook: before each call the weight is computed from length and direction."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

from ..._ops.declare.python_surface import speak
from ..._ops.nn.weight_norms import _weight_norm, norm_except_dim
from ..._user_code.sites import warning_level
from ..modules.module import Module
from ..parameter import Parameter, UninitializedParameter

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

Given = TypeVar("Given", bound=Module)


class WeightNorm:
    """The hook: `weight` = `weight_g` · `weight_v` / |`weight_v`|."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        """The weight from its two parameters."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return _weight_norm(v, g, self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Replace a parameter by its length and direction."""
        warnings.warn(
            "`torch.nn.utils.weight_norm` is deprecated in favor of "
            "`torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
            stacklevel=warning_level(),
        )
        if _find(module, name) is not None:
            raise RuntimeError(
                f"Cannot register two weight_norm hooks on the same parameter {name}"
            )
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure "
                "to run the dummy forward before applying weight normalization"
            )
        del module._parameters[name]
        length = norm_except_dim(weight, 2, hook.dim).data
        module.register_parameter(name + "_g", Parameter(length))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def _find(module: Module, name: str) -> int | None:
    """The id of the hook for a parameter."""
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            return number
    return None


def weight_norm(module: Given, name: str = "weight", dim: int | None = 0) -> Given:
    """Reparametrize a parameter by its length and its direction, `name_g` and `name_v`."""
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Given, name: str = "weight") -> Given:
    """Undo `weight_norm`; the weight keeps its value."""
    number = _find(module, name)
    if number is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    hook: Any = module._forward_pre_hooks.pop(number)
    hook.remove(module)
    return module


speak(globals(), __all__)
