"""Averaging parameters over the ranks of a group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tautograd as torch

from ..._groups import member
from ..._reductions import all_reduce

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterable[Any], process_group: Any) -> None:
    """Replace parameters by their mean over a group's ranks; those of one dtype are sent together."""
    if member(process_group) is None:
        return
    held = [p.detach() for p in params]
    for dtype in dict.fromkeys(p.dtype for p in held):
        mine = [p for p in held if p.dtype == dtype]
        line = torch.cat([p.reshape(-1) for p in mine]) / process_group.size()
        all_reduce(line, group=process_group)
        start = 0
        for p in mine:
            p.copy_(line[start : start + p.numel()].view_as(p))
            start += p.numel()


def get_params_to_average(params: Iterable[Any]) -> list[Any]:
    """The parameters of a model or of an optimizer's groups that have a gradient."""
    found: list[Any] = []
    for given in params:
        if isinstance(given, torch.Tensor):
            found += [given]
        elif isinstance(given, dict):
            found += given["params"]
        else:
            raise NotImplementedError(f"Parameter input of type {type(given)} is not supported")
    return [p for p in found if p.grad is not None]


def average_parameters_or_parameter_groups(params: Iterable[Any], process_group: Any) -> None:
    """Average the parameters that have a gradient."""
    average_parameters(get_params_to_average(params), process_group)
