"""Hooks on the steps of one optimizer, or of all optimizers."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from .._autograd.effects import call_hook
from .._autograd.hooks import RemovableHandle, add_hook
from .._autograd.modes import modes, shared
from .._ops.declare.guarding import in_words
from .._user_code.owners import internal

Hooks = OrderedDict[int, Callable[..., Any]]
_global_pre_hooks: Hooks = OrderedDict()
_global_post_hooks: Hooks = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before every step of every optimizer."""
    return add_hook(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after every step of every optimizer."""
    return add_hook(_global_post_hooks, hook)


def whose_step(optimizer: Any) -> str:
    """What user code a step of this optimizer runs, for messages; empty if it is all the library's."""
    home = sys.modules.get(type(optimizer).__module__)
    if not internal[getattr(home, "__file__", None) or "<>"]:
        return "an optimizer whose class is not the library's"
    code = getattr(vars(optimizer).get("step"), "__code__", None)
    if "step" in vars(optimizer) and (code is None or not internal[code.co_filename]):
        return "an optimizer whose `step` was replaced"  # a scheduler's own only records the call
    return ""


def with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """An optimizer's `step`, with hooks before and after it."""

    @wraps(step)
    def hooked(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        if not shared.ordinary and modes.deferred is not None and not whose_step(self):
            return modes.deferred.call(hooked, args, kwargs)
        recorder = modes.recorder
        if recorder is not None:
            recorder.stepping(self)
        pre, post = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        if not (pre or post or _global_pre_hooks or _global_post_hooks):
            try:
                return step(*args, **kwargs)
            except Exception as error:
                spoken = in_words(error, f"{type(self).__name__}.step", args[1:], kwargs)
                if spoken is None:
                    raise
                raise spoken from error
        for hook in (*_global_pre_hooks.values(), *pre.values()):
            call = hook if recorder is None else partial(call_hook, hook)
            result = call(self, args, kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(
                        f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                        f"{result}."
                    )
                args, kwargs = result
        out = step(*args, **kwargs)
        for hook in (*post.values(), *_global_post_hooks.values()):
            call = hook if recorder is None else partial(call_hook, hook)
            call(self, args, kwargs)
        return out

    hooked.hooked = True  # type: ignore[attr-defined]
    return hooked


def added(hooks: Hooks, hook: Callable[..., Any], prepend: bool) -> RemovableHandle:
    handle = add_hook(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle
