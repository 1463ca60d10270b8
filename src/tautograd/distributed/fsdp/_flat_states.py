"""Saving and loading `state_dict` of `FullyShardedDataParallel`: whole tensors, flat shards, or sharded tensors."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ...nn.modules.module import Module
from .._groups import get_rank
from ..checkpoint.chunks import is_spread
from .api import StateDictType

WRAPPED = "_fsdp_wrapped_module"


def plain(name: str) -> str:
    """A parameter's name without the wrappers on its path."""
    return name.replace(f"{WRAPPED}.", "").replace("_checkpoint_wrapped_module.", "")


def spread(unit: Any, whole: Any) -> Any:
    """A tensor that every rank has, sharded along its first dimension."""
    from ..device_mesh import DeviceMesh
    from ..tensor import Shard, distribute_tensor
    from ..tensor.placement_types import REPLICATE

    mesh = unit._device_mesh
    if mesh is None:
        mesh = unit.__dict__.get("_own_mesh")
        if mesh is None:
            mesh = unit.__dict__["_own_mesh"] = DeviceMesh("cpu", list(unit.process_group.ranks))
    if not whole.dim():
        return whole
    placements = (*(REPLICATE,) * (mesh.ndim - 1), Shard(0))
    return distribute_tensor(whole, mesh, placements, src_data_rank=None)


def given(
    unit: Any, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
) -> Any:
    """The result of `unit.state_dict()`."""
    if args:
        destination = args[0] if destination is None else destination
        prefix = args[1] if len(args) > 1 and prefix == "" else prefix
        keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    kind, handle = unit._state_dict_type, unit._handle
    if kind is StateDictType.LOCAL_STATE_DICT:
        _check_local(unit)
        handle.release()
        return Module.state_dict(unit.module, destination=destination, prefix=prefix, keep_vars=keep_vars)  # fmt: skip
    before = set(destination)
    summoned = handle is not None and not handle.shows_whole
    if summoned:
        handle.summon(False, False)
    try:
        unit.module.state_dict(destination=destination, prefix=prefix, keep_vars=keep_vars)
        if handle is not None:
            _own(unit, destination, prefix, summoned)
    finally:
        if summoned:
            handle.dismiss(False)
    if getattr(unit._state_dict_config, "rank0_only", False) and get_rank() != 0:
        for name in set(destination) - before:
            del destination[name]
    return destination


def _own(unit: Any, destination: Any, prefix: str, summoned: bool) -> None:
    """Add this unit's parameters, in the form that is set; buffers in their original dtype."""
    for piece in unit._handle.pieces:
        for name in _names(unit, piece):
            value = destination.get(prefix + name)
            if value is not None and unit._state_dict_type is StateDictType.SHARDED_STATE_DICT:
                destination[prefix + name] = spread(unit, value.detach())
    for path, module in unit.module.named_modules():
        for name in module._buffers:
            dtype = unit._buffer_dtypes.get((id(module), name))
            key = prefix + plain(f"{path}.{name}" if path else name)
            if dtype is not None and key in destination:
                destination[key] = destination[key].to(dtype)


def _names(unit: Any, piece: Any) -> list[str]:
    """Every name of a parameter within the wrapped module."""
    paths = {id(module): path for path, module in unit.module.named_modules()}
    return [
        plain(f"{paths[id(module)]}.{name}" if paths[id(module)] else name)
        for module, name in piece.owners
        if id(module) in paths
    ]


def _check_local(unit: Any) -> None:
    handle = unit._handle
    if handle is not None and (handle.original or not handle.strategy.shards):
        raise RuntimeError(
            "``local_state_dict`` can only be used when parameters are flatten and sharded."
        )


# --- taking ---------------------------------------------------------------------------------------


def before_load(unit: Any, state: Any, prefix: str) -> None:
    """Rename the keys as the unit has them, and make room for whole tensors."""
    handle = unit._handle
    for name in [name for name in state if name.startswith(prefix)]:
        value = state.pop(name)
        if is_spread(value) and unit._state_dict_type is not StateDictType.LOCAL_STATE_DICT:
            value = value.full_tensor()
        state[f"{prefix}{WRAPPED}.{name[len(prefix) :]}"] = value
    if handle is None or handle.shows_whole:
        return
    if unit._state_dict_type is StateDictType.LOCAL_STATE_DICT:
        _check_local(unit)
        handle.release()
        return
    handle.summon(False, False)
    unit.__dict__["_loads"] = True


def after_load(unit: Any, keys: Any) -> None:
    """Keep each rank's part."""
    if unit.__dict__.pop("_loads", False):
        unit._handle.dismiss(True)
    for found in keys:
        found[:] = [name.replace(f"{WRAPPED}.", "") for name in found]
