"""What the doctor sees of a loop: a few kinds of events, each with the line of user code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..._user_code.sites import Site


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
class RiskyBackward(Event):
    """An operation that made NaN of finite numbers in a backward of a loop that is known."""

    passage: Any = None  # what came to it and what left
    line: Site | None = None  # of the operation


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
    """A learning-rate scheduler's `step`, or that it was `made`."""

    scheduler: Any = None
    optimizer: Any = None
    made: bool = False
    metric: float | None = None  # what a schedule that waits for a plateau was given
    with_epoch: bool = False  # whether `step` was told the epoch


@dataclass(eq=False)
class Mode(Event):
    """`train()` or `eval()` of a module, before it runs."""

    module: Any = None
    training: bool = True


@dataclass(eq=False)
class Subtraction(Event):
    """A difference of two tensors that broadcast both of them; while the doctor looks closely."""

    left: Any = None
    right: Any = None
    output: Any = None


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
    explicit: bool = False  # whether the call says `training`


@dataclass(eq=False)
class Registration(Event):
    """A parameter or a module is put into a module under a name, before it is; `old` was there."""

    owner: Any = None
    name: str = ""
    old: Any = None
    new: Any = None


@dataclass(eq=False)
class Freeze(Event):
    """`requires_grad_(...)` of a module or of a parameter, before it runs."""

    parameters: list[Any] = field(default_factory=list)
    on: bool = True
    stack: list[Site] = field(default_factory=list)  # the lines that led here, innermost first


@dataclass(eq=False)
class View(Event):
    """`view` or `reshape` of a tensor without a gradient; while the doctor looks closely."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()


@dataclass(eq=False)
class Hook(Event):
    """A hook was registered on a parameter or a module."""

    owner: Any = None
    handle: Any = None


@dataclass(eq=False)
class Load(Event):
    """`load_state_dict` of a module, before it runs."""

    module: Any = None
    state: Any = None
    by_library: bool = False  # as checkpoints do that were read into the module's own memory


@dataclass(eq=False)
class Sample(Event):
    """What a step did in numbers, after it, in the first steps and now and then; lists have an entry
    for every parameter that has a gradient, NaN where nothing could be measured."""

    optimizer: Any = None
    parameters: list[Any] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)  # of the gradients
    ratios: list[float] = field(default_factory=list)  # of the update to the weights
    unchanged: list[float] = field(default_factory=list)  # of entries with a gradient: the share
    loss: float = float("nan")  # of the last backward
    is_skipped: bool = False  # a scaler found the gradients wanting


@dataclass(eq=False)
class Iteration(Event):
    """An iterator over a `DataLoader` was begun."""

    loader: Any = None


@dataclass(eq=False)
class Seed(Event):
    """`manual_seed` was called, after it ran."""

    seed: Any = None


@dataclass(eq=False)
class Traced(Event):
    """An iteration that was looked at call by call, before each step in it."""

    values: Any = None  # what was seen: `value_numbers.ValueNumbers`
    parameters: list[Any] = field(default_factory=list)  # of the optimizer that steps
    is_over: bool = False  # whether it is the last step of it
