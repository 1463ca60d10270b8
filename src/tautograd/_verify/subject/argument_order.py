"""Reports inputs passed in the wrong order, if another order of the same tensors runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import permutations
from typing import Any

from .calls import parameter_names
from .engines import is_tensor

_MOST = 4  # at most this many inputs are permuted


def tell_order(
    error: BaseException,
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> None:
    """Add a sentence to an error if the call runs with its tensors in exactly one other order."""
    places = [i for i, value in enumerate(args) if is_tensor(value)]
    if not 2 <= len(places) <= _MOST:
        return
    runs = []
    for order in permutations(places):
        if list(order) == places:
            continue
        given = list(args)
        for place, source in zip(places, order, strict=True):
            given[place] = args[source].detach().clone()
        try:
            target(*given, **kwargs)
        except Exception:
            continue
        runs.append(order)
        if len(runs) > 1:  # then the order explains nothing
            return
    if not runs:
        return
    names = parameter_names(target)
    said = ", ".join(
        f"{names[place] if place < len(names) else f'input {place}'} = input {source}"
        for place, source in zip(places, runs[0], strict=True)
    )
    error.add_note(f"inputs: in another order it runs ({said}); are they in the wrong order?")
