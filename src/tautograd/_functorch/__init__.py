"""The package `functorch`, which comes with PyTorch: `torch.func` by its first name, and modules as functions.

A module becomes a function of its parameters (`make_functional`), and those of several are stacked, so that `vmap`
runs them all at once (`combine_state_for_ensemble`). PyTorch advises to use `torch.func` instead, and so does the
warning here. What PyTorch traces into its own operators (`make_fx`) is not here.
"""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .. import func
from .._ops.declare.public import FUNCTIONS
from ..nn.modules.module import Module

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "vjp",
    "vmap",
]


def _outdated(name: str, instead: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that first says which one to use instead."""

    @functools.wraps(function)
    def warned(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"`functorch.{name}` is deprecated as of PyTorch 2.0. Please use `{instead}` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    return warned


class FunctionalModuleWithBuffers(Module):
    """A module as a function of its parameters, its buffers and its inputs."""

    def __init__(
        self, stateless_model: Module, names: Sequence[str], buffers: Sequence[str]
    ) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self._of_parameters, self._of_buffers = tuple(names), tuple(buffers)

    def forward(self, params: Any, buffers: Any, *args: Any, **kwargs: Any) -> Any:
        names = (*self._of_parameters, *self._of_buffers)
        state = dict(zip(names, (*params, *buffers), strict=True))
        return func.functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without buffers as a function of its parameters and its inputs."""

    def forward(self, params: Any, *args: Any, **kwargs: Any) -> Any:
        return super().forward(params, (), *args, **kwargs)


def _apart(kind: type[Any], model: Module, disable_autograd_tracking: bool) -> tuple[Any, Any, Any]:
    """A copy of a module as a function, and the copy's parameters and buffers."""
    own = copy.deepcopy(model)
    parameters, buffers = dict(own.named_parameters()), dict(own.named_buffers())
    if disable_autograd_tracking:
        for parameter in parameters.values():
            parameter.requires_grad_(False)
    made = kind(own, tuple(parameters), tuple(buffers))
    return made, tuple(parameters.values()), tuple(buffers.values())


def _make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[Any, Any]:
    """A module without buffers as `f(params, *args)`, and its parameters."""
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use "
            "make_functional_with_buffers(model) instead."
        )
    return _apart(FunctionalModule, model, disable_autograd_tracking)[:2]


def _make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[Any, Any, Any]:
    """A module as `f(params, buffers, *args)`, its parameters and its buffers."""
    return _apart(FunctionalModuleWithBuffers, model, disable_autograd_tracking)


def _combine_state_for_ensemble(models: Sequence[Module]) -> tuple[Any, Any, Any]:
    """The first of several modules as a function, with the parameters and buffers of all, stacked."""
    name = "combine_state_for_ensemble: Expected"
    if len(models) == 0:
        raise RuntimeError(f"{name} at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError(f"{name} all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError(f"{name} all models to be of the same class.")
    made, parameters, buffers = zip(*map(_make_functional_with_buffers, models), strict=True)

    def stacked(of_each: Any) -> Any:
        return tuple(FUNCTIONS["stack"](same).detach() for same in zip(*of_each, strict=True))

    return made[0], stacked(parameters), stacked(buffers)


functionalize = _outdated("functionalize", "torch.func.functionalize", func.functionalize)
grad = _outdated("grad", "torch.func.grad", func.grad)
grad_and_value = _outdated("grad_and_value", "torch.func.grad_and_value", func.grad_and_value)
hessian = _outdated("hessian", "torch.func.hessian", func.hessian)
jacfwd = _outdated("jacfwd", "torch.func.jacfwd", func.jacfwd)
jacrev = _outdated("jacrev", "torch.func.jacrev", func.jacrev)
jvp = _outdated("jvp", "torch.func.jvp", func.jvp)
vjp = _outdated("vjp", "torch.func.vjp", func.vjp)
vmap = _outdated("vmap", "torch.vmap", func.vmap)
make_functional = _outdated("make_functional", "torch.func.functional_call", _make_functional)
make_functional_with_buffers = _outdated(
    "make_functional_with_buffers", "torch.func.functional_call", _make_functional_with_buffers
)
combine_state_for_ensemble = _outdated(
    "combine_state_for_ensemble", "torch.func.stack_module_state", _combine_state_for_ensemble
)
