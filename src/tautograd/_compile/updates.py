"""An optimizer's update on the tape: its formula as instructions, its numbers as inputs.

Learning rate, momenta and the corrections for the step count change from step to step. They are computed by
the optimizer's own Python, at every replay, and written where the program reads them; so a schedule never
causes a new record.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from types import SimpleNamespace
from typing import Any

import numpy as np

from .._autograd.modes import modes
from ..optim._batches import Batch, _computed_in
from .ir import Kind
from .lifting import Lifting, pause
from .recorded import Recorded


@dataclass(slots=True)
class Update:
    """The numbers of one batch of parameters, and where the program reads them."""

    optimizer: Any
    group: dict[str, Any]
    number: int
    batch: Batch
    layout: Any
    flags: tuple[Any, ...]
    row: Any
    groups: int
    members: int

    def __post_init__(self) -> None:
        self.state = self.optimizer.state
        self.states = len(self.state)
        self.write = Struct(f"{self.row.size}{self.row.dtype.char}").pack_into
        self.memory = self.row.data

    write: Any = None
    memory: Any = None
    state: Any = None
    states: int = 0

    def __call__(self) -> None:
        own = modes.__dict__  # this thread's, found once
        before, own["_grad"] = own["_grad"], False  # an optimizer computes with plain numbers
        try:
            constants = self.optimizer._constants(self.group, self.batch.scalars)
        finally:
            own["_grad"] = before
        self.write(self.memory, 0, *constants.values())

    def holds(self) -> bool:
        """Whether the optimizer would still do what was recorded."""
        optimizer = self.optimizer
        return (
            optimizer._layouts.get(self.number) is self.layout
            and optimizer.state is self.state
            and len(self.state) == self.states
            and len(optimizer.param_groups) == self.groups
            and len(self.group["params"]) == self.members
            and optimizer._flags(self.group) == self.flags
        )


def record_update(
    tape: Lifting, optimizer: Any, group: dict[str, Any], number: int, members: Any, states: Any
) -> list[Update]:
    """Note the update of a group's parameters, and do it."""
    with pause(tape):
        layout = optimizer._batched(group, number, members, states)
        flags = optimizer._flags(group)
    found = []
    for batch in layout.batches:
        with pause(tape):
            constants = optimizer._constants(group, batch.scalars)
            dtype = batch.owners[0]._data.dtype
        real, compute = _computed_in(dtype)
        row = np.array(list(constants.values()), compute)
        tape.view(row, Kind.EXTERNAL)
        numbers = [_constant(tape, row[i : i + 1].reshape(())) for i in range(row.size)]
        named = SimpleNamespace(**dict(zip(constants, numbers, strict=True)))
        for k, owner in enumerate(batch.owners):
            tensors = [owner, owner._grad, *(tensors[k] for tensors in batch.states)]
            _update_one(tape, optimizer._formula, tensors, named, flags, real, compute)
        sizes = len(optimizer.param_groups), len(group["params"])
        found.append(Update(optimizer, group, number, batch, layout, flags, row, *sizes))
    return found


class _Constant(Recorded):
    """A number of the formula, which is rounded where PyTorch rounds such numbers."""

    is_constant = True
    __slots__ = ()


def _constant(tape: Lifting, value: Any) -> Recorded:
    return _Constant(value, tape)


def _update_one(
    tape: Lifting,
    formula: Any,
    tensors: list[Any],
    constants: Any,
    flags: Any,
    real: Any,
    compute: Any,
) -> None:
    arrays = [t._data if t._data.dtype == real else t._data.view(real) for t in tensors]
    values = arrays if real == compute else [a.astype(compute) for a in arrays]
    tape.narrow = None if real == compute else real
    try:
        new, news = formula(values[0], values[1], tuple(values[2:]), constants, flags)
    finally:
        tape.narrow = None
    for target, value in zip([arrays[0], *arrays[2:]], [new, *news], strict=True):
        if value is not target:
            np.copyto(target, value, casting="same_kind")
