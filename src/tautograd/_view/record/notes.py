"""What is noted of a run: calls, values without a history, and what is known of each recorded node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..._user_code.sites import Site
from .values import Value


@dataclass
class Noted:
    """A call that recorded nodes, or left the graph."""

    name: str
    site: Site | None
    inside: int
    arguments: list[Any]  # tensors as weak references with their values, anything else as it is
    custom: bool
    edges: list[Any] = field(default_factory=list)  # behind the tensors among its arguments
    inputs: list[Any] = field(default_factory=list)  # those tensors, while it runs
    wanted: bool = False
    tainted: list[Cutting] = field(default_factory=list)
    grad: bool = True
    running: int = 0  # the call of the module whose code the line is in


@dataclass
class Cutting:
    """A value that went on without its history."""

    how: str
    site: Site | None
    inside: int
    sources: list[Any]  # edges
    result: Value | None
    running: int = 0  # the call of the module whose code the line is in


@dataclass
class Constant:
    """A tensor that entered a call and wants no gradient."""

    value: Value
    reference: Any
    name: str = ""  # of the variable it was in
    cuts: list[Cutting] = field(default_factory=list)


@dataclass
class KnownNode:
    """What is known of a recorded node."""

    node: Any
    call: Noted
    outputs: dict[int, Value] = field(default_factory=dict)
    is_last: bool = False  # whether its result is what the call gave
