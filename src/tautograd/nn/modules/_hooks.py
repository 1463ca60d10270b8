"""Module hooks: registration, for one module or globally.

A module without hooks goes straight to `forward` (see `Module.__call__`); `_hooked_call.py` handles calls
of modules that have some.
"""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..._autograd.effects import structure
from ..._autograd.hooks import RemovableHandle

Hook = Callable[..., Any]


class GlobalHooks:
    """Hooks on all modules."""

    __slots__ = (
        "backward",
        "backward_pre",
        "forward",
        "forward_always_called",
        "forward_pre",
        "forward_with_kwargs",
        "full_backward",
        "when_changed",
    )

    def __init__(self) -> None:
        self.forward_pre: dict[int, Hook] = OrderedDict()
        self.forward: dict[int, Hook] = OrderedDict()
        self.forward_with_kwargs: dict[int, bool] = OrderedDict()
        self.forward_always_called: dict[int, bool] = OrderedDict()
        self.backward_pre: dict[int, Hook] = OrderedDict()
        self.backward: dict[int, Hook] = OrderedDict()
        self.full_backward: bool | None = None  # whether those in `backward` are full hooks
        # While there are any, every module call has to check for them.
        self.when_changed: Callable[[], None] = lambda: None

    def hang(
        self, hooks: dict[int, Hook], hook: Hook, *marks: tuple[dict[int, bool], bool]
    ) -> RemovableHandle:
        """Add a global hook."""
        handle = _GlobalHandle(hooks, extra_dict=[marked for marked, _ in marks])
        _hang(handle, hooks, hook, marks)
        self.when_changed()
        return handle

    @property
    def are_used(self) -> bool:
        return bool(self.forward_pre or self.forward or self.backward_pre or self.backward)


class _GlobalHandle(RemovableHandle):
    """A handle of a global hook; removing the last one also removes their overhead."""

    def remove(self) -> None:
        super().remove()
        global_hooks.when_changed()


global_hooks = GlobalHooks()


def hang(
    hooks: dict[int, Hook],
    hook: Hook,
    *marks: tuple[dict[int, bool], bool],
    prepend: bool = False,
) -> RemovableHandle:
    """Add a hook, first or last, and its id to each of the marks that apply to it."""
    handle = RemovableHandle(hooks, extra_dict=[marked for marked, _ in marks])
    _hang(handle, hooks, hook, marks)
    if prepend:
        hooks.move_to_end(handle.id, last=False)  # type: ignore[attr-defined]
    return handle


def _hang(
    handle: RemovableHandle,
    hooks: dict[int, Hook],
    hook: Hook,
    marks: tuple[tuple[dict[int, bool], bool], ...],
) -> None:
    structure[0] += 1
    hooks[handle.id] = hook
    for marked, holds in marks:
        if holds:
            marked[handle.id] = True


class WrappedHook:
    """A hook that receives its module first, without keeping the module alive."""

    def __init__(self, hook: Hook, module: Any = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if module is not None:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


class Hooked:
    """Registers hooks on a module."""

    _backward_pre_hooks: dict[int, Hook]
    _backward_hooks: dict[int, Hook]
    _is_full_backward_hook: bool | None
    _forward_hooks: dict[int, Hook]
    _forward_hooks_with_kwargs: dict[int, bool]
    _forward_hooks_always_called: dict[int, bool]
    _forward_pre_hooks: dict[int, Hook]
    _forward_pre_hooks_with_kwargs: dict[int, bool]

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; it may return other arguments."""
        marks = (self._forward_pre_hooks_with_kwargs, with_kwargs)
        return hang(self._forward_pre_hooks, hook, marks, prepend=prepend)

    def register_forward_hook(
        self,
        hook: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; it may return another output."""
        return hang(
            self._forward_hooks,
            hook,
            (self._forward_hooks_with_kwargs, with_kwargs),
            (self._forward_hooks_always_called, always_call),
            prepend=prepend,
        )

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the module's gradient is computed."""
        return hang(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the module's gradient is computed."""
        self._only_one_kind(full=True)
        return hang(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Deprecated: a hook on only the last node of `forward`."""
        self._only_one_kind(full=False)
        return hang(self._backward_hooks, hook)

    def _only_one_kind(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them."
            )
        self._is_full_backward_hook = full


# --- for all modules ------------------------------------------------------------------------------


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before the `forward` of every module."""
    return global_hooks.hang(global_hooks.forward_pre, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the `forward` of every module."""
    return global_hooks.hang(
        global_hooks.forward,
        hook,
        (global_hooks.forward_with_kwargs, with_kwargs),
        (global_hooks.forward_always_called, always_call),
    )


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` before the gradient of any module is computed."""
    return global_hooks.hang(global_hooks.backward_pre, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` when the gradient of any module is computed."""
    return _hang_backward(hook, full=True)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Deprecated: a hook on only the last node of every module's `forward`."""
    return _hang_backward(hook, full=False)


def _hang_backward(hook: Hook, full: bool) -> RemovableHandle:
    if global_hooks.full_backward is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module "
            "hook. Please use only one of them."
        )
    global_hooks.full_backward = full
    return global_hooks.hang(global_hooks.backward, hook)
