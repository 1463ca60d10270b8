"""Neural networks: so far the functions they are made of."""

from . import functional

__all__ = ["functional"]


def __getattr__(name: str) -> object:
    from .._nearest import missing_name

    raise AttributeError(missing_name(__name__, name, globals()), name=name)
