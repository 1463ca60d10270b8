"""The table of lowerings: what each operation's record becomes in ONNX.

A lowering is a function `(g, s, *inputs, **parameters)`: the graph, the step (its results' forms), the
record's inputs (names with shape and dtype; numbers, None, lists if the record takes them) and its
parameters by the record's own names. It returns the name of the result, or a tuple if there are several, with
None for one that it cannot produce (an error only if it is used).
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .graph import V
from .merging import TypedSize
from .sizes import Size

Lowering = Callable[..., Any]
LOWERINGS: dict[str, Lowering] = {}


def lower(*names: str) -> Callable[[Lowering], Lowering]:
    """Declare the lowering of these records."""

    def declared(function: Lowering) -> Lowering:
        for name in names:
            assert name not in LOWERINGS, name
            LOWERINGS[name] = function
        return function

    return declared


def simple(kind: str, *names: str, **attributes: Any) -> None:
    """Declare records that map to a single operator."""

    def lowering(g: Any, s: Any, *inputs: Any) -> Any:
        return g.op(kind, *operands(g, inputs), **attributes)

    lower(*names)(lowering)


def operands(g: Any, inputs: Any) -> list[Any]:
    """Tensors and numbers as tensors of one dtype: numbers take that of the tensors beside them."""
    kind = next((x.dtype for x in inputs if isinstance(x, V)), None)
    return [number(g, x, kind) for x in inputs]


def number(g: Any, x: Any, kind: Any) -> Any:
    """A number as a constant of this dtype; a tensor unchanged."""
    if x is None or isinstance(x, str):
        return x
    if isinstance(x, TypedSize):
        return g.cast(g.scalar(x.size), x.dtype if kind is None else kind)
    if isinstance(x, Size):
        return g.cast(g.scalar(x), kind)
    if isinstance(x, np.generic) and kind is None:
        return g.constant(x)
    return g.constant(np.asarray(x).astype(kind))


def dims_of(dim: Any, rank: int) -> list[int] | None:
    """The dimensions of a reduction as axes; None for all."""
    if dim is None or rank == 0:
        return None
    dims = list(dim) if isinstance(dim, (tuple, list)) else [dim]
    return [int(d) % rank for d in dims]


def unsupported(step: Any, detail: str) -> Exception:
    from .errors import unsupported as error

    return error(step.op.public_name, f" {detail}", step.site)


def step_of(op: Any, outputs: list[Any], site: Any, used: set[int]) -> SimpleNamespace:
    """What a lowering gets to know of its step."""
    return SimpleNamespace(
        op=op, name=op.name, outputs=outputs, out=outputs[0], site=site, used=used
    )
