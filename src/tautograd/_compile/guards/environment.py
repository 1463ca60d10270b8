"""What a function can reach from outside when it is recorded: before it runs, and after."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from ..._autograd.hooks import _next_id as next_id
from ..._tensor.tensor import Tensor
from ...nn.modules.module import Module
from ...optim.optimizer import Optimizer
from ..messages.lines import HOOKS
from ..optimizers.param_group_settings import Settings
from ..record.tensor_data import pause
from ..record.trees import tensors_in
from ..record.varying_numbers import Spot, plain_again
from .guards import Form, hooks_of
from .module_guards import Modules
from .outside_variables import Variables
from .strangers import Strangers


class Surroundings:
    """What a function can reach from outside, before it runs and after."""

    def __init__(
        self, fn: Callable[..., Any], form: Form, arguments: Any, reads_guarded: bool = True
    ) -> None:
        """`reads_guarded`: whether what Python reads is to be the same at a replay."""
        self.fn = fn
        self.arguments = arguments
        self.form = form
        self.modules = Modules()
        self.reads_guarded = reads_guarded
        self.variables = Variables(fn, arguments, reads_guarded)
        for module in (*self.variables.modules, *(m for m in form.kept if isinstance(m, Module))):
            self.modules.note(module)
        self.spots: list[Spot] = []  # whose numbers are inputs
        self.unseen: tuple[str, Any] | None = None  # what no guard can look at, and where
        self.notes_calls = False  # so that its Python can be followed: see `sound/`
        self.refuses_unseen = False  # else it is only noted
        self.strangers: Strangers | None = None
        self.watches = True  # whether code that was not read is looked for
        self.may_split = False  # where Python asks for a tensor's value
        self.may_follow = True  # whether such a value may be a symbol

    @property
    def elements(self) -> int:
        """How many elements the tensors have that the function is given, or finds in modules."""
        modules = {id(m): m for found, _ in self.modules.found.values() for m in found.modules()}
        own = [p for m in modules.values() for p in (*m._parameters.values(), *m._buffers.values())]
        return sum(
            t._data.size for t in (*tensors_in(self.arguments), *own) if isinstance(t, Tensor)
        )

    def follow(self, changing: Any) -> None:
        """Let numbers that the function reads by name be inputs, as far as they are seen to change."""
        self.spots = changing.among(self._all_spots())

    def watching(self, tape: Any) -> Any:
        """A context around the run: which code runs in it, beside the tape's own."""
        if not self.reads_guarded or not self.watches:
            return nullcontext()
        self.strangers = Strangers(self.variables.functions, tape.unwatched)
        return self.strangers

    def follow_these(self, keys: set[Any]) -> None:
        """Let just the numbers at these places be inputs."""
        self.spots = [spot for spot in self._all_spots() if spot.key in keys]

    def _all_spots(self) -> list[Spot]:
        return [spot for spot, _ in (*self.variables.spots(), *self.modules.spots())]

    def begin(self, tape: Any) -> None:
        """Refuse what cannot be recorded, whatever the function does with it."""
        given = [value for value in self.form.kept if isinstance(value, Optimizer)]
        tape.settings = Settings([*self.variables.optimizers, *given])
        self.first_hook = next_id()
        if not self.reads_guarded:
            return
        for name, what in self.variables.unseen:
            self.unseen = what, self.variables.lines.naming({name})
            break
        for name, what, advice in self.variables.refused:
            tape.refuse(what, advice, self.variables.lines.naming({name}))
        if self.form.has_arrays:
            what = "an argument that is a NumPy array, whose values may change,"
            tape.refuse(what, "array", self.variables.where)

    def settle(self, tape: Any) -> None:
        tape.note_settings()
        tape.settings.put_back()
        with pause(tape):
            if self.strangers is not None and self.strangers.found is not None:
                self.unseen = self.unseen or (self.strangers.found, self.strangers.site)
            if self.unseen is not None and self.refuses_unseen:
                tape.refuse(self.unseen[0], "unseen", self.unseen[1])
            if self.reads_guarded:
                self.modules.settle(tape, self.variables.lines)
                self.variables.settle(tape)
            for tensor, _ in tape.outside.values():
                if any(number >= self.first_hook for of in hooks_of(tensor) for number in of):
                    where = self.variables.lines.naming(HOOKS)
                    tape.refuse("a hook that is left on a tensor", "left", where)
                    break
        if tape.failure is not None:
            self.variables.plain_again()
            for module, _ in self.modules.found.values():
                plain_again(vars(module))
