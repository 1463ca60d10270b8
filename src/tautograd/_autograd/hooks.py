"""Hooks: functions a user hangs on tensors and nodes, in the order they were hung."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

from .._arrays.dtypes import LEGACY_NAMES
from .._tensor.tensor import current_node
from .effects import call_hook, put_off_no_longer, structure

_next_id = itertools.count().__next__


class RemovableHandle:
    """Takes a hook away again: `handle.remove()`, or leave its `with` block."""

    __slots__ = ("__weakref__", "_extra", "_hooks", "id")

    def __init__(self, hooks_dict: dict[int, Any], *, extra_dict: Any = ()) -> None:
        self._hooks = hooks_dict
        self._extra = (extra_dict,) if isinstance(extra_dict, dict) else tuple(extra_dict or ())
        self.id = _next_id()

    @property
    def hooks_dict_ref(self) -> Callable[[], dict[int, Any] | None]:
        """A function that gives the hooks among which this one was hung."""
        return lambda: self._hooks

    def remove(self) -> None:
        put_off_no_longer("a hook is removed")
        structure[0] += 1
        self._hooks.pop(self.id, None)
        for other in self._extra:  # where else the hook's number is written down
            other.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def add_hook(hooks: dict[int, Any], fn: Callable[..., Any]) -> RemovableHandle:
    put_off_no_longer("a hook is registered")
    structure[0] += 1
    handle = RemovableHandle(hooks)
    hooks[handle.id] = fn
    return handle


def register_hook(self: Any, hook: Callable[[Any], Any]) -> RemovableHandle:
    """Call `hook(grad)` each time a gradient for this tensor is computed.

    The hook may return a new gradient to use in its place; it must not change its argument.
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    node = current_node(self)
    if node is None:
        if self._hooks is None:
            self._hooks = {}
            self._watched = True
        return add_hook(self._hooks, hook)
    if node.tensor_hooks is None:
        node.tensor_hooks = {}
    node.unusual = True
    return add_hook(node.tensor_hooks.setdefault(self._output_nr, {}), hook)


def register_post_accumulate_grad_hook(self: Any, hook: Callable[[Any], None]) -> RemovableHandle:
    """Call `hook(tensor)` after this leaf's `.grad` has been updated."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if self._post_hooks is None:
        self._post_hooks = {}
        self._watched = True
    return add_hook(self._post_hooks, hook)


def retain_grad(self: Any) -> None:
    """Keep the gradient of this non-leaf tensor in `.grad`."""
    put_off_no_longer("`retain_grad()`")
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    node = current_node(self)
    if node is None or self._retains_grad:
        return
    self._retains_grad = True
    if node.retained is None:
        node.retained = {}
    node.unusual = True
    node.retained[self._output_nr] = weakref.ref(self)


def call_tensor_hooks(hooks: dict[int, Any], grad: Any) -> Any:
    """Run hooks on a gradient (a Tensor, or None where none arrived); each may replace it."""
    for hook in list(hooks.values()):
        result = call_hook(hook, grad)
        if result is not None:
            _check_replacement(hook, result, grad)
            grad = result
    return grad


def replacements(hook: Any, result: Any, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a node's hook has put in the place of gradients, each of its gradient's form."""
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) != len(values):
        raise RuntimeError(
            f"hook '{_name(hook)}' has returned an incorrect number of values (got {len(result)}, but "
            f"expected {len(values)})"
        )
    for new, old in zip(result, values, strict=True):
        if new is not None:
            _check_replacement(hook, new, old)
    return result


def _check_replacement(hook: Any, result: Any, grad: Any) -> None:
    if grad is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(result, type(grad)) and not hasattr(result, "_data"):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    if result.dtype != grad.dtype:
        raise RuntimeError(
            f"hook '{_name(hook)}' has changed the type of value (was "
            f"torch.{LEGACY_NAMES[grad.dtype]}Tensor got torch.{LEGACY_NAMES[result.dtype]}Tensor)"
        )
    if result.shape != grad.shape:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value")


def _name(hook: Any) -> str:
    return getattr(hook, "__name__", type(hook).__name__)
