"""Records without a function of their own: the program that reaches them, and its samples.

A few records stand for what PyTorch does behind an expression rather than behind a name (writing
through a view, say). Each entry is a function of the engine that returns the program to run on it.
"""

from __future__ import annotations

from typing import Any

from tautograd._ops.samples import Sample, T


def _write_through_view(engine: Any) -> Any:
    def program(x: Any, part: Any) -> Any:
        y = x.clone()
        view = y[0]
        view.mul_(part)
        return y

    return program


PROGRAMS: dict[str, tuple[Any, list[Sample]]] = {
    "view_scatter": (_write_through_view, [Sample(T(3, 2), T(2)), Sample(T(3), T())]),
}
