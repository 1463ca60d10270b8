"""States of a model and its optimizers under the parameters' own names, however the model is wrapped or sharded.

A state saved this way can be loaded into a model that is wrapped differently: names contain nothing of the wrapper, and
an optimizer's state is keyed by its parameter's name, not by its index.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import tautograd as torch

from .._exchanges import broadcast
from .._groups import get_rank, is_initialized
from .chunks import is_spread

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]


@dataclass
class StateDictOptions:
    """What a state should contain."""

    full_state_dict: bool = False
    """Whole tensors instead of shards; with `cpu_offload` only on rank 0."""
    cpu_offload: bool = False
    """Tensors in CPU memory."""
    ignore_frozen_params: bool = False
    """Omit parameters that do not require grad."""
    keep_submodule_prefixes: bool = True
    strict: bool = True
    """Whether every name must be on both sides."""
    broadcast_from_rank0: bool = False
    """Whole tensors that only rank 0 has."""
    flatten_optimizer_state_dict: bool = False


def _checked(options: StateDictOptions | None) -> StateDictOptions:
    found = options or StateDictOptions()
    if found.flatten_optimizer_state_dict:
        raise ValueError(
            "flatten_optimizer_state_dict: states are kept by parameter; leave it False"
        )
    if found.broadcast_from_rank0 and not found.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return found


# --- names ----------------------------------------------------------------------------------------


def _plain(model: Any, name: str) -> str:
    """A name without the wrappers on its path."""
    kept, module = [], model
    for part in name.split("."):
        wraps = isinstance(module, torch.nn.parallel.DistributedDataParallel) and part == "module"
        if not wraps:
            kept.append(part)
        module = getattr(module, "_modules", {}).get(part)
    return ".".join(kept)


def _names(model: Any) -> dict[int, str]:
    return {id(p): _plain(model, name) for name, p in model.named_parameters()}


def _all(optimizers: Any) -> list[Any]:
    return list(optimizers) if isinstance(optimizers, Iterable) else [optimizers]


# --- giving ---------------------------------------------------------------------------------------


def _given(value: Any, options: StateDictOptions) -> Any:
    if isinstance(value, dict):
        return {key: _given(one, options) for key, one in value.items()}
    if not isinstance(value, torch.Tensor):
        return value
    found: Any = value.detach()
    if options.full_state_dict and is_spread(found):
        found = found.full_tensor()
    return found.cpu() if options.cpu_offload else found


def _for_this_rank(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """A whole state on the CPU exists on rank 0 only: one copy is enough."""
    one = options.full_state_dict and options.cpu_offload and is_initialized() and get_rank() != 0
    return {} if one else state


def get_model_state_dict(
    model: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The model's state by plain names."""
    wanted = _checked(options)
    frozen = {n for n, p in model.named_parameters() if not p.requires_grad}
    state = {
        _plain(model, name): _given(value, wanted)
        for name, value in model.state_dict().items()
        if not (wanted.ignore_frozen_params and name in frozen)
    }
    return _for_this_rank(state, wanted)


def _begun(optimizer: Any) -> None:
    """Make the states that the first step would create, by a step that changes nothing."""
    groups = optimizer.param_groups
    params = [p for group in groups for p in group["params"] if p.requires_grad]
    if optimizer.state or any(p.grad is not None for p in params):
        return
    rates = [group["lr"] for group in groups]
    for param in params:
        param.grad = torch.zeros_like(param)
    for group in groups:
        group["lr"] = torch.tensor(0.0) if isinstance(group["lr"], torch.Tensor) else 0.0
    optimizer.step()
    for group, rate in zip(groups, rates, strict=True):
        group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def get_optimizer_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The optimizers' states by the parameters' plain names."""
    wanted, names = _checked(options), _names(model)
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _all(optimizers):
        _begun(optimizer)
        for group in optimizer.param_groups:
            for param in group["params"]:
                if param in optimizer.state:
                    state[names[id(param)]] = _given(dict(optimizer.state[param]), wanted)
            groups.append({**group, "params": [names[id(param)] for param in group["params"]]})
    return _for_this_rank({"state": state, "param_groups": groups}, wanted)


def get_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a model and of its optimizers."""
    return (
        get_model_state_dict(model, options=options),
        get_optimizer_state_dict(model, optimizers, options=options),
    )


# --- taking ---------------------------------------------------------------------------------------


def _taken(value: Any, like: Any, options: StateDictOptions) -> Any:
    """A value in the model's form: a whole tensor is cut where the model's is sharded."""
    if not isinstance(like, torch.Tensor):
        return value
    if options.broadcast_from_rank0:
        here = get_rank() == 0
        whole: Any = value.contiguous() if here else torch.empty(like.shape, dtype=like.dtype)
        broadcast(whole, 0)
        value = whole
    if is_spread(like) and not is_spread(value):
        from ..tensor import distribute_tensor

        lies: Any = like
        return distribute_tensor(value, lies.device_mesh, lies.placements)
    return value


def set_model_state_dict(
    model: Any, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Load a state under plain names into the model; returns the names that did not match."""
    wanted = _checked(options)
    own = {_plain(model, name): (name, value) for name, value in model.state_dict().items()}
    if wanted.broadcast_from_rank0:
        model_state_dict = {name: model_state_dict.get(name) for name in own}
    found = {}
    for name, value in model_state_dict.items():
        key, like = own.get(name, (name, None))
        found[key] = _taken(value, like, wanted)
    return model.load_state_dict(found, strict=wanted.strict)


def set_optimizer_state_dict(
    model: Any,
    optimizers: Any,
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Load states under the parameters' plain names into the optimizers."""
    wanted, names = _checked(options), _names(model)
    given = optim_state_dict
    if wanted.broadcast_from_rank0 and is_initialized():
        from .._objects import broadcast_object_list

        table = [{"param_groups": given["param_groups"]} if get_rank() == 0 else None]
        broadcast_object_list(table, 0)
        given = {"state": given.get("state", {}), **(table[0] or {})}
    groups = {name: group for group in given["param_groups"] for name in group["params"]}
    for optimizer in _all(optimizers):
        _begun(optimizer)
        made = optimizer.state_dict()
        for index, param in enumerate(p for g in optimizer.param_groups for p in g["params"]):
            if index in made["state"]:
                stored = given["state"].get(names[id(param)], {})
                made["state"][index] = {
                    key: _taken(stored.get(key, like), like, wanted)
                    for key, like in made["state"][index].items()
                }
        for own, group in zip(made["param_groups"], optimizer.param_groups, strict=True):
            theirs = groups[names[id(group["params"][0])]]
            own.update({key: value for key, value in theirs.items() if key != "params"})
        optimizer.load_state_dict(made)


def set_state_dict(
    model: Any,
    optimizers: Any,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Load states into a model and its optimizers; returns the model's names that did not match."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
