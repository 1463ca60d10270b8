"""What is recorded of a run: calls, values without a history, and the facts about each recorded node."""

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
    arguments: list[Any]  # tensors as weak references with their values, anything else unchanged
    custom: bool
    edges: list[Any] = field(default_factory=list)  # behind the tensors among its arguments
    inputs: list[Any] = field(default_factory=list)  # those tensors, while it runs
    wanted: bool = False
    tainted: list[Cutting] = field(default_factory=list)
    indirect: bool = False  # its tensors are not just what was cut: others, or computed from it
    grad: bool = True
    running: int = 0  # the module call whose code contains the line
    part_of: tuple[int, str] = (
        0,
        "",
    )  # the number of the composite function, as cross_entropy, it belongs to
    frame: Any = None  # the program's, during a call that returns plain values


@dataclass
class Cutting:
    """A value used without its history: cut off, or of a kind that has no derivative.

    `x > 0` is not a cut: booleans and integers have no gradient, and none is missing.
    """

    how: str
    site: Site | None
    inside: int
    sources: list[Any]  # edges
    result: Value | None
    running: int = 0  # the module call whose code contains the line
    is_cut: bool = True
    leaves: bool = False  # it left for Python


@dataclass
class Tainted:
    """A tensor derived from cut values: the cut's result, or computed from it by a call."""

    reference: Any
    cuts: list[Cutting]
    made: Noted | None = None  # the call, if it is not itself the cut


@dataclass
class Constant:
    """A tensor that entered a call and does not require a gradient."""

    value: Value
    reference: Any
    name: str = ""  # of the variable that held it
    cuts: list[Cutting] = field(default_factory=list)
    made: Noted | None = None  # the call that computed it from a cut; None: it is the cut's result
    base: Any = None  # of a view without a name: its base


@dataclass
class KnownNode:
    """What is known about a recorded node."""

    node: Any
    call: Noted
    outputs: dict[int, Value] = field(default_factory=dict)
    is_last: bool = False  # whether its result is the call's result
