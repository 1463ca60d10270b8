"""A record with its program and its guards, and what a replay does besides running the program."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .._autograd.modes import modes
from .._tensor.tensor import Tensor, make
from .capture import Capture, Given, Made, capture, replaced, tensors_in
from .differentiable import Differentiable, UsedNode, is_cut
from .guards import Guards, Variables
from .ir import Call
from .lifting import grad_of, set_grad
from .modules import Modules, noting
from .passes import improved
from .quick import quick_way
from .replay import Replay


class Entry:
    """One way in which the function runs."""

    def __init__(
        self, fn: Callable[..., Any], key: Any, call: Any, found: Capture, guards: Guards, native: bool
    ) -> None:  # fmt: skip
        self.fn = fn
        self.name = getattr(fn, "__qualname__", type(fn).__name__)
        self.key = key
        self.call = call  # arguments with Given in place of tensors
        self.capture = found
        self.guards = guards
        self.lock = threading.RLock()
        self.recorded_size = len(found.program.instructions)
        self.program = improved(found.program)
        self.replay_of = Replay(self.program, found.inputs, native)
        self.size = len(self.program.instructions)
        self.has_calls_with_effects = any(
            isinstance(i, Call) and i.effect and not is_cut(i) for i in self.program.instructions
        )
        self.calls = 0
        self.made_tensors: dict[int, Tensor] = {}  # results that can go backward, by their number
        self._made: dict[int, Tensor] = {}
        self._arrays: list[Any] = []  # of this call's arguments
        self.differentiable = None if found.backward is None else Differentiable(self)
        self.modes = modes.way[0], modes.lower
        self._nodes: dict[int, Any] = {}
        self.form = _form(call, found)
        self.quick: Any = None

    @classmethod
    def recorded(
        cls, fn: Callable[..., Any], key: Any, args: Any, kwargs: Any, native: bool
    ) -> tuple[Entry, Any]:
        """Run a function while recording it; what it gave is given back."""
        modules = Modules()
        variables = Variables(fn)
        tensors = list(tensors_in((args, kwargs)))
        with noting(modules):
            found = capture(fn, args, kwargs)
        modules.settle()
        call = replaced((args, kwargs), {id(t): Given(i, None) for i, t in enumerate(tensors)})
        found.returned = None  # with it goes the history, and all that the recording computed
        entry = cls(fn, key, call, found, Guards(found, modules, variables), native)
        entry.replay_of.take_over()
        entry.quick = quick_way(entry)
        return entry, entry.finish(tensors, [t._data for t in tensors])

    def replay(self, tensors: list[Tensor]) -> Any:
        """Do again what was recorded, with these arguments."""
        self.calls += 1
        found, replay = self.capture, self.replay_of
        arrays = [tensor._data for tensor in tensors]
        if self.differentiable is not None:
            self.differentiable.put_aside()
        replay.load(arrays)
        for effect in found.effects:
            effect()
        replay.run(0)
        if found.argument_writes:
            replay.unload(arrays, found.argument_writes)
            for i in found.argument_writes:
                tensors[i]._version_box[0] += 1
        for tensor, grad in found.grads_after:
            if grad_of(tensor) is not grad:
                set_grad(tensor, grad)
        for box, growth in found.versions:
            box[0] += growth
        return self.finish(tensors, arrays)

    def finish(self, tensors: list[Tensor], arrays: list[Any]) -> Any:
        """What the function returns, from what the program left."""
        self._arrays = arrays
        if self.differentiable is not None:
            return self.differentiable.results(tensors, arrays)
        return self.built(self.capture.result, tensors)

    def built(self, value: Any, tensors: list[Tensor]) -> Any:
        """Results with tensors in them: new ones, and those that came in."""
        self.made_tensors, self._made = {}, {}
        return self._built(value, tensors)

    def with_tensors(self, tensors: list[Tensor]) -> Any:
        """Arguments of a call, with these tensors in them."""
        return self._built(self.call, tensors)

    tensors_of = staticmethod(tensors_in)

    def _built(self, value: Any, tensors: list[Tensor]) -> Any:
        """What the function returns: new tensors, and those that came in."""
        if isinstance(value, Made):
            return self.made(value)
        if isinstance(value, Given):
            return value.tensor if value.argument is None else tensors[value.argument]
        if isinstance(value, (tuple, list)):
            parts = [self._built(v, tensors) for v in value]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        if isinstance(value, dict):
            return {k: self._built(v, tensors) for k, v in value.items()}
        return value

    def node_of(self, value: Made) -> Any:
        """The node of a result whose graph went backward inside: it refuses to do so again, as ever."""
        if not (value.requires_grad and value.used):
            return None
        node = self._nodes.get(id(value))
        if node is None:
            node = self._nodes[id(value)] = UsedNode()
            node.shape, node.dtype = value.view.shape, value.view.dtype
        return node

    def made(self, value: Made) -> Tensor:
        found = self._made.get(id(value))
        if found is not None:
            return found
        tensor = make(self.replay_of.result(value.view, self._arrays))
        if value.requires_grad and value.used:
            tensor._node = self.node_of(value)
        elif value.requires_grad:
            tensor._requires_grad = True
        self._made[id(value)] = tensor
        if value.root is not None:
            self.made_tensors[value.root] = tensor
        if modes.inference:
            from .._autograd.inference import as_inference

            as_inference(tensor)
        return tensor


def _form(call: Any, found: Capture) -> list[Any] | None:
    """The form of arguments that are plain tensors one after the other; else None."""
    args, kwargs = call
    if kwargs or not all(isinstance(a, Given) for a in args) or len(args) != len(found.arguments):
        return None
    views = found.arguments
    wanted = found.wanted
    return [(v.shape, v.strides, v.dtype, w) for v, w in zip(views, wanted, strict=True)]
