"""Helpers around training: checkpointing, hook handles."""

from . import checkpoint, dlpack, hooks

__all__ = ["checkpoint", "dlpack", "hooks"]


def __getattr__(name: str) -> object:
    from .._nearest import missing_name

    raise AttributeError(missing_name(__name__, name, globals()), name=name)
