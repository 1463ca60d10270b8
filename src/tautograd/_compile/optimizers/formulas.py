"""An optimizer's formula as instructions: recorded once, on two elements, and written out for each parameter.

The formula is the same for all parameters of a batch and works element by element, so what it does to a few
elements says what it does to all. The numbers themselves are computed as an optimizer computes them anyway.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..program.ir import Kind, Map, View
from ..record.tensor_data import Lifting

_FEW = 2  # elements: one would be broadcast


class Template:
    """The instructions of a formula on arrays that stand in for a parameter, its gradient and its states."""

    def __init__(self, tape: Lifting, count: int, real: Any, row: View, formula: Any) -> None:
        program = tape.program
        self.row = row.buffer  # where the formula's numbers are
        stand_ins = [tape.wrap(np.ones(_FEW, real)) for _ in range(count)]
        self.views = [tape.view(stand_in.value, Kind.SCRATCH) for stand_in in stand_ins]
        self.places = {view.buffer: k for k, view in enumerate(self.views)}
        self.first = len(program.buffers)  # of those that the formula makes
        start = len(program.instructions)
        formula(stand_ins)
        self.instructions: list[Any] = program.instructions[start:]
        self.sites = program.sites[start:]
        del program.instructions[start:], program.sites[start:]
        self.tape = tape
        self.fits = all(self._is_elementwise(i) for i in self.instructions)

    def _is_elementwise(self, instruction: Any) -> bool:
        if not isinstance(instruction, Map):
            return False
        views = [x for x in (*instruction.inputs, instruction.output) if isinstance(x, View)]
        return all(self._is_known(view) for view in views)

    def _is_known(self, view: View) -> bool:
        """Whether a view is one number, the same number throughout, or all of an array."""
        place = self.places.get(view.buffer)
        if place is not None:
            return view == self.views[place]
        if not any(view.strides):
            return view.shape in ((), (_FEW,))
        made = view.buffer >= self.first and self._kind(view) is Kind.SCRATCH
        return made and view.shape == (_FEW,) and view.is_contiguous() and not view.offset

    def _kind(self, view: View) -> Kind:
        return self.tape.program.buffers[view.buffer].kind

    def fits_to(self, views: list[View]) -> bool:
        """Whether the formula can be written out for these: arrays of one shape, not empty."""
        pairs = zip(views, self.views, strict=True)
        same = all(v.shape == views[0].shape and v.dtype == s.dtype for v, s in pairs)
        return same and views[0].size > 0

    def write_out(self, views: list[View], row: View) -> None:
        """Note the instructions for a parameter, with the numbers of its batch."""
        tape, shape = self.tape, views[0].shape
        made: dict[int, View] = {}  # values in between, in memory of this parameter's own

        def placed(view: Any, to: tuple[int, ...]) -> Any:
            if not isinstance(view, View):
                return view
            place = self.places.get(view.buffer)
            if place is not None:
                return views[place]
            if view.buffer < self.first or self._kind(view) is not Kind.SCRATCH:
                number = row.buffer if view.buffer == self.row else view.buffer
                return View(number, view.offset, to, (0,) * len(to), view.dtype)
            found = made.get(view.buffer)
            if found is None:
                found = made[view.buffer] = tape.scratch(to, view.dtype, None)
            return found if found.shape == to else found.broadcast(to)

        with tape.unwatched:
            for map in self.instructions:
                to = shape if map.output.shape else ()  # else of numbers alone
                inputs = tuple([placed(x, to) for x in map.inputs])
                tape.program.instructions.append(
                    Map(map.function, inputs, placed(map.output, to), map.loop)
                )
        tape.program.sites.extend(self.sites)
