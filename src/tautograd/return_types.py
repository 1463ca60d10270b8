"""The types of results that are tuples with names: `return_types.max` and its kin."""

from ._lazy import named_later as _named_later
from ._ops.declare.return_types import RETURN_TYPES

globals().update(RETURN_TYPES)

__getattr__, __dir__ = _named_later(__name__)
