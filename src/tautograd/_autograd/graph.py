"""Tools on the graph: hooks on saved tensors, hooks on several gradients, where an edge leads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._tensor.tensor import Tensor, make
from .apply import edge_of
from .function.node import FunctionCtx
from .hooks import RemovableHandle
from .modes import change, modes
from .node import AccumulateGrad, as_node
from .node import Node as _Recorded


class _AnyNode(type):
    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, (_Recorded, FunctionCtx))

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, (_Recorded, FunctionCtx))


class Node(metaclass=_AnyNode):
    """What every `grad_fn` is an instance of, custom Functions' included."""


class saved_tensors_hooks:
    """Inside, each tensor saved for backward goes through `pack_hook`, back by `unpack_hook`."""

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if modes.saved_hooks_disabled is not None:
            raise RuntimeError(modes.saved_hooks_disabled)
        change(saved_hooks=(*modes.saved_hooks, (self._pack, self.unpack_hook)))

    def __exit__(self, *exc: object) -> None:
        change(saved_hooks=modes.saved_hooks[:-1])

    def _pack(self, tensor: Tensor) -> Any:
        """The user's hook, which must leave its argument as it is."""
        version = tensor._version_box
        before = 0 if tensor._is_inference else version[0]
        held = change(saved_hooks=(), grad=False)
        try:
            packed = self.pack_hook(tensor)
        finally:
            change(saved_hooks=held.saved_hooks, grad=held.grad)
        if not tensor._is_inference and version[0] != before:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as "
                "input to pack hook can not be modified by in-place operations as this can lead to "
                "unexpected side-effects. Please open an issue if you need to perform in-place "
                "operations on the input to a pack hook."
            )
        return packed


class save_on_cpu(saved_tensors_hooks):
    """Keep what is saved for backward in main memory (where it already is, on the CPU)."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> Tensor:
            return make(np.copy(tensor._data))

        super().__init__(pack, lambda packed: packed)


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Inside, tensors saved for backward may be changed in place: a copy is kept of each."""

    def __init__(self) -> None:
        super().__init__(lambda tensor: (self, make(np.copy(tensor._data))), self._restore)

    def __enter__(self) -> allow_mutation_on_saved_tensors:  # type: ignore[override]
        if modes.allows_mutation is not None:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        super().__enter__()
        change(allows_mutation=self)
        return self

    def __exit__(self, *exc: object) -> None:
        change(allows_mutation=None)
        super().__exit__(*exc)

    @staticmethod
    def _restore(packed: Any) -> Tensor:
        context, tensor = packed
        if modes.allows_mutation is not context:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in "
                "which the graph was originally recorded."
            )
        found: Tensor = tensor
        return found


class disable_saved_tensors_hooks:
    """Inside, entering `saved_tensors_hooks` raises with this message."""

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        self._before = modes.saved_hooks_disabled
        if modes.saved_hooks:
            raise RuntimeError(self.error_message)
        change(saved_hooks_disabled=self.error_message)

    def __exit__(self, *exc: object) -> None:
        change(saved_hooks_disabled=self._before)


class GradientEdge(NamedTuple):
    """A place in the graph at which gradients can be asked for."""

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge into which this tensor's gradient flows."""
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    return GradientEdge(as_node(edge), tensor._output_nr)


def stand_in(edge: GradientEdge) -> Tensor:
    """A tensor with the history of an edge, to be differentiated in its place; it has no values."""
    if isinstance(edge.node, AccumulateGrad):
        leaf: Tensor = edge.node.variable
        return leaf
    node = edge.node._node if isinstance(edge.node, FunctionCtx) else edge.node
    shape, dtype = node._input_metadata_of(edge.output_nr)
    tensor = make(np.broadcast_to(np.zeros((), dtype), shape))
    tensor._node, tensor._output_nr = node, edge.output_nr
    return tensor


class register_multi_grad_hook:
    """Call `fn` with the gradients of several tensors, when all (or any) of them are there."""

    def __new__(
        cls, tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
    ) -> Any:
        if mode not in ("all", "any"):
            raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
        hooked = list(tensors)
        for tensor in hooked:
            if not isinstance(tensor, Tensor):
                raise TypeError(f"hooks are of tensors, not of {type(tensor).__name__}")
        return (_when_all if mode == "all" else _when_any)(hooked, fn)


class _Handles(RemovableHandle):
    """Several hooks removed as one."""

    __slots__ = ("handles",)

    def __init__(self, handles: list[RemovableHandle]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


def _when_any(tensors: list[Tensor], fn: Callable[..., None]) -> _Handles:
    from .backward_pass.engine import current_run

    seen: dict[str, Any] = {"run": None}

    def hook(grad: Tensor) -> None:
        if seen["run"] is not current_run():
            seen["run"] = current_run()
            fn(grad)

    return _Handles([t.register_hook(hook) for t in tensors if t.requires_grad])


def _when_all(tensors: list[Tensor], fn: Callable[..., None]) -> _Handles:
    from .backward_pass.engine import current_run, tensors_reached

    lock = threading.Lock()
    state: dict[Any, dict[int, Tensor]] = {}

    def hook_for(i: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            run = current_run()
            with lock:
                arrived = state.setdefault(run, {})
                arrived[i] = grad
                complete = len(arrived) == tensors_reached(run, tensors)
                if complete:
                    del state[run]
            if complete:
                fn([arrived.get(k) for k in range(len(tensors))])

        return hook

    return _Handles(
        [t.register_hook(hook_for(i)) for i, t in enumerate(tensors) if t.requires_grad]
    )


def increment_version(tensor: Any) -> None:
    """Tell autograd that these tensors were changed by other means."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not t._is_inference:
            t._version_box[0] += 1


__all__ = [
    "AccumulateGrad",
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]
