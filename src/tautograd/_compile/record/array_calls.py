"""A call of an array function as it was made, and the words in which rules turn it into instructions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..program.ir import Instruction, Map, Number, Operand, View, overlap
from .arrays import ARRAYS
from .symbols import Symbol


@dataclass(slots=True)
class Noted:
    """A call as it was made, on plain arrays; `outputs` are new memory, `targets` was written into."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: list[View]
    targets: list[View]
    ufunc: Any
    method: str

    @property
    def result(self) -> View:
        """The one place where the result is."""
        return self.outputs[0] if self.outputs else self.targets[0]

    def named(self, *names: str) -> dict[str, Any]:
        """The arguments by their names, as the function has them."""
        return {**dict(zip(names, self.args, strict=False)), **self.kwargs}


# What does the same as a call, or None where only the call itself does.
Rule = Callable[[Any, Noted], "list[Instruction] | None"]

UFUNCS: dict[str, Any] = {}  # by name, as instructions call them

NUMBERS = (np.generic, int, float, bool)


def copy(source: Operand, target: View) -> Map:
    """Elements from one place to another, converted if the dtypes differ."""
    of = source.value.dtype if isinstance(source, Number) else source.dtype
    if isinstance(source, View):
        source = source.broadcast(target.shape)
    return Map("cast", (source,), target, (of, target.dtype))


def mapped(
    tape: Any, name: str, args: Any, target: View, loop: tuple[Any, ...]
) -> list[Instruction] | None:
    """An elementwise function of arguments that are broadcast to where the result goes."""
    inputs = []
    for arg, dtype in zip(args, loop, strict=False):
        operand = operand_of(tape, arg, dtype, target.shape)
        if isinstance(operand, View) and operand != target and overlap(operand, target):
            return None  # NumPy works on a copy of what it would overwrite
        inputs.append(operand)
    return [Map(name, tuple(inputs), target, tuple(loop))]


def chosen(tape: Any, args: Any, target: View) -> list[Instruction] | None:
    """`where(condition, x, y)`, in the target's dtype."""
    loop = (np.dtype(np.bool_), target.dtype, target.dtype, target.dtype)
    return mapped(tape, "where", args, target, loop)


def operand_of(tape: Any, value: Any, dtype: Any, shape: tuple[int, ...]) -> Operand:
    """An operand broadcast to a shape; a number as one of the dtype it takes part in."""
    if isinstance(value, ARRAYS):
        return tape.view(value).broadcast(shape)  # type: ignore[no-any-return]
    if type(value) is Symbol:
        return tape.scalars.cell(value, dtype).broadcast(shape)  # type: ignore[no-any-return]
    return Number(np.asarray(value).astype(dtype)[()])


def is_operand(value: Any) -> bool:
    return isinstance(value, (*ARRAYS, *NUMBERS))
