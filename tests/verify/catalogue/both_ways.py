"""A custom function of the kind that public code has, with its right backward and with mistakes in it.

Each is written once: the forward, the backward that is right, and for each mistake the backward that has it.
The right one is tried in several settings that are easy to accuse: in float32, at small and large inputs,
twice in one program, on inputs that lie otherwise in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .table import bound_to, draw, op, right, wrong

BATCH = "second"
Settings = dict[str, Callable[[Any, list[Any]], tuple[Any, ...]]]


def _once(F: Any, inputs: list[Any]) -> tuple[Any, ...]:
    return lambda *xs: F.apply(*xs) * 1.25, *inputs


def _twice(F: Any, inputs: list[Any]) -> tuple[Any, ...]:
    return lambda *xs: (F.apply(*xs) * F.apply(*(x * 0.75 for x in xs))).sum(), *inputs


def _summed(F: Any, inputs: list[Any]) -> tuple[Any, ...]:
    return lambda *xs: F.apply(*xs).sum(), *inputs


def _transposed(F: Any, inputs: list[Any]) -> tuple[Any, ...]:
    laid = [x.detach().transpose(0, -1).contiguous().transpose(0, -1) for x in inputs]
    return lambda *xs: F.apply(*xs).sin(), *(x.requires_grad_() for x in laid)


def _single(F: Any, inputs: list[Any]) -> tuple[Any, ...]:
    return lambda *xs: F.apply(*xs).mean(), *(x.detach().float().requires_grad_() for x in inputs)


def _scaled(by: float) -> Callable[[Any, list[Any]], tuple[Any, ...]]:
    def setting(F: Any, inputs: list[Any]) -> tuple[Any, ...]:
        return lambda *xs: F.apply(*xs), *((x.detach() * by).requires_grad_() for x in inputs)

    return setting


SETTINGS: Settings = {
    "twice": _twice,
    "single": _single,
    "transposed": _transposed,
    "small": _scaled(1e-3),
    "large": _scaled(20.0),
}


def function(
    kind: str,
    name: str,
    forward: Any,
    good: Any,
    mistakes: dict[str, Any],
    *shapes: Any,
    settings: str = "twice single transposed",
    **drawn: Any,
) -> None:
    """A row for each mistake, and one for each setting of the right one."""

    def made(torch: Any, title: str, backward: Any) -> tuple[Any, list[Any]]:
        names = {"torch": torch}
        F = op(torch, title, bound_to(forward, names), bound_to(backward, names))
        return F, [draw(torch, *s, seed=i, **drawn) for i, s in enumerate(shapes)]

    for number, (mistake, bad) in enumerate(mistakes.items()):
        place = (_once, _summed, _once, _transposed)[number % 4]

        def build(torch: Any, bad: Any = bad, place: Any = place) -> tuple[Any, ...]:
            return place(*made(torch, "Odd", bad))

        wrong(kind, f"{name}: {mistake}", "Odd", build, batch=BATCH)
    for setting in settings.split():

        def build_right(torch: Any, put: Any = SETTINGS[setting]) -> tuple[Any, ...]:
            return put(*made(torch, "Fair", good))

        right(kind, f"{name}, {setting}", build_right, batch=BATCH)
