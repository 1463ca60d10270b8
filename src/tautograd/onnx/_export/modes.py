"""The mode in which a model is exported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..enums import TrainingMode


@contextmanager
def select_model_mode_for_export(model: Any, mode: Any) -> Iterator[None]:
    """A context that puts a model into its export mode, and restores the mode of each part afterwards."""
    if not isinstance(mode, TrainingMode):
        raise TypeError(
            f"'mode' should be a torch.onnx 'TrainingMode' enum, but got '{type(mode)}'."
        )
    if mode is TrainingMode.PRESERVE or not hasattr(model, "modules"):
        yield
        return
    before = [(module, module.training) for module in model.modules()]
    model.train(mode is TrainingMode.TRAINING)
    try:
        yield
    finally:
        for module, training in before:
            module.training = training
