"""An optimizer's update on the tape: its formula as instructions, its numbers as inputs.

Learning rate, momenta and the corrections for the step count change from step to step. They are computed by
the optimizer's own Python, at every replay, and written where the program reads them; so a schedule never
causes a new record.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from struct import Struct
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..._autograd.modes import set_grad
from ..._tensor.tensor import Tensor
from ...optim._batches import Batch, LargeBatch, SmallBatch, _computed_in
from ..guards.identity import Sameness
from ..guards.outside_variables import frozen
from ..program.ir import Kind
from ..record.recorded_array import Recorded
from ..record.tensor_data import Lifting, pause
from .formulas import Template
from .step_count import counted, is_settled


@dataclass(slots=True)
class Update:
    """The numbers of one batch of parameters, and where the program reads them."""

    optimizer: Any
    group: dict[str, Any]
    number: int
    batch: Batch
    flags: tuple[Any, ...]
    row: Any

    def __post_init__(self) -> None:
        self.real = self.optimizer.param_groups[self.number]
        self.group = dict(self.group)  # which may say more than the optimizer's own: see `settings`
        self.added = {k: v for k, v in self.group.items() if self.real.get(k, ...) is not v}
        self.write = Struct(f"{self.row.size}{self.row.dtype.char}").pack_into
        self.memory = self.row.data
        self.places = self._places()
        self.same = self.places.by_python()

    write: Any = None
    memory: Any = None
    real: Any = None
    added: Any = None
    written: Any = None  # settings that the function itself has written before
    places: Any = None  # what has to be there for the record to hold
    same: Any = None

    def _places(self) -> Sameness:
        """The optimizer's groups, parameters and states; step counts as this program alone changes them."""
        optimizer, found = self.optimizer, Sameness()
        found.attribute("_layouts", [optimizer])
        found.attribute("state", [optimizer])
        found.attribute("param_groups", [optimizer])
        found.item(optimizer._layouts, self.number)
        found.all_of(optimizer.param_groups)
        found.item(self.real, "params")
        found.all_of(self.real["params"])
        found.lengths.append((optimizer.state, len(optimizer.state)))
        for owner in self.batch.owners:
            state = optimizer.state.get(owner)
            if state is not None:
                found.item(optimizer.state, owner)
                found.item(state, *state)
                counts = [state[name] for name in optimizer._scalars if name in state]
                found.attribute("_data", counts)
                found.entries += [(t._version_box, 0, t._version_box[0]) for t in counts]
        return found

    def settings(self) -> dict[str, Any]:
        """The group as the optimizer's formula sees it, with the numbers of now."""
        if not self.added:
            return self.real  # type: ignore[no-any-return]
        self.group.update(self.real)
        self.group.update(self.added)
        return self.group

    def __call__(self) -> None:
        self.write(self.memory, 0, *self._constants(self.batch.scalars).values())

    def _constants(self, scalars: list[Any]) -> dict[str, Any]:
        settings = self.settings() if self.added else self.real
        return _with_plain_numbers(self.optimizer._constants, settings, scalars)  # type: ignore[no-any-return]

    def counted(self) -> Any:
        """The same as calling this while no setting changes, in less time; None if it takes Python."""
        settings = self.settings()
        if not is_settled(settings):
            return None
        places = self.batch.scalars, self.write, self.memory
        return _with_plain_numbers(counted, self.optimizer, settings, *places)

    def holds(self) -> bool:
        """Whether the optimizer would still do what was recorded."""
        return bool(self.same() and self.chooses_the_same())

    def chooses_the_same(self) -> bool:
        """Whether the settings choose the formula that was recorded."""
        optimizer = self.optimizer
        settings = self.settings() if self.added else self.real
        if self.written:
            settings = {**settings, **self.written}
        return bool(
            optimizer._flags(settings) == self.flags
            and (not optimizer._formula_varies or self._has_these_numbers())
        )

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
    """Note the update of a group's parameters, and do it (which is all if the recording was given up)."""
    with pause(tape):
        layout = optimizer._batched(group, number, members, states)
        flags = optimizer._flags(group)
    found = []
    templates: dict[Any, Template] = {}
    for batch in layout.batches:
        with pause(tape):
            constants = optimizer._constants(group, batch.scalars)
            dtype = batch.owners[0]._data.dtype
        real, compute = _computed_in(dtype)
        row = np.array(list(constants.values()), compute)
        place = tape.view(row, Kind.EXTERNAL)
        numbers = [_constant(tape, row[i : i + 1].reshape(())) for i in range(row.size)]
        named = SimpleNamespace(**dict(zip(constants, numbers, strict=True)))
        formula = partial(_update_one, tape, optimizer._formula, named, flags, real, compute)
        arrays = [
            [_seen(t, real) for t in (owner, owner._grad, *(row[k] for row in batch.states))]
            for k, owner in enumerate(batch.owners)
        ]
        key = dtype, tuple(constants)
        plain = isinstance(batch, (SmallBatch, LargeBatch))
        if plain and not tape.dead and key not in templates:
            templates[key] = Template(tape, len(arrays[0]), real, place, formula)
        if plain and (tape.dead or _written_out(tape, templates[key], arrays, place)):
            with pause(tape):
                batch.run(optimizer._formula, flags, constants)
        else:
            for of_one in arrays:
                formula(of_one)
        with pause(tape):
            found.append(Update(optimizer, group, number, batch, flags, row))
    return found


def _with_plain_numbers(function: Any, *args: Any) -> Any:
    """Call what computes an optimizer's numbers, whether or not gradients are asked for."""
    before = set_grad(False)
    try:
        return function(*args)
    finally:
        set_grad(before)


class _Constant(Recorded):
    """A number of the formula, which is rounded where PyTorch rounds such numbers."""

    is_constant = True
    __slots__ = ()


def _constant(tape: Lifting, value: Any) -> Recorded:
    return _Constant(value, tape)


def _seen(tensor: Tensor, real: Any) -> Any:
    """A tensor's array on the tape; complex numbers as pairs of real ones."""
    return tensor._data if tensor._data.dtype == real else tensor._data.view(real)


def _written_out(tape: Lifting, template: Template, arrays: list[list[Any]], row: Any) -> bool:
    """Note a formula for all parameters from what it does to a few elements, where that is enough."""
    views = [[tape.view(array.value) for array in of_one] for of_one in arrays]
    if not template.fits or not all(map(template.fits_to, views)):
        return False
    for of_one in views:
        template.write_out(of_one, row)
    return True


def _update_one(
    tape: Lifting,
    formula: Any,
    constants: Any,
    flags: Any,
    real: Any,
    compute: Any,
    arrays: list[Any],
) -> None:
    values = arrays if real == compute else [a.astype(compute) for a in arrays]
    tape.narrow = None if real == compute else real
    try:
        new, news = formula(values[0], values[1], tuple(values[2:]), constants, flags)
    finally:
        tape.narrow = None
    for target, value in zip([arrays[0], *arrays[2:]], [new, *news], strict=True):
        if value is not target:
            np.copyto(target, value, casting="same_kind")
