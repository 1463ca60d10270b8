"""The available targets, by name."""

from __future__ import annotations

import importlib
import pkgutil

from fuzz import targets
from fuzz.target import Target


def find_targets() -> dict[str, Target]:
    """Every target in `fuzz/targets`, by its name."""
    modules = sorted(info.name for info in pkgutil.iter_modules(targets.__path__))
    found = [importlib.import_module(f"fuzz.targets.{name}") for name in modules]
    return {m.TARGET.name: m.TARGET for m in found if hasattr(m, "TARGET")}


def target_named(name: str) -> Target:
    """The target with this name."""
    return find_targets()[name]
