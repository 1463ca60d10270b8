"""Linear algebra: norms, factorisations, solvers, determinants."""

from ._ops.declare.public import LINALG

globals().update(LINALG)

__all__ = sorted(LINALG)


def __getattr__(name: str) -> object:
    from ._nearest import missing_name

    raise AttributeError(missing_name(__name__, name, globals()), name=name)
