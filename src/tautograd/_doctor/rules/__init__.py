"""All rules, by code. To add one, write its class in a module of this package: nothing else names it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from .base import Rule


def _found() -> Iterator[type[Rule]]:
    """Every class with a code of its own, in the modules of this package."""
    for module in pkgutil.iter_modules(__path__):
        members = vars(importlib.import_module(f"{__name__}.{module.name}"))
        for member in members.values():
            own = isinstance(member, type) and member.__module__ == f"{__name__}.{module.name}"
            if own and issubclass(member, Rule) and "code" in vars(member):
                yield member


RULES: tuple[type[Rule], ...] = tuple(sorted(_found(), key=lambda rule: rule.code))
