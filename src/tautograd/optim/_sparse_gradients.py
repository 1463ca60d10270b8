"""Steps along sparse gradients: SGD, Adagrad and SparseAdam accept them, all other optimizers refuse.

Only rows that have a gradient are updated, element by element as PyTorch does.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays.sparse.coo import CooArray
from .._autograd.views import bump
from .._tensor.tensor import Tensor, make


def dense_only(optimizer: Any, group: dict[str, Any]) -> dict[str, Any]:
    """Update the parameters whose gradients are sparse; returns the group without them."""
    sparse = [p for p in group["params"] if p._grad is not None and _is_sparse(p)]
    if not sparse:
        return group
    update = _UPDATES.get(type(optimizer).__name__)
    for p in sparse:
        if update is None:
            optimizer._check_dense(p)
        else:
            update(optimizer.state[p], p, p._grad._data, group)
            bump(p)
    return {**group, "params": [p for p in group["params"] if p not in set(sparse)]}


def _is_sparse(p: Tensor) -> bool:
    return isinstance(p._grad._data, CooArray)


def _number(value: Any) -> float:
    return float(value.item() if isinstance(value, Tensor) else value)


def _add(target: Any, places: Any, values: Any) -> None:
    """Add a sparse array's elements to a dense array, in the order in which they are listed."""
    np.add.at(target, tuple(places), values.astype(target.dtype, copy=False))


def _sgd(state: dict[str, Any], p: Tensor, g: CooArray, group: dict[str, Any]) -> None:
    if group["maximize"]:
        g = -g
    if _number(group["weight_decay"]) != 0:
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if group["momentum"] != 0:
        before = state.get("momentum_buffer")
        if before is None:
            total = g.copy()
        else:
            total = before._data * group["momentum"] + g * (1 - group["dampening"])
        state["momentum_buffer"] = make(total)
        g = g + total * group["momentum"] if group["nesterov"] else total
    rate = np.asarray(-_number(group["lr"]), g.dtype)
    _add(p._data, g.indices, g.values * rate)


def _adagrad(state: dict[str, Any], p: Tensor, g: CooArray, group: dict[str, Any]) -> None:
    if group["weight_decay"] != 0:
        raise RuntimeError("weight_decay option is not compatible with sparse gradients")
    state["step"] += 1
    rate = _number(group["lr"]) / (1 + (_number(state["step"]) - 1) * group["lr_decay"])
    g = (-g if group["maximize"] else g).coalesce()
    total = state["sum"]
    _add(total._data, g.indices, g.values**2)
    bump(total)
    spread = np.sqrt(total._data[tuple(g.indices)]) + np.asarray(group["eps"], g.dtype)
    _add(p._data, g.indices, g.values / spread * np.asarray(-rate, g.dtype))


def _sparse_adam(state: dict[str, Any], p: Tensor, g: CooArray, group: dict[str, Any]) -> None:
    g = (-g if group["maximize"] else g).coalesce()
    if not state:
        state["step"] = 0
        state["exp_avg"] = make(np.zeros_like(p._data))
        state["exp_avg_sq"] = make(np.zeros_like(p._data))
    state["step"] += 1
    if not g.nnz:
        return
    kind = g.dtype.type
    places = tuple(g.indices)
    (b1, b2), step = group["betas"], state["step"]
    moved = {}
    for name, value, keep in (("exp_avg", g.values, b1), ("exp_avg_sq", g.values**2, b2)):
        average = state[name]
        old = average._data[places]
        update = (value - old) * kind(1 - keep)
        _add(average._data, g.indices, update)
        bump(average)
        moved[name] = update + old
    spread = np.sqrt(moved["exp_avg_sq"]) + kind(group["eps"])
    size = _number(group["lr"]) * math.sqrt(1 - b2**step) / (1 - b1**step)
    _add(p._data, g.indices, moved["exp_avg"] / spread * kind(-size))


_UPDATES = {"SGD": _sgd, "Adagrad": _adagrad, "SparseAdam": _sparse_adam}
