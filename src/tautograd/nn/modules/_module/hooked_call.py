"""Calls a module that has hooks."""

from __future__ import annotations

import warnings
from typing import Any

from ...._autograd.effects import call_hook
from ...._tensor.tensor import Tensor
from ....utils.hooks import BackwardHook
from .._hooks import WrappedHook, global_hooks


def call_with_hooks(module: Any, args: Any, kwargs: Any) -> Any:
    """`module(*args, **kwargs)` with every hook in order."""
    call = _Call(module, args, kwargs)
    try:
        return call.run()
    except Exception:
        call.run_hooks_always_called()
        raise


class _Call:
    """One call of a module: its arguments, its result, and the hooks that have run."""

    def __init__(self, module: Any, args: Any, kwargs: Any) -> None:
        self.module = module
        self.args = args
        self.kwargs = kwargs
        self.result: Any = None
        self.always_called: set[int] = set()

    def run(self) -> Any:
        module = self.module
        before = (*global_hooks.backward_pre.values(), *module._backward_pre_hooks.values())
        full: list[Any] = []
        partial: list[Any] = []
        for is_full, hooks in (
            (global_hooks.full_backward, global_hooks.backward),
            (module._is_full_backward_hook, module._backward_hooks),
        ):
            (full if is_full else partial).extend(hooks.values())
        self._run_pre_hooks()
        watcher = BackwardHook(module, full, before) if full or before else None
        if watcher:
            self.args = watcher.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        self._run_hooks()
        if watcher:
            if not isinstance(self.result, (Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple "
                    f"of Tensors but received {type(self.result)}",
                    stacklevel=4,
                )
            self.result = watcher.setup_output_hook(self.result)
        if partial:
            _watch_last_node(module, partial, self.args, self.result)
        return self.result

    def _run_pre_hooks(self) -> None:
        module = self.module
        with_kwargs = module._forward_pre_hooks_with_kwargs
        for number, hook in (*global_hooks.forward_pre.items(), *module._forward_pre_hooks.items()):
            if number not in with_kwargs:
                found = call_hook(hook, module, self.args)
                if found is not None:
                    self.args = found if isinstance(found, tuple) else (found,)
                continue
            found = call_hook(hook, module, self.args, self.kwargs)
            if found is None:
                continue
            if not isinstance(found, tuple) or len(found) != 2:
                raise RuntimeError(
                    "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but "
                    f"got {found}."
                )
            self.args, self.kwargs = found

    def _run_hooks(self) -> None:
        module = self.module
        for hooks, kwargs_wanted, always in _forward_hooks(module):
            for number, hook in list(hooks.items()):
                if number in always:
                    self.always_called.add(number)
                self._run_hook(hook, number in kwargs_wanted)

    def _run_hook(self, hook: Any, with_kwargs: bool) -> None:
        given = (self.args, self.kwargs) if with_kwargs else (self.args,)
        found = call_hook(hook, self.module, *given, self.result)
        if found is not None:
            self.result = found

    def run_hooks_always_called(self) -> None:
        """After an error: run the hooks with `always_call` that have not run yet."""
        for whose, (hooks, kwargs_wanted, always) in zip(
            ("global module", "module"), _forward_hooks(self.module), strict=True
        ):
            for number, hook in hooks.items():
                if number not in always or number in self.always_called:
                    continue
                try:
                    self._run_hook(hook, whose == "module" and number in kwargs_wanted)
                except Exception as error:
                    warnings.warn(
                        f"{whose} forward hook with ``always_call=True`` raised an exception that "
                        f"was silenced as another error was raised in forward: {error}",
                        stacklevel=4,
                    )


def _forward_hooks(module: Any) -> tuple[Any, ...]:
    return (
        (
            global_hooks.forward,
            global_hooks.forward_with_kwargs,
            global_hooks.forward_always_called,
        ),
        (
            module._forward_hooks,
            module._forward_hooks_with_kwargs,
            module._forward_hooks_always_called,
        ),
    )


# --- deprecated backward hooks --------------------------------------------------------------------

_MISSING_OUTPUT = "This hook will be missing some grad_output."
_MISSING_INPUT = "This hook will be missing some grad_input."
_DEPRECATED = "is deprecated and will be removed in future versions."
_INSTEAD = "Please use register_full_backward_hook to get the documented behavior."


def _watch_last_node(module: Any, hooks: list[Any], args: Any, result: Any) -> None:
    found = result
    while not isinstance(found, Tensor):
        if isinstance(found, dict):
            found = next(value for value in found.values() if isinstance(value, Tensor))
        else:
            found = found[0]
    node = found.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(WrappedHook(hook, module))
    problem = _what_is_missed(args, result, node)
    if problem:
        warnings.warn(problem, FutureWarning, stacklevel=5)


def _what_is_missed(inputs: Any, result: Any, node: Any) -> str | None:
    """What a hook on only this node misses, in PyTorch's words."""
    outputs = (result,) if isinstance(result, Tensor) else result
    if not (isinstance(outputs, tuple) and all(isinstance(o, Tensor) for o in outputs)):
        return (
            "Using non-full backward hooks on a Module that does not return a single Tensor or a "
            f"tuple of Tensors {_DEPRECATED} {_MISSING_OUTPUT} {_INSTEAD}"
        )
    if not all(isinstance(i, Tensor) for i in inputs):
        return (
            "Using non-full backward hooks on a Module that does not take as input a single Tensor "
            f"or a tuple of Tensors {_DEPRECATED} {_MISSING_INPUT} {_INSTEAD}"
        )
    nodes = {o.grad_fn for o in outputs if o.grad_fn is not None}
    if not nodes or (len(nodes) == 1 and node not in nodes):
        return (
            "Using a non-full backward hook when outputs are nested in python data structure "
            f"{_DEPRECATED} {_MISSING_OUTPUT}"
        )
    if len(nodes) > 1:
        return (
            "Using a non-full backward hook when outputs are generated by different autograd Nodes "
            f"{_DEPRECATED} {_MISSING_OUTPUT} {_INSTEAD}"
        )
    input_nodes = {i.grad_fn for i in inputs if i.grad_fn is not None}
    if input_nodes != {found for found, _ in node.next_functions}:
        return (
            "Using a non-full backward hook when the forward contains multiple autograd Nodes "
            f"{_DEPRECATED} {_MISSING_INPUT} {_INSTEAD}"
        )
    return None
