"""A training step: a loss that uses a model, as a function of the model's parameters.

"Is this the gradient of that loss by these parameters?" The loss is a function that refers to the
model; it becomes a module that contains the model, so that its parameters are leaves like any others.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

from .engines import engine_of, is_module


def with_parameters_of(loss: Callable[..., Any], models: Any) -> Any:
    """A module that computes the loss and owns these models."""
    owned = list(models) if isinstance(models, (list, tuple)) else [models]
    if is_module(loss):
        raise TypeError("parameters: a module has its own; another's are for a function")
    if not owned or not all(is_module(model) for model in owned):
        raise TypeError(
            "parameters: True, False, or the module (or a list of modules) whose parameters the "
            f"function uses expected, got {type(models).__name__}"
        )
    engine = engine_of(owned)
    base = sys.modules[f"{engine.__name__}.nn"].Module

    class TrainingStep(base):  # type: ignore[misc,valid-type]
        """The loss, containing what it is differentiated by."""

        is_step = True

        def __init__(self) -> None:
            super().__init__()
            for number, model in enumerate(owned):
                self.add_module("model" if len(owned) == 1 else f"model{number}", model)
            self.training = owned[0].training

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return loss(*args, **kwargs)

    with contextlib.suppress(TypeError, ValueError):  # a built-in function may have no signature
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        known = inspect.signature(loss).parameters.values()
        TrainingStep.forward.__signature__ = inspect.Signature([own, *known])  # type: ignore[attr-defined]
    return TrainingStep()
