"""Neural networks: so far the functions they are made of."""

from typing import TYPE_CHECKING

from . import functional

__all__ = ["functional"]

if not TYPE_CHECKING:  # type checkers know what there is

    def __getattr__(name: str) -> object:
        from .._nearest import missing_name

        raise AttributeError(missing_name(__name__, name, globals()), name=name)
