"""The runs of an export: the unchanged model, several times, with all its state restored afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..._autograd.grad_mode import no_grad
from ..._autograd.modes import change, modes
from ..._tensor.random_state import get_rng_state, set_rng_state
from ..._tensor.tensor import Tensor
from ...nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from .dynamic import Place
from .errors import refused
from .inputs import Arguments, leaves, like
from .recording import Run, Use
from .watching import Watch


class _Exporting(threading.local):
    depth = 0


exporting = _Exporting()


def weights_of(model: Any) -> dict[str, Tensor]:
    """Parameters and buffers by their names in `state_dict`, including second names."""
    named = dict(model.named_parameters(remove_duplicate=False))
    named.update(model.named_buffers(remove_duplicate=False))
    return named


@contextmanager
def as_it_was(model: Any, weights: dict[str, Tensor]) -> Iterator[None]:
    """A context that undoes what a run does to buffers, random numbers and the mode."""
    held = {
        name: (t, t._version_box[0], np.array(t._data))
        for name, t in weights.items()
        if type(t._data) is np.ndarray
    }
    state = get_rng_state()
    exporting.depth += 1
    inference = modes.inference
    change(inference=False)
    try:
        with no_grad():
            yield
    finally:
        change(inference=inference)
        exporting.depth -= 1
        set_rng_state(state)
        for tensor, version, data in held.values():
            if tensor._version_box[0] != version and tensor._data.shape == data.shape:
                np.copyto(tensor._data, data)
        for name, (tensor, _, _) in held.items():
            _put_back(model, name, tensor)


def _put_back(model: Any, name: str, tensor: Tensor) -> None:
    """Restore a buffer that `forward` replaced by another tensor."""
    owner, _, last = name.rpartition(".")
    module = model.get_submodule(owner)
    for table in (module._buffers, module._parameters):
        if last in table and table[last] is not tensor:
            table[last] = tensor


class Runner:
    """Runs a model with arguments like the example's."""

    def __init__(
        self,
        model: Any,
        given: Arguments,
        leaves_: Callable[[str, str, Any], None],
        turns: bool,
        custom: Any,
    ) -> None:
        self.model = model
        self.given = given
        self.leaves = leaves_
        self.turns = turns
        self.custom = custom
        self.weights = weights_of(model)
        self.ids: dict[int, tuple[str, Tensor]] = {}
        for name, tensor in self.weights.items():
            self.ids.setdefault(id(tensor), (name, tensor))
        self.paths = {id(module): name for name, module in model.named_modules()}

    def tensors(self, sizes: dict[Place, int], turned: bool) -> list[Tensor]:
        return [
            like(t, {a: n for (j, a), n in sizes.items() if j == i}, turned)
            for i, t in enumerate(self.given.tensors)
        ]

    def unwatched(self, sizes: dict[Place, int]) -> Exception | None:
        """The error of a plain run, if there is one."""
        with as_it_was(self.model, self.weights):
            try:
                self.given.called(self.model, self.tensors(sizes, False))
            except Exception as error:
                return error
        return None

    def watched(self, sizes: dict[Place, int], turned: bool) -> Run:
        watch = Watch(self.ids, self.leaves, self.custom)
        tensors = self.tensors(sizes, turned and self.turns)
        for i, tensor in enumerate(tensors):
            watch.given(tensor, i)
        before = {name: (t, t._version_box[0]) for name, t in self.weights.items()}
        with as_it_was(self.model, self.weights), self._paths(watch):
            with watch.watching():
                result = self.given.called(self.model, tensors)
            watch.run.outputs = self._outputs(watch, result)
            for name, (tensor, version) in before.items():
                if tensor._version_box[0] != version:
                    watch.run.written.setdefault(name, None)
        return watch.run

    def _outputs(self, watch: Watch, result: Any) -> list[Any]:
        found: list[Any] = []
        for path, leaf in leaves(result):
            if isinstance(leaf, Tensor):
                found.append(Use(watch.use(leaf)))
            elif isinstance(leaf, (int, float, bool)):
                found.append(leaf)
            elif leaf is not None:
                where = "".join(f"[{k!r}]" for k in path)
                raise refused(
                    f"the model returns a {type(leaf).__name__} (output{where}); a graph gives tensors"
                )
        if not any(isinstance(x, Use) for x in found):
            raise refused("the model returns no tensor: there is nothing to export")
        return found

    @contextmanager
    def _paths(self, watch: Watch) -> Iterator[None]:
        """Track which module is running."""
        stack: list[Any] = []

        def enter(module: Any, args: Any) -> None:
            name = self.paths.get(id(module))
            stack.append(module)
            watch.paths.append(
                watch.path() if name is None else f"/{name.replace('.', '/')}" if name else ""
            )

        def leave(module: Any, args: Any, output: Any) -> None:
            while stack and stack.pop() is not module:
                watch.paths.pop()
            if watch.paths:
                watch.paths.pop()

        handles = [register_module_forward_pre_hook(enter), register_module_forward_hook(leave)]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


__all__ = ["Runner", "as_it_was", "exporting"]
