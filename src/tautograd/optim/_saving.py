"""Converting an optimizer's settings and states to a dictionary, with parameters by index, and back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from .._tensor.tensor import Tensor

Groups = list[dict[str, Any]]


def packed(state: dict[Any, Any], groups: Groups) -> dict[str, Any]:
    """The result of `state_dict`."""
    numbers: dict[int, int] = {}
    packed_groups = []
    start = 0
    for group in groups:
        entry = {k: v for k, v in group.items() if k != "params"}
        numbers.update(
            {id(p): i for i, p in enumerate(group["params"], start) if id(p) not in numbers}
        )
        entry["params"] = [numbers[id(p)] for p in group["params"]]
        start += len(entry["params"])
        packed_groups.append(entry)
    packed_state = {(numbers[id(k)] if isinstance(k, Tensor) else k): v for k, v in state.items()}
    return {"state": packed_state, "param_groups": packed_groups}


def unpacked(state_dict: dict[str, Any], own: Groups) -> dict[str, Any]:
    """The state and groups for an optimizer that has the parameters of the groups `own`."""
    saved = deepcopy(state_dict["param_groups"])
    if len(own) != len(saved):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if [len(g["params"]) for g in own] != [len(g["params"]) for g in saved]:
        raise ValueError(
            "loaded state dict contains a parameter group that doesn't match the size of "
            "optimizer's group"
        )
    by_number = dict(
        zip(
            chain.from_iterable(g["params"] for g in saved),
            chain.from_iterable(g["params"] for g in own),
            strict=True,
        )
    )
    settings = {number: group for group in saved[::-1] for number in group["params"]}
    state: defaultdict[Any, Any] = defaultdict(dict)
    for key, value in state_dict["state"].items():
        if key in by_number:
            state[by_number[key]] = _as_state_of(by_number[key], value, settings[key])
        else:
            state[key] = value
    for group, entry in zip(own, saved, strict=True):
        entry["params"] = group["params"]
        if "param_names" in group and "param_names" not in entry:
            entry["param_names"] = group["param_names"]
    return {"state": state, "param_groups": saved}


def _as_state_of(param: Tensor, value: Any, group: dict[str, Any], key: Any = None) -> Any:
    """Saved state cast to its parameter's dtype; step counts keep theirs."""
    if isinstance(value, Tensor):
        if key == "step":
            fixed = group.get("capturable") or group.get("fused")
            return value.to(_float32()) if fixed else value
        return value.to(param.dtype) if param.is_floating_point() else value
    if isinstance(value, dict):
        return {k: _as_state_of(param, v, group, k) for k, v in value.items()}
    if isinstance(value, Iterable):
        return type(value)(_as_state_of(param, v, group) for v in value)  # type: ignore[call-arg]
    return value


def _float32() -> Any:
    from .._arrays.dtypes import float32

    return float32
