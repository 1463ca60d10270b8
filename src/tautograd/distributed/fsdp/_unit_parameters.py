"""What a `FullyShardedDataParallel` unit holds: found, materialised, and synchronised over all ranks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import tautograd as torch

from ...nn.modules.module import Module
from .._exchanges import broadcast
from .._groups import get_global_rank

Found = list[tuple[Any, list[tuple[Any, str]], str]]


def of_unit(module: Any, skipped: Iterable[Any], modules: set[Any], unit: type) -> Found:
    """Each parameter outside of the units below, with every place where it is found, and its first name."""
    left_out = {id(p) for p in skipped}
    found: dict[int, tuple[Any, list[tuple[Any, str]], str]] = {}

    def walk(below: Any, prefix: str) -> None:
        if below in modules:
            return
        for name, parameter in below._parameters.items():
            if parameter is not None and id(parameter) not in left_out:
                found.setdefault(id(parameter), (parameter, [], prefix + name))[1].append(
                    (below, name)
                )
        for name, child in below._modules.items():
            if child is not None and not isinstance(child, unit):
                walk(child, f"{prefix}{name}.")

    walk(module, "")
    return list(found.values())


def made_real(module: Any, init: Callable[[Any], None] | None, skipped: set[Any]) -> None:
    """Materialise parameters and buffers without values: by a function, or by the modules' own initialisation."""
    for below in module.modules():
        own = [*below._parameters.values(), *below._buffers.values()]
        if below in skipped or not any(t is not None and t.device.type == "meta" for t in own):
            continue
        if init is not None:
            init(below)
            continue
        below.to_empty(device="cpu", recurse=False)
        try:
            start = below.reset_parameters
        except AttributeError as error:
            raise ValueError(
                f"{type(below).__name__} has parameters without values (device meta) and no reset_parameters(): "
                "give param_init_fn"
            ) from error
        with torch.no_grad():
            start()


def synchronised(module: Any, group: Any, skipped: Iterable[Any]) -> None:
    """Copy the parameters and buffers of the group's first rank to all."""
    left_out = {id(p) for p in skipped}
    for tensor in (*module.parameters(), *module.buffers()):
        if id(tensor) not in left_out:
            broadcast(tensor.detach(), get_global_rank(group, 0), group)


def check_device(device_id: Any) -> None:
    if device_id is None:
        return
    device = torch.device(device_id)
    if device.type != "cpu":
        raise ValueError(
            f"device_id: {device} was asked for, and FullyShardedDataParallel computes in the memory of CPUs; "
            'leave it out, or give torch.device("cpu")'
        )


def ignored_by(module: Module, modules: Any, states: Any) -> tuple[set[Module], list[Any]]:
    """The ignored modules with their submodules, and all ignored parameters."""
    given = list(states or ())
    tops = [*list(modules or ()), *(one for one in given if isinstance(one, Module))]
    for top in tops:
        if not isinstance(top, Module):
            raise TypeError(
                f"ignored_modules expected nn.Module list elements but got types {[type(top)]}"
            )
        if top is module:
            warnings.warn(
                "Trying to ignore the top-level module passed into the FSDP constructor itself will result in all "
                "parameters being ignored and is not well-supported",
                stacklevel=3,
            )
    skipped = {below for top in tops for below in top.modules()}
    parameters = [one for one in given if not isinstance(one, Module)]
    parameters += [p for top in tops for p in top.parameters()]
    return skipped, parameters
