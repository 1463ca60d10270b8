"""The catalogue's rows: short programs with one wrong gradient, or a right one that is easy to accuse.

A row is a line of a table: its kind, its name and a function of the engine that gives the program and
its inputs. A wrong row also names the operation at fault, whose call stands in the program's own text.
The catalogue is divided by a seeded draw over the names, once for each batch of rows: one half to develop on, one half that is
only counted.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np


@dataclass
class Row:
    """A program, and what should be said of it."""

    kind: str
    name: str
    build: Callable[[Any], tuple[Any, ...]]  # (program, *inputs) of an engine
    operations: tuple[str, ...] = ()  # fair names for the culprit; none: the gradient is right
    cut: bool = False
    options: Callable[[Any], dict[str, Any]] = field(default=lambda torch: {})
    batch: str = "first"  # those that were written, and divided, together


WRONG: dict[str, Row] = {}
RIGHT: dict[str, Row] = {}


def wrong(
    kind: str,
    name: str,
    operations: str,
    build: Callable[[Any], tuple[Any, ...]],
    *,
    cut: bool = False,
    options: Callable[[Any], dict[str, Any]] = lambda torch: {},
    batch: str = "first",
) -> None:
    """Add a program whose gradient is wrong because of the operation named."""
    assert name not in WRONG, name
    WRONG[name] = Row(kind, name, build, tuple(operations.split("|")), cut, options, batch)


def right(
    kind: str,
    name: str,
    build: Callable[[Any], tuple[Any, ...]],
    options: Callable[[Any], dict[str, Any]] = lambda torch: {},
    batch: str = "first",
) -> None:
    """Add a program whose gradient is right."""
    assert name not in RIGHT, name
    RIGHT[name] = Row(kind, name, build, options=options, batch=batch)


def counted(rows: dict[str, Row]) -> list[str]:
    """The names of the half that is only counted; each batch was divided when it was written."""
    found: list[str] = []
    for batch in sorted({row.batch for row in rows.values()}):
        names = sorted(name for name, row in rows.items() if row.batch == batch)
        random.Random("counted").shuffle(names)
        found += names[: len(names) // 2]
    return sorted(found)


def developed_on(rows: dict[str, Row]) -> list[str]:
    """The names of the other half."""
    return sorted(set(rows) - set(counted(rows)))


def op(torch: Any, name: str, forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    """A custom function that saves its tensors; `backward(ctx, g, *saved)` gives the gradients."""

    try:
        takes_ctx = next(iter(inspect.signature(forward).parameters), "") == "ctx"
    except ValueError:  # PyTorch's own functions have no signature
        takes_ctx = False

    def run(ctx: Any, *args: Any) -> Any:
        ctx.save_for_backward(*(a for a in args if isinstance(a, torch.Tensor)))
        ctx.extras = [a for a in args if not isinstance(a, torch.Tensor)]
        ctx.shapes = [tuple(a.shape) for a in args if isinstance(a, torch.Tensor)]
        return forward(ctx, *args) if takes_ctx else forward(*args)

    def back(ctx: Any, *grads: Any) -> Any:
        return backward(ctx, *grads, *ctx.saved_tensors)

    members = {"forward": staticmethod(run), "backward": staticmethod(back)}
    return type(name, (torch.autograd.Function,), members)


def bound_to(function: Any, names: dict[str, Any]) -> Any:
    """The function, and those of its file that it calls, with other globals: `torch` means the engine."""
    scope = {**function.__globals__, **names}

    def moved(one: Any) -> Any:
        return FunctionType(one.__code__, scope, one.__name__, one.__defaults__, one.__closure__)

    for name, value in list(scope.items()):
        if isinstance(value, FunctionType) and value.__globals__ is function.__globals__:
            scope[name] = moved(value)
    return moved(function)


def draw(torch: Any, *shape: int, seed: int = 0, low=-1.5, high=1.5, dtype="float64") -> Any:
    """Uniform numbers, the same on both engines, no nearer to zero than 0.05."""
    array = np.random.default_rng([seed, *shape]).uniform(low, high, shape)
    array = np.where(np.abs(array) < 0.05, 0.3, array)
    if dtype.startswith("complex"):
        array = array + 1j * np.random.default_rng([seed, 7, *shape]).uniform(low, high, shape)
    return torch.tensor(array.tolist(), dtype=getattr(torch, dtype)).requires_grad_()


def leaf(torch: Any, values: Any, dtype: str = "float64") -> Any:
    """These values as a leaf."""
    return torch.tensor(values, dtype=getattr(torch, dtype)).requires_grad_()
