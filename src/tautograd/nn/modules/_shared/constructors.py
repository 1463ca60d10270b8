"""Constructors shared by the classes of a family, each under its own class's name."""

from __future__ import annotations

from types import FunctionType
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type[Any])


def own_constructor(cls: Class) -> Class:
    """Give a class its own copy of the inherited `__init__`: errors about arguments then name the class."""
    shared: Any = cls.__init__
    own = FunctionType(
        shared.__code__,
        shared.__globals__,
        shared.__name__,
        shared.__defaults__,
        shared.__closure__,
    )
    own.__kwdefaults__ = shared.__kwdefaults__
    own.__annotations__ = dict(shared.__annotations__)
    own.__doc__ = shared.__doc__
    own.__module__ = shared.__module__
    own.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = own
    return cls
