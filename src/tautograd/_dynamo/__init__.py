"""`torch._dynamo`: what programs tell PyTorch's compiler, kept; `tautograd.compile` reads no bytecode."""

from __future__ import annotations

import functools
from typing import Any

from ..compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    is_dynamo_compiling,
    list_backends,
    reset,
    substitute_in_graph,
)
from . import config as config
from .eval_frame import OptimizedModule

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "explain",
    "graph_break",
    "is_compiling",
    "is_dynamo_compiling",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "optimize",
    "reset",
    "run",
    "substitute_in_graph",
]


def graph_break(msg: str = "") -> None:
    """Ask for a break in the graph; outside of a compiled function there is none to break."""


def disallow_in_graph(fn: Any) -> Any:
    """Mark a function that no graph may contain; it stays what it is."""
    return fn


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Say that a tensor's memory stays where it is; a recorded step finds that by itself."""


def mark_dynamic(t: Any, index: Any, **bounds: Any) -> None:
    """Say that a size will change; each size is recorded once, here."""


maybe_mark_dynamic = mark_static = mark_unbacked = mark_dynamic


def optimize(backend: Any = "inductor", **options: Any) -> Any:
    """A decorator that compiles: an old name of `torch.compile`."""
    from .._compile.api import compile as compile_

    return functools.partial(compile_, fallback=True)


def run(fn: Any = None) -> Any:
    """Run what is compiled already, without compiling more."""
    return (lambda found: found) if fn is None else fn


def explain(f: Any, *args: Any, **kwargs: Any) -> Any:
    """What compiling a function comes to: see `torch.compile(...).explain`."""
    from .._compile.api import compile as compile_

    return compile_(f, fallback=True).explain
