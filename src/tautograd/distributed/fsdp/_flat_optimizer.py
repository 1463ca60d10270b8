"""An optimizer's state of `FullyShardedDataParallel`, keyed by name, and converted back for each rank's optimizer."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

import tautograd as torch

from ..._tensor.tensor import make
from .._groups import get_rank
from .._objects import all_gather_object, broadcast_object_list
from ..checkpoint.chunks import is_spread
from ._flat_states import plain, spread
from .api import OptimStateKeyType


def _units(model: Any) -> list[Any]:
    from .fully_sharded_data_parallel import FullyShardedDataParallel

    units = FullyShardedDataParallel.fsdp_modules(model)
    if len({unit._use_orig_params for unit in units}) > 1:
        raise AssertionError("Not all FSDP modules have the same _use_orig_params value")
    return [unit for unit in units if unit._handle is not None]


class _Names:
    """The names of the optimizer's parameters: several for a flat one, one for any other."""

    def __init__(self, model: Any) -> None:
        paths = {id(module): plain(f"{path}.") for path, module in model.named_modules()}
        self.pieces: dict[
            int, list[tuple[str, Any]]
        ] = {}  # of each parameter that the optimizer has
        self.handles: list[tuple[Any, list[str]]] = []
        for unit in _units(model):
            handle, names = unit._handle, []
            for piece in handle.pieces:
                path = paths[id(piece.owners[0][0])]
                names.append(("" if path == "." else path) + piece.owners[0][1])
            self.handles.append((unit, names))
            held = list(zip(names, handle.pieces, strict=True))
            for place, one in enumerate(handle.visible):
                self.pieces[id(one.parameter)] = [held[place]] if handle.original else held
        for name, parameter in model.named_parameters():
            self.pieces.setdefault(id(parameter), [(plain(name), None)])

    def of(self, parameter: Any) -> list[str]:
        return [name for name, _ in self.pieces[id(parameter)]]


def _listed(optimizer: Any) -> list[Any]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def given(
    model: Any, optimizer: Any, state: Any, *, whole: bool, rank0_only: bool
) -> dict[str, Any]:
    """The state, keyed by name."""
    names, state = _Names(model), optimizer.state_dict() if state is None else state
    listed = _listed(optimizer)
    by_parameter = {id(p): state["state"].get(i) for i, p in enumerate(listed)}
    found: dict[str, Any] = {}
    managed = set()
    for unit, own in names.handles:
        managed |= {id(one.parameter) for one in unit._handle.visible}
        found.update(_gathered(unit, own, by_parameter, whole))
    for parameter in listed:
        one = by_parameter[id(parameter)]
        if id(parameter) not in managed and one:
            found[names.of(parameter)[0]] = dict(one)
    groups = [
        {**{k: v for k, v in group.items() if k != "params"},
         "params": [name for i in group["params"] for name in names.of(listed[i])]}
        for group in state["param_groups"]
    ]  # fmt: skip
    order = [name for group in groups for name in group["params"] if name in found]
    if rank0_only and get_rank() != 0:
        return {}
    return {"state": {name: found[name] for name in order}, "param_groups": groups}


def _gathered(unit: Any, names: list[str], states: dict[int, Any], whole: bool) -> dict[str, Any]:
    """What the ranks of a unit have of each of its parameters, put together."""
    handle = unit._handle
    mine: dict[int, dict[str, Any]] = {}
    for place, one in enumerate(handle.visible):
        if states.get(id(one.parameter)):
            size = one.stop - one.start
            mine[place] = {
                key: value.dtype if _is_line(value, size) else copy.copy(value)
                for key, value in states[id(one.parameter)].items()
            }
    told: list[Any] = [mine]
    if handle.ranks > 1:
        told = [None] * handle.ranks
        all_gather_object(told, mine, handle.group)
    keys: dict[int, dict[str, Any]] = {}
    for one_rank in told:
        for place, entries in one_rank.items():
            keys.setdefault(place, {}).update(entries)
    found: dict[str, Any] = {}
    lines = sorted(
        {key for e in keys.values() for key, v in e.items() if isinstance(v, torch.dtype)}
    )
    whole_lines = {key: _line(handle, states, keys, key) for key in lines}
    for index, (name, piece) in enumerate(zip(names, handle.pieces, strict=True)):
        entries = keys.get(index if handle.original else 0)
        if entries is None:
            continue
        found[name] = {}
        for key, value in entries.items():
            if isinstance(value, torch.dtype):
                part = whole_lines[key][piece.start : piece.stop].reshape(piece.shape)
                tensor = make(np.array(part)).to(value)
                found[name][key] = tensor if whole else spread(unit, tensor)
            else:
                found[name][key] = copy.copy(value)
    return found


def _is_line(value: Any, size: int) -> bool:
    """Whether a state has one number per number of the parameter."""
    return isinstance(value, torch.Tensor) and value.dim() > 0 and value.numel() == size


def _line(handle: Any, states: dict[int, Any], keys: dict[int, Any], key: str) -> Any:
    dtype = next(e[key] for e in keys.values() if isinstance(e.get(key), torch.dtype))
    own = np.zeros(handle.chunk, dtype.numpy)
    for one in handle.visible:
        value = (states.get(id(one.parameter)) or {}).get(key)
        if value is not None and _is_line(value, one.stop - one.start):
            own[one.start : one.stop] = value.detach()._data.reshape(-1)
    return handle._all(own)


def taken(model: Any, optimizer: Any, state: Any, rank0_only: bool) -> dict[str, Any]:
    """A state keyed by name, in the form of this rank's optimizer."""
    if optimizer is None:
        raise ValueError("optim: which optimizer is the state for?")
    if rank0_only:
        table = [state if get_rank() == 0 else None]
        broadcast_object_list(table, 0)
        state = table[0]
    names, listed = _Names(model), _listed(optimizer)
    handles = {
        id(one.parameter): (unit._handle, one)
        for unit, _ in names.handles
        for one in unit._handle.visible
    }
    made: dict[int, Any] = {}
    for i, parameter in enumerate(listed):
        pieces = names.pieces[id(parameter)]
        stored = {name: state["state"][name] for name, _ in pieces if name in state["state"]}
        if not stored:
            continue
        if id(parameter) not in handles:
            made[i] = dict(stored[pieces[0][0]])
            continue
        handle, one = handles[id(parameter)]
        made[i] = _cut(handle, one, pieces, stored)
    groups = []
    place = 0
    saved = {name: group for group in state["param_groups"] for name in group["params"]}
    for group in optimizer.param_groups:
        ids = list(range(place, place + len(group["params"])))
        place += len(ids)
        own = {name for p in group["params"] for name in names.of(p)}
        theirs = next((saved[name] for name in sorted(own) if name in saved), group)
        groups.append({**{k: v for k, v in theirs.items() if k != "params"}, "params": ids})
    return {"state": made, "param_groups": groups}


def _cut(handle: Any, one: Any, pieces: list[tuple[str, Any]], stored: dict[str, Any]) -> Any:
    """This rank's part of the whole states of parameters that lie in one visible parameter."""
    first = next(iter(stored.values()))
    result: dict[str, Any] = {}
    for key, value in first.items():
        if not (isinstance(value, torch.Tensor) and value.dim() > 0):
            result[key] = copy.copy(value)
            continue
        line = np.zeros(handle.chunk * handle.ranks, value.dtype.numpy)
        for name, piece in pieces:
            if name in stored:
                tensor = stored[name][key]
                tensor = tensor.full_tensor() if is_spread(tensor) else tensor
                if tuple(tensor.shape) != piece.shape:
                    raise ValueError(
                        f"optim_state_dict: {key} of {name} has shape {tuple(tensor.shape)}, the parameter "
                        f"{piece.shape}"
                    )
                line[piece.start : piece.stop] = tensor.detach()._data.reshape(-1)
        own = handle._cut(line)[one.start : one.stop].reshape(one.shape)
        result[key] = make(np.array(own))
    return result


def rekeyed(state: dict[str, Any], kind: Any, model: Any, optimizer: Any) -> dict[str, Any]:
    """A state with its parameters keyed by name or by index."""
    if kind not in (OptimStateKeyType.PARAM_NAME, OptimStateKeyType.PARAM_ID):
        raise AssertionError(
            f"Expected optim_state_key_type to be PARAM_NAME or PARAM_ID, got {kind}"
        )
    keys = list(state["state"])
    by_name = kind is OptimStateKeyType.PARAM_NAME
    if len({type(key) for key in keys}) > 1:
        raise ValueError(f"Invalid parameter keys: {state['state'].keys()}")
    if all(isinstance(key, str) == by_name for key in keys):
        return state
    named = {id(p): plain(name) for name, p in model.named_parameters()}
    listed = list(model.parameters()) if optimizer is None else _listed(optimizer)
    names = [named[id(p)] for p in listed]
    table: dict[Any, Any] = (
        dict(enumerate(names)) if by_name else {name: i for i, name in enumerate(names)}
    )
    groups = copy.deepcopy(state["param_groups"])
    for group in groups:
        group["params"] = sorted(table[key] for key in group["params"])
    return {
        "state": {table[key]: value for key, value in state["state"].items()},
        "param_groups": groups,
    }
