"""All that a part of the kit could have replaced, to be compared before and after: every global of every module
and every member of every class of PyTorch, of tautograd, of NumPy and of the standard library."""

from __future__ import annotations

import gc
import importlib
import operator
import signal
import sys
import threading
import warnings
from collections.abc import Iterable
from typing import Any

import torch

import tautograd

ENGINES = {"torch": torch, "tautograd": tautograd}
OWNED = {"torch", "tautograd", "numpy", *sys.stdlib_module_names}

# What Python and PyTorch themselves write down there as they go.
_MOVING = {
    "last_exc",
    "last_type",
    "last_value",
    "last_traceback",
    "_onceregistry",
    "_filters_version",
    "next_id",  # of hooks
}


def _modules() -> dict[str, Any]:
    return {
        name: module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in OWNED and hasattr(module, "__dict__")
    }


def _members(owner: Any) -> dict[str, Any]:
    """Every name, with what is there: held, so that nothing else can come to have its identity."""
    found = vars(owner).copy()
    for name in found.keys() & _MOVING:
        del found[name]
    return found


class _IsMeta(dict[type, bool]):
    """Whether what is of a type is a class, by that type: nothing is asked of the object itself."""

    def __missing__(self, kind: type) -> bool:
        self[kind] = issubclass(kind, type)
        return self[kind]


def _moved(before: dict[str, Any], now: dict[str, Any], names: Iterable[str]) -> list[str]:
    """Which of the names stand for something else. Mostly none do, and all stand in the same order."""
    if (
        len(before) == len(now)
        and all(map(operator.is_, before.values(), now.values()))
        and all(map(operator.eq, before, now))
    ):
        return []
    return [name for name in names if now.get(name) is not before.get(name)]


def _hooks(engine: Any) -> dict[str, int]:
    """How many hooks for all modules and optimizers there are."""
    found = {}
    for path in ("nn.modules.module", "optim.optimizer"):
        module = importlib.import_module(f"{engine.__name__}.{path}")
        for name, value in vars(module).items():
            if name.startswith("_global") and hasattr(value, "__len__"):
                found[f"{path}.{name}"] = len(value)
    return found


def _modes(engine: Any) -> list[Any]:
    overrides = importlib.import_module(f"{engine.__name__}.overrides")
    return list(overrides._get_current_function_mode_stack())


def _state() -> dict[str, Any]:
    """What is not the name of anything."""
    found: dict[str, Any] = {
        "meta path": list(sys.meta_path),
        "path": list(sys.path),
        "filters of warnings": list(warnings.filters),
        "profile and trace": (sys.getprofile(), sys.gettrace()),
        "of new threads": (threading.getprofile(), threading.gettrace()),
        "garbage collection": (gc.isenabled(), list(gc.callbacks)),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
    }
    for name, engine in ENGINES.items():
        found[f"hooks of {name}"] = _hooks(engine)
        found[f"modes of {name}"] = _modes(engine)
        found[f"anomaly of {name}"] = (
            engine.is_anomaly_enabled(),
            engine.is_anomaly_check_nan_enabled(),
        )
    return found


class Snapshot:
    """How everything is now."""

    def __init__(self) -> None:
        self.state = _state()
        modules = _modules()
        self.kinds = {name: type(module) for name, module in modules.items()}
        self.modules = {name: _members(module) for name, module in modules.items()}
        is_meta = _IsMeta()
        found = {
            value
            for members in self.modules.values()
            for value in members.values()
            if is_meta[type(value)]
        }
        self.classes: dict[type, dict[str, Any]] = {
            kind: {} for kind in found if kind.__module__.partition(".")[0] in OWNED
        }
        for kind in self.classes:
            self.classes[kind] = _members(kind)

    def differences(self, after: Snapshot) -> list[str]:
        """What is not as it was, in words."""
        found = [
            f"{key}: {value} -> {after.state[key]}"
            for key, value in self.state.items()
            if value != after.state[key]
        ]
        for name, members in self.modules.items():
            # A module may load more of its parts when they are asked for, and be taken out itself.
            now = after.modules.get(name, members)
            moved = _moved(members, now, members)
            if after.kinds.get(name, self.kinds[name]) is not self.kinds[name]:
                moved.append("__class__")
            if moved:
                found.append(f"module {name}: {', '.join(sorted(moved))}")
        for kind, members in self.classes.items():
            now = after.classes.get(kind) or _members(kind)
            moved = _moved(members, now, {**members, **now})
            if moved:
                found.append(f"{kind}: {', '.join(sorted(moved))}")
        return found
