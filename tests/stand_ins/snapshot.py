"""All that a part of the kit could have replaced, to be compared before and after: every global of every module
and every member of every class of PyTorch, of tautograd, of NumPy and of the standard library."""

from __future__ import annotations

import gc
import importlib
import signal
import sys
import threading
import warnings
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
    return {name: value for name, value in list(vars(owner).items()) if name not in _MOVING}


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
        self.classes: dict[type, dict[str, Any]] = {
            value: {}
            for members in self.modules.values()
            for value in members.values()
            if issubclass(type(value), type) and value.__module__.partition(".")[0] in OWNED
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
            moved = [key for key in members if now.get(key) is not members[key]]
            if after.kinds.get(name, self.kinds[name]) is not self.kinds[name]:
                moved.append("__class__")
            if moved:
                found.append(f"module {name}: {', '.join(sorted(moved))}")
        for kind, members in self.classes.items():
            now = after.classes.get(kind) or _members(kind)
            moved = [key for key in {**members, **now} if now.get(key) is not members.get(key)]
            if moved:
                found.append(f"{kind}: {', '.join(sorted(moved))}")
        return found
