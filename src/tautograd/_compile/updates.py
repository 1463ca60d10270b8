"""An optimizer's update on the tape: its formula as instructions, its numbers as inputs.

Learning rate, momenta and the corrections for the step count change from step to step. They are computed by
the optimizer's own Python, at every replay, and written where the program reads them; so a schedule never
causes a new record.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import is_
from struct import Struct
from types import SimpleNamespace
from typing import Any

import numpy as np

from .._autograd.modes import modes
from .._tensor.tensor import Tensor
from ..optim._batches import Batch, _computed_in
from .ir import Kind
from .lifting import Lifting, pause
from .recorded import Recorded
from .variables import frozen


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
        self.real = self.optimizer.param_groups[self.number]
        self.group = dict(self.group)  # which may say more than the optimizer's own: see `settings`
        self.added = {k: v for k, v in self.group.items() if self.real.get(k, ...) is not v}
        self.state = self.optimizer.state
        self.states = len(self.state)
        self.of_owners = [self.state.get(p) for p in self.batch.owners]
        entries = [(one, k, v) for one in self.of_owners if one for k, v in one.items()]
        self.entries = [list(column) for column in zip(*entries, strict=True)] or [[], [], []]
        self.write = Struct(f"{self.row.size}{self.row.dtype.char}").pack_into
        self.memory = self.row.data

    write: Any = None
    memory: Any = None
    state: Any = None
    states: int = 0
    of_owners: Any = None  # the state of each parameter
    entries: Any = None  # those states, names in them, and what is there
    real: Any = None
    added: Any = None

    def settings(self) -> dict[str, Any]:
        """The group as the optimizer's formula sees it, with the numbers of now."""
        if not self.added:
            return self.real  # type: ignore[no-any-return]
        self.group.update(self.real)
        self.group.update(self.added)
        return self.group

    def __call__(self) -> None:
        own = modes.__dict__  # this thread's, found once
        before, own["_grad"] = own["_grad"], False  # an optimizer computes with plain numbers
        try:
            group = self.settings() if self.added else self.real
            found = self.optimizer._constants(group, self.batch.scalars)
        finally:
            own["_grad"] = before
        self.write(self.memory, 0, *found.values())

    def _constants(self, scalars: list[Any]) -> dict[str, Any]:
        own = modes.__dict__
        before, own["_grad"] = own["_grad"], False
        try:
            found: dict[str, Any] = self.optimizer._constants(self.settings(), scalars)
        finally:
            own["_grad"] = before
        return found

    def holds(self) -> bool:
        """Whether the optimizer would still do what was recorded."""
        optimizer = self.optimizer
        return (
            optimizer._layouts.get(self.number) is self.layout
            and optimizer.state is self.state
            and len(self.state) == self.states
            and self._has_these_states()
            and len(optimizer.param_groups) == self.groups
            and optimizer.param_groups[self.number] is self.real
            and len(self.real["params"]) == self.members
            and optimizer._flags(self.settings()) == self.flags
            and (not optimizer._formula_varies or self._has_these_numbers())
        )

    def _has_these_states(self) -> bool:
        """Whether nobody has put other tensors in the place of an optimizer's states."""
        states, names, tensors = self.entries
        if not all(map(is_, map(self.state.get, self.batch.owners), self.of_owners)):
            return False
        return all(map(is_, map(dict.get, states, names), tensors))

    def _has_these_numbers(self) -> bool:
        """Whether the next step's formula is the one that was recorded, where it depends on the step."""
        scalars = [np.copy(scalar) for scalar in self.batch.scalars]
        return bool(len(self._constants(scalars)) == self.row.size)


@dataclass(slots=True)
class Fixed:
    """An optimizer that computes with Python's numbers: they are constants of the record."""

    optimizer: Any
    settings: Any
    state: Any

    @classmethod
    def of(cls, optimizer: Any) -> Fixed:
        return cls(optimizer, _settings(optimizer), _numbers(optimizer))

    def holds(self) -> bool:
        return bool(_settings(self.optimizer) == self.settings)

    def settle(self, tape: Lifting) -> None:
        """Refuse one that counts its steps in Python."""
        if _numbers(self.optimizer) != self.state:
            name = type(self.optimizer).__name__
            tape.refuse(f"a step of {name}, whose state holds Python numbers,", "optimizer")


def _settings(optimizer: Any) -> Any:
    groups = optimizer.param_groups
    others = [{k: v for k, v in group.items() if k != "params"} for group in groups]
    return frozen([others, [group["params"] for group in groups]])


def _numbers(optimizer: Any) -> Any:
    """What is no tensor of an optimizer's state."""
    states = optimizer.state.values()
    return [
        {k: v for k, v in s.items() if not isinstance(v, Tensor)}
        for s in states
        if isinstance(s, dict)
    ]


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
        sizes = len(optimizer.param_groups), len(optimizer.param_groups[number]["params"])
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
