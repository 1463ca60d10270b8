"""What a loop taught its model: some of its batches, its loss, its optimizer, and a copy of the model.

Everything is copied as it comes by, so the loop goes on bit for bit as it would; nothing is run before the end.
"""

from __future__ import annotations

import weakref
from typing import Any

from ..watch.aside import copy_of, first_tensor
from ..watch.events import Loss, ModuleCall, Step

BATCHES = 12
LARGEST = 64 << 20  # bytes of batches that are kept


def cloned(engine: Any, value: Any) -> Any:
    """A copy of a tensor, or of several; anything else as it is."""
    if isinstance(value, engine.Tensor):
        return value.detach().clone()
    if isinstance(value, tuple | list):
        return type(value)(cloned(engine, v) for v in value)
    return value


class Batch:
    """What a model was given, and what its loss compared the output with."""

    def __init__(self, args: tuple[Any, ...], event: Loss) -> None:
        self.args, self.function, self.options = args, event.function, dict(event.options)
        self.target = cloned(event.engine, event.target)
        self.shape = tuple(event.input.shape)
        self.size = int(event.target.shape[0]) if event.target.dim() else 0


class Lessons:
    """Collects batches until there are enough."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.model: Any = None  # a copy, of before the first step
        self.mode = True
        self.engine: Any = None
        self.optimizer: tuple[type, dict[str, Any]] | None = None
        self.site: Any = None
        self.reason = "no batch of a model and its loss was seen"
        self._module: Any = None  # a weak reference to the model itself
        # Calls since the last loss: module, output, arguments; an outer module comes after its parts.
        self._calls: list[tuple[Any, Any, tuple[Any, ...]]] = []
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        return len(self.batches) >= BATCHES or self._bytes > LARGEST

    def on_module(self, event: ModuleCall) -> None:
        """A module, in a forward that is recorded."""
        if self.is_full or not event.grad_mode:
            return
        output = first_tensor(event.engine, event.output)
        if output is not None and output.requires_grad:
            self._calls.append((event.module, output, event.args))

    def on_loss(self, event: Loss) -> None:
        if self.is_full or not event.input.requires_grad:
            return
        calls, self._calls = self._calls, []
        given = event.input
        mine = [
            (m, args) for m, output, args in calls
            if output.numel() == given.numel() and output.data_ptr() == given.data_ptr()
        ]  # fmt: skip
        if not mine:
            self.reason = "the loss is not one of a model's output alone"
            return
        module, args = mine[-1]
        if self._module is None:
            self.model = copy_of(module)
            if self.model is None:
                self.reason = "the model cannot be copied"
                return
            self.mode, self.engine = bool(module.training), event.engine
            self._module = weakref.ref(module)
        if self._module() is module:
            self.site = event.site
            kept = cloned(event.engine, args)
            self.batches.append(Batch(kept, event))
            self._bytes += sum(
                a.numel() * a.element_size() for a in kept if hasattr(a, "element_size")
            )

    def on_step(self, event: Step) -> None:
        self._calls = []
        if self.optimizer is None and self._module is not None:
            own = (
                {id(p) for p in self._module().parameters()}
                if self._module() is not None
                else set()
            )
            if any(id(p) in own for p in event.parameters):
                group = {k: v for k, v in event.optimizer.param_groups[0].items() if k != "params"}
                self.optimizer = type(event.optimizer), group
