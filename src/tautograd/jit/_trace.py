"""Traces: a function is run once on example inputs, and then called as it is.

What PyTorch's trace would repeat (the branches taken with the examples) is decided anew at each call
here: the result is right for inputs for which PyTorch's trace would be wrong.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from .._autograd.grad_mode import no_grad
from .._tensor.tensor import Tensor
from ..nn.modules.module import Module
from ._script import ScriptFunction, ScriptModule, as_script

__all__ = ["TopLevelTracedModule", "TracedModule", "trace", "trace_module"]


class _Tracing(threading.local):
    depth = 0


tracing = _Tracing()


class TracedModule(ScriptModule):
    """What `trace` makes of a module's submodules."""


class TopLevelTracedModule(ScriptModule):
    """What `trace` makes of a module."""


class ONNXTracedModule(Module):
    """A module that is traced for `torch.onnx`."""

    def __init__(self, inner: Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *args: Any) -> Any:
        return self.inner(*args)


def _call(function: Callable[..., Any], inputs: Any, named: Any) -> Any:
    arguments = (inputs,) if isinstance(inputs, (Tensor, Mapping)) else tuple(inputs or ())
    tracing.depth += 1
    try:
        return function(*arguments, **(named or {}))
    finally:
        tracing.depth -= 1


def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: Any = None,
    _store_inputs: bool = True,
) -> Any:
    """A function or module that was run once on example inputs."""
    if isinstance(func, (ScriptFunction, ScriptModule)):
        return func
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("example_kwarg_inputs should be a dict")
    with no_grad():  # the run only shows that the examples fit
        _call(func, example_inputs, example_kwarg_inputs)
    if isinstance(func, Module):
        return as_script(func, TopLevelTracedModule)
    return ScriptFunction(func)


def trace_module(
    mod: Module,
    inputs: dict[str, Any],
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_inputs_is_kwarg: bool = False,
    _store_inputs: bool = True,
) -> Any:
    """A module of which the named methods were run once on example inputs."""
    if not isinstance(mod, Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    with no_grad():
        for name, given in inputs.items():
            method = mod if name == "forward" else getattr(mod, name)
            _call(method, None if example_inputs_is_kwarg else given,
                  given if example_inputs_is_kwarg else None)  # fmt: skip
    return as_script(mod, TopLevelTracedModule)
