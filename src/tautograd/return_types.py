"""The types of results that are tuples with names: `return_types.max` and its kin."""

from ._ops.declare.return_types import RETURN_TYPES

globals().update(RETURN_TYPES)


def __getattr__(name: str) -> object:
    from ._nearest import missing_name

    raise AttributeError(missing_name(__name__, name, globals()), name=name)
