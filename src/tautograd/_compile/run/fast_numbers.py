"""The shortest way into a program that takes Python numbers as inputs: they come into place, then it is as ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..record.results import Computed
from .fast_entry import MISS, quick_way


def way_in(entry: Any) -> Callable[[tuple[Any, ...]], Any] | None:
    """A function of the arguments that replays, or gives `MISS`; None where only the long way will do."""
    if entry.parts is not None:
        return None
    attempt = quick_way(entry)
    scalars = entry.capture.scalars
    if attempt is None or not scalars.steps:
        return attempt
    arguments = entry.call[0]
    count = len(arguments)
    places = [i for i, argument in enumerate(arguments) if isinstance(argument, Computed)]
    others = [i for i in range(count) if i not in places]
    spots = entry.spots
    constant = [(place, _bits(scalars.values[place])) for place in scalars.pinned]
    begin, load = scalars.begin, scalars.load
    acquire, release = entry.lock.acquire, entry.lock.release

    def with_numbers(args: tuple[Any, ...]) -> Any:
        if len(args) != count:
            return MISS
        numbers = begin([args[i] for i in places] + [spot.look() for spot in spots])
        if numbers is None or any(_bits(numbers[place]) != bits for place, bits in constant):
            return MISS
        if not acquire(False):
            return MISS
        if entry.inside:
            release()
            return MISS
        try:
            entry.inside = 1
            load(numbers)
            return attempt(tuple([args[i] for i in others]))
        finally:
            entry.inside = 0
            release()

    return with_numbers


def _bits(value: Any) -> Any:
    return float(value).hex()
