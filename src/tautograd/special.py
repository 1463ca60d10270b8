"""Special functions: those of Bessel, the gamma function, the normal distribution, and their kin."""

from ._lazy import named_later as _named_later
from ._ops.declare.public import SPECIAL

globals().update(SPECIAL)

__all__ = sorted(SPECIAL)

__getattr__, __dir__ = _named_later(__name__)
