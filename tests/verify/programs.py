"""What wrong programs are made with, and where they are kept: FIRST_ORDER and SECOND_ORDER.

Each takes the engine and gives `run`, its leaves by name, and the name of the operation to blame; the line
to blame is marked `# here`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Program = Callable[[Any], tuple[Callable[[], Any], dict[str, Any], str]]

FIRST_ORDER: dict[str, Program] = {}
SECOND_ORDER: dict[str, Program] = {}


def program(fn: Program) -> Program:
    FIRST_ORDER[fn.__name__] = fn
    return fn


def second(fn: Program) -> Program:
    SECOND_ORDER[fn.__name__] = fn
    return fn


def leaf(torch: Any, *shape: int, dtype: str = "float64", seed: int = 1) -> Any:
    torch.manual_seed(seed)
    return torch.randn(*shape, dtype=getattr(torch, dtype)).requires_grad_()


def function(torch: Any, name: str, forward: Any, backward: Any) -> Any:
    """A custom Function of one input that saves it."""

    class Custom(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return backward(g, *ctx.saved_tensors)

    Custom.__name__ = name
    return Custom


def sine(torch: Any, backward: Any = None) -> Any:
    return function(torch, "Sine", lambda x: x.sin(), backward or (lambda g, x: -g * x.cos()))
