"""All rules, by code. To add one, write its class in a module of a room of this package: nothing else names it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from .base import Rule


def _found() -> Iterator[type[Rule]]:
    """Every class with a code of its own, in the modules of the rooms."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        for member in vars(importlib.import_module(module.name)).values():
            own = isinstance(member, type) and member.__module__ == module.name
            if own and issubclass(member, Rule) and "code" in vars(member):
                yield member


RULES: tuple[type[Rule], ...] = tuple(sorted(_found(), key=lambda rule: rule.code))
