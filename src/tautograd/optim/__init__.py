"""Optimizers: how parameters follow their gradients."""

from .adam import Adam, AdamW
from .optimizer import Optimizer

__all__ = ["Adam", "AdamW", "Optimizer"]


def __getattr__(name: str) -> object:
    from .._nearest import missing_name

    raise AttributeError(missing_name(__name__, name, globals()), name=name)
