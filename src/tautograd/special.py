"""Special functions: those of Bessel, the gamma function, the normal distribution, and their kin."""

from ._ops.declare.public import SPECIAL

globals().update(SPECIAL)

__all__ = sorted(SPECIAL)


def __getattr__(name: str) -> object:
    from ._nearest import missing_name

    raise AttributeError(missing_name(__name__, name, globals()), name=name)
