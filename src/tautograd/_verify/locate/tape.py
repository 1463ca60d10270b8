"""The record of a run: its calls, each with everything needed to run it again in isolation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..._report.wording import shared_place
from ..._user_code.sites import Site
from ..._user_code.source_lines import line_of

MODULE_HOOK = "register_full_backward_hook"
"""The name of the identity that a module's inputs and outputs pass through if it has such hooks."""


@dataclass(frozen=True)
class Slot:
    """Stands for a tensor in the arguments of a call."""

    number: int


@dataclass
class Call:
    """One call of the program."""

    ordinal: int  # among all calls a mode sees; for a custom Function, the next call's
    name: str
    function: Callable[..., Any]
    args: Any  # with a Slot for each tensor
    kwargs: Any
    inputs: list[Any]  # the tensors themselves, each once
    copies: list[Any]  # their values at the time of the call
    wanted: list[bool]  # which of them required a gradient
    edges: list[Any]  # the node behind each, as (node, output number)
    grad: bool  # whether operations were recorded
    custom: bool = False
    checkpointed: bool = False
    autocast: Any = None  # the dtype autocast was casting to
    site: Site | None = None
    module: str = ""
    outputs: list[Any] = field(default_factory=list)  # tensors it returned or modified
    changed: list[int] = field(default_factory=list)  # inputs it wrote into
    nodes: list[Any] = field(default_factory=list)  # the node behind each output
    value: Any = None  # its return value, if that is not a tensor
    random_state: Any = None  # the generator's state before the call, if the call drew from it
    engine: Any = None
    meant: Any = None  # the function whose derivative is intended, if not its own

    @property
    def defined_at(self) -> str:
        """Where the backward of a custom Function is defined, unless that is its site; a shareable path."""
        site = backward_of(getattr(self.function, "__self__", None))
        if site is None or site == self.site:
            return ""
        return f"{shared_place(site.file)}:{site.line}"

    @property
    def node_name(self) -> str:
        """The name of the node it recorded, as `MulBackward0`; empty if there is none."""
        for edge in self.nodes:
            if edge is not None and hasattr(edge[0], "next_functions"):
                return str(edge[0].name())
        return f"{self.name}Backward" if self.custom else ""


def backward_of(function: Any) -> Site | None:
    """Where the backward of a custom Function is defined."""
    try:
        code = inspect.unwrap(function.backward).__code__
    except AttributeError:
        return None
    line = code.co_firstlineno  # the line of the first decorator
    while line_of(code.co_filename, line).lstrip().startswith("@"):
        line += 1
    return Site(code.co_filename, line, f"{function.__name__}.backward")


@dataclass
class Tape:
    """What one run did and returned."""

    calls: list[Call]
    result: Any
    altered: list[Call] = field(default_factory=list)  # hooks that returned a different gradient
    kept: list[Any] = field(default_factory=list)
