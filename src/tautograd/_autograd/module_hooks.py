"""Watching the gradients that enter and leave a module.

The module's inputs and outputs each pass through an identity with a node of its own. The node of the
outputs sees `grad_output`, once all of it is there; that of the inputs sees `grad_input`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .._tensor.tensor import Tensor
from .effects import call_hook
from .function.function import Function
from .modes import modes

_HOW = (
    "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.register_full_backward_hook"
)


class BackwardHookFunction(Function):
    """The identity, to have one node for several tensors."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        return args


def _spread(places: Sequence[int], values: Sequence[Any], size: int) -> tuple[Any, ...]:
    """Values at these places of a tuple that is otherwise None."""
    found = [None] * size
    for place, value in zip(places, values, strict=True):
        found[place] = value
    return tuple(found)


class BackwardHook:
    """The backward hooks and pre-hooks of one call of a module."""

    def __init__(
        self, module: Any, user_hooks: Sequence[Any], user_pre_hooks: Sequence[Any]
    ) -> None:
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs: Any = None
        self.n_inputs = self.n_outputs = -1
        self.input_tensors_index: list[int] | None = None
        self.output_tensors_index: list[int] | None = None

    def setup_input_hook(self, args: Any) -> Any:
        """The module's arguments, watched."""
        found, self.input_tensors_index = _watched(args, self._on_inputs)
        self.n_inputs = len(args)
        return found

    def setup_output_hook(self, args: Any) -> Any:
        """The module's result, watched."""
        several = args if isinstance(args, tuple) else (args,)
        found, self.output_tensors_index = _watched(several, self._on_outputs)
        self.n_outputs = len(several)
        return found if isinstance(args, tuple) else found[0]

    def _on_outputs(self, _: Any, grad_output: Any) -> Any:
        places = self.output_tensors_index or []
        self.grad_outputs = _spread(places, grad_output, self.n_outputs)
        for hook in self.user_pre_hooks:
            found = call_hook(hook, self.module, self.grad_outputs)
            if found is None:
                continue
            if len(found) != self.n_outputs:
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, got "
                    f"{len(found)}, but expected {self.n_outputs}"
                )
            self.grad_outputs = found
        outputs = self.grad_outputs
        if self.input_tensors_index is None:  # no node of inputs will come to call the hooks
            self._run_without_inputs()
        return tuple(outputs[place] for place in places)

    def _run_without_inputs(self) -> None:
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module "
            f"outputs since no inputs require gradients. See {_HOW} for more details.",
            stacklevel=5,
        )
        for hook in self.user_hooks:
            found = call_hook(hook, self.module, (None,) * self.n_inputs, self.grad_outputs)
            if found is not None and not (
                isinstance(found, tuple) and all(one is None for one in found)
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )
        self.grad_outputs = None

    def _on_inputs(self, grad_input: Any, _: Any) -> Any:
        if self.grad_outputs is None:  # the outputs had no part in this backward
            return None
        places = self.input_tensors_index or []
        found = _spread(places, grad_input, self.n_inputs)
        for hook in self.user_hooks:
            replaced = call_hook(hook, self.module, found, self.grad_outputs)
            if replaced is None:
                continue
            if len(replaced) != len(found):
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(replaced)}, "
                    f"but expected {len(found)}"
                )
            found = replaced
        self.grad_outputs = None
        return tuple(found[place] for place in places)


def _watched(args: Any, hook: Callable[..., Any]) -> tuple[Any, list[int] | None]:
    """A tuple whose tensors come from one node with this hook, and their places in it."""
    places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
    if not (modes.grad and any(args[i].requires_grad for i in places)):
        return args, None
    passed = BackwardHookFunction.apply(*[args[i] for i in places])
    node = next(t.grad_fn for t in passed if t.requires_grad)
    node.register_hook(hook)
    found = list(args)
    for place, value in zip(places, passed, strict=True):
        found[place] = value
    return (tuple(found) if type(args) is tuple else type(args)(*found)), places
