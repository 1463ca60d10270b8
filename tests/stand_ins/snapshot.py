"""All that a part of the kit could have replaced, to be compared before and after."""

from __future__ import annotations

import builtins
import importlib
import json
import math
import random
import sys
import warnings
from typing import Any

import numpy as np
import torch

import tautograd

ENGINES = {"torch": torch, "tautograd": tautograd}


def _parts(engine: Any) -> list[Any]:
    """Modules and classes of an engine whose names anybody might replace."""
    part = lambda path: importlib.import_module(f"{engine.__name__}.{path}")  # noqa: E731
    optimizer, schedulers = part("optim.optimizer"), part("optim.lr_scheduler")
    modules = [
        engine, engine.nn, engine.optim, engine.autograd, engine.nn.functional, engine.nn.utils,
        engine.nn.init, optimizer, schedulers, part("nn.utils.clip_grad"),
        part("nn.modules.module"), part("amp.grad_scaler"), part("overrides"), part("random"),
        part("utils.checkpoint"), part("func"),
    ]  # fmt: skip
    classes = [
        engine.Tensor, engine.nn.Parameter, engine.nn.Module, engine.nn.Linear, engine.nn.Dropout,
        engine.Generator, engine.autograd.Function, optimizer.Optimizer, engine.optim.SGD,
        engine.optim.Adam, schedulers.LRScheduler, schedulers.StepLR, schedulers.ReduceLROnPlateau,
        part("amp.grad_scaler").GradScaler,
    ]  # fmt: skip
    return modules + classes


OWNERS = [
    *_parts(torch), *_parts(tautograd), math, json, json.JSONEncoder, json.JSONDecoder, builtins,
    importlib, random, random.Random, np, np.random, sys, warnings,
]  # fmt: skip
# What Python and PyTorch themselves write down there as they go.
_MOVING = {
    "last_exc",
    "last_type",
    "last_value",
    "last_traceback",
    "_onceregistry",
    "_filters_version",
}


def _names(owner: Any) -> dict[str, int]:
    return {name: id(value) for name, value in vars(owner).items() if name not in _MOVING}


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


def snapshot() -> dict[str, Any]:
    """Every name of every owner, by identity, and the state around them."""
    found: dict[str, Any] = {}
    for owner in OWNERS:
        found[f"{type(owner).__name__} {getattr(owner, '__qualname__', owner.__name__)} of "
              f"{getattr(owner, '__module__', '')}"] = _names(owner)  # fmt: skip
    found["kinds"] = [type(owner) for owner in OWNERS]
    found["meta path"] = list(sys.meta_path)
    found["filters"] = list(warnings.filters)
    found["profile"] = sys.getprofile(), sys.gettrace()
    for name, engine in ENGINES.items():
        found[f"hooks of {name}"] = _hooks(engine)
        found[f"modes of {name}"] = _modes(engine)
        found[f"anomaly of {name}"] = (
            engine.is_anomaly_enabled(), engine.is_anomaly_check_nan_enabled(),
        )  # fmt: skip
    return found


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What is not as it was, in words."""
    found = []
    for key, one in before.items():
        other = after[key]
        if one == other:
            continue
        if isinstance(one, dict):
            names = [n for n in {**one, **other} if one.get(n) != other.get(n)]
            if key.startswith(
                "module "
            ):  # which may load more of its parts when they are asked for
                names = [n for n in names if n in one]
            if names:
                found.append(f"{key}: {', '.join(sorted(names))}")
        else:
            found.append(f"{key}: {one} -> {other}")
    return found


def everywhere() -> dict[str, dict[str, int]]:
    """Every global of every module that is loaded."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith(("_pytest", "pluggy", "pytest", "hypothesis", "xdist", "execnet")):
            continue
        try:
            found[name] = {key: id(value) for key, value in list(vars(module).items())}
        except TypeError:
            continue
    return found
