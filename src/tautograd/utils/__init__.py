"""Helpers around training: checkpointing, hook handles."""

from typing import TYPE_CHECKING

from . import checkpoint, data, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks"]

if not TYPE_CHECKING:  # type checkers know what there is

    def __getattr__(name: str) -> object:
        from .._nearest import missing_name

        raise AttributeError(missing_name(__name__, name, globals()), name=name)
