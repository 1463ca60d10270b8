"""Switches of a module: set one by one, several at once, or for the length of a `with` block."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

_UNCHANGED = (None, "none")


class Precision:
    """How float32 products of one kind may be rounded, where a library can round them."""

    fp32_precision = "none"


def switches(
    module: str, **defaults: Any
) -> tuple[Callable[..., tuple[Any, ...]], Callable[..., AbstractContextManager[None]]]:
    """`set_flags` and `flags` of a module whose globals are the switches.

    `defaults` are what `flags()` sets when an argument is left out. `set_flags` takes each name with
    an underscore before it, leaves a switch alone where None is given, and returns what was set before.
    """
    names = tuple(defaults)

    def set_flags(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        given = _bound("set_flags", tuple(f"_{name}" for name in names), args, kwargs)
        here = vars(sys.modules[module])
        before = tuple(here[name] for name in names)
        for name in names:
            value = given.get(f"_{name}")
            if value not in _UNCHANGED:
                here[name] = value
        return before

    @contextmanager
    def flags(*args: Any, **kwargs: Any) -> Iterator[None]:
        """Set the switches inside a `with` block; what was set before comes back."""
        given = {**defaults, **_bound("flags", names, args, kwargs)}
        here = vars(sys.modules[module])
        before = set_flags(*(given[name] for name in names))
        try:
            yield
        finally:
            here.update(zip(names, before, strict=True))

    return set_flags, flags


def _bound(function: str, names: tuple[str, ...], args: Any, kwargs: Any) -> dict[str, Any]:
    """Arguments by name, as Python would bind them."""
    if len(args) > len(names):
        raise TypeError(
            f"{function}() takes {len(names)} positional arguments but {len(args)} were given"
        )
    found = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")
        if name in found:
            raise TypeError(f"{function}() got multiple values for argument '{name}'")
        found[name] = value
    return found
