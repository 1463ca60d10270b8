"""The reentrant form: a custom Function whose backward runs the function anew.

Nothing is recorded in the forward; backward calls `backward` on what the second run recorded.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from ..._random import default_generator
from ..._tensor.tensor import Tensor
from ..api import backward
from ..autocast_state import as_it_was, region_in_force
from ..backward_pass.engine import current_run
from ..function.function import Function
from ..grad_mode import enable_grad, no_grad
from ..views import detached


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs as new leaves."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    found = []
    for value in inputs:
        if isinstance(value, Tensor):
            leaf = detached(value)
            leaf.requires_grad = value.requires_grad
            value = leaf
        found.append(value)
    return tuple(found)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn when no input of a reentrant checkpoint wants a gradient."""
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
        )


@contextlib.contextmanager
def random_state_of(state: Any) -> Iterator[None]:
    """The random stream as it was, for the length of a `with` block (None: as it is)."""
    if state is None:
        yield
        return
    before = default_generator.get_state()
    default_generator.set_state(state)
    try:
        yield
    finally:
        default_generator.set_state(before)


class CheckpointFunction(Function):
    """Runs a function without recording it; its backward runs it again, recorded."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.random_state = default_generator.get_state() if preserve_rng_state else None
        ctx.region = region_in_force()
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if current_run().has_inputs:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        inputs = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[place] = tensor
        leaves = detach_variable(tuple(inputs))
        with random_state_of(ctx.random_state), as_it_was(ctx.region), enable_grad():
            outputs = ctx.run_function(*leaves)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [
            (out, g)
            for out, g in zip(outputs, grads, strict=True)
            if isinstance(out, Tensor) and out.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        backward([out for out, _ in pairs], [g for _, g in pairs])
        return (None, None, *(x._grad if isinstance(x, Tensor) else None for x in leaves))
