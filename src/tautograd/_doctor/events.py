"""What the doctor sees of a loop: a few kinds of events, each with the line of user code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .sites import Site


@dataclass(eq=False)
class Event:
    """Something that happened; `number` counts all events, `step` the optimizer steps so far."""

    number: int
    step: int
    site: Site | None
    engine: Any


@dataclass(eq=False)
class Backward(Event):
    """A backward pass."""

    roots: tuple[Any, ...] = ()  # the tensors it started from, only while it runs
    retain_graph: bool = False
    reached: list[Any] = field(default_factory=list)  # parameters that got a gradient, afterwards
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Clear(Event):
    """`zero_grad` of an optimizer or a module."""

    owner: Any = None
    parameters: list[Any] = field(default_factory=list)


@dataclass(eq=False)
class Step(Event):
    """`optimizer.step()`; `parameters` are all that the optimizer holds."""

    optimizer: Any = None
    parameters: list[Any] = field(default_factory=list)
    by_scaler: bool = False
    has_closure: bool = False


@dataclass(eq=False)
class Clip(Event):
    """`clip_grad_norm_` and its kin, after it ran."""

    how: str = ""
    parameters: list[Any] = field(default_factory=list)
    limit: float = 0.0
    result: Any = None  # the norm it returned


@dataclass(eq=False)
class Scaler(Event):
    """A `GradScaler`'s `scale`, `unscale_`, `step` or `update`, before it runs."""

    how: str = ""
    scaler: Any = None
    optimizer: Any = None  # of unscale_ and step
    outputs: Any = None  # what was scaled


@dataclass(eq=False)
class Schedule(Event):
    """A learning-rate scheduler's `step`."""

    scheduler: Any = None
    optimizer: Any = None


@dataclass(eq=False)
class Loss(Event):
    """A call of a loss function of `nn.functional`, before it runs."""

    function: str = ""
    input: Any = None
    target: Any = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class ModuleCall(Event):
    """A module that ran, told only while the doctor looks closely (first steps, and now and then)."""

    module: Any = None
    args: tuple[Any, ...] = ()
    output: Any = None
    grad_mode: bool = True


@dataclass(eq=False)
class Dropout(Event):
    """A call of functional dropout, before it runs; while the doctor looks closely."""

    training: bool = True
    p: float = 0.5
