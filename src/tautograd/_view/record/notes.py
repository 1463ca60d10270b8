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
    indirect: bool = False  # its tensors are not what was cut alone: others, or computed from it
    grad: bool = True
    running: int = 0  # the call of the module whose code the line is in
    part_of: tuple[int, str] = (
        0,
        "",
    )  # a function made of several calls, as cross_entropy is: its number
    frame: Any = None  # the program's, while a call runs that gives plain values


@dataclass
class Cutting:
    """A value that went on without its history: cut off, or of a kind that has no derivative.

    `x > 0` is no cut: truth values and whole numbers have no gradient, and none is missing.
    """

    how: str
    site: Site | None
    inside: int
    sources: list[Any]  # edges
    result: Value | None
    running: int = 0  # the call of the module whose code the line is in
    is_cut: bool = True
    leaves: bool = False  # for Python


@dataclass
class Tainted:
    """A tensor that came of values that were cut off: by itself, or by a call on what was."""

    reference: Any
    cuts: list[Cutting]
    made: Noted | None = None  # the call, if it is not the cut itself


@dataclass
class Constant:
    """A tensor that entered a call and wants no gradient."""

    value: Value
    reference: Any
    name: str = ""  # of the variable it was in
    cuts: list[Cutting] = field(default_factory=list)
    made: Noted | None = None  # the call that made it of what was cut; None: it is the cut's result
    base: Any = None  # of a view without a name: what it is a view of


@dataclass
class KnownNode:
    """What is known of a recorded node."""

    node: Any
    call: Noted
    outputs: dict[int, Value] = field(default_factory=dict)
    is_last: bool = False  # whether its result is what the call gave
