"""Conditions on values: the only place where an operation inspects numbers in order to refuse them.

An operation that raises for some values declares that here, by a condition that holds for every element it accepts.
For an array in main memory the condition is checked at once. An array type that computes later (a recorder) records
it, by its method `require_all`: so the condition becomes a part of the program that is replayed, and cannot be
forgotten. A `vmap` batch is checked as a whole. An array on a GPU is checked only where PyTorch does so too
(`waits`): reading a value there waits for everything that was launched.

`error` makes the exception from what was found wrong (`Wrong`); it may be kept with a program, so it holds no
tensor and no array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .batching.batched import BatchedArray


class Wrong:
    """The first element that violates a condition, its index, and all elements.

    None of that is available where a replay stops in machine code and cannot be rolled back: `UNKNOWN`.
    """

    def __init__(
        self, value: Any = "(one of them)", place: Any = "(unknown)", array: Any = None
    ) -> None:
        self.value = value
        self.place = place
        self.array = array

    def __str__(self) -> str:
        return str(self.value)


Condition = Callable[[Any], Any]
Refusal = Callable[[Wrong], Exception]
UNKNOWN = Wrong()


def require_all(array: Any, holds: Condition, error: Refusal, waits: bool = False) -> None:
    """Refuse an array unless a condition, elementwise and made only of array functions, holds everywhere."""
    while type(array) is BatchedArray:
        array = array.data
    if isinstance(array, (np.ndarray, np.generic)):
        if not np.all(holds(array)):
            raise error(first_wrong(array, holds(array)))
    elif getattr(array, "gpu_index", None) is not None:
        if waits and not bool(np.all(holds(array))):
            raise error(first_wrong(array.host(), holds(array).host()))
    elif hasattr(array, "require_all"):
        array.require_all(holds, error)


def require_range(array: Any, low: int, high: int, error: Refusal, waits: bool = False) -> None:
    """Refuse integers outside [low, high)."""
    plain = type(array) is np.ndarray
    if plain and (not array.size or (array.min() >= low and array.max() < high)):
        return
    require_all(array, lambda x: _within(x, low, high), error, waits)


def require_between(
    array: Any, low: float, high: float, error: Refusal, waits: bool = False
) -> None:
    """Refuse numbers outside [low, high], and NaN."""
    plain = type(array) is np.ndarray
    if plain and (not array.size or (array.min() >= low and array.max() <= high)):
        return
    require_all(array, lambda x: (x >= low) & (x <= high), error, waits)


def require_nonnegative(array: Any, error: Refusal, waits: bool = False) -> None:
    """Refuse numbers below zero, and NaN."""
    require_all(array, lambda x: x >= 0, error, waits)


def require_nonzero(array: Any, error: Refusal, waits: bool = False) -> None:
    """Refuse a zero anywhere."""
    if type(array) is np.ndarray and array.all():
        return
    require_all(array, lambda x: x != 0, error, waits)


def holds_throughout(array: Any, holds: Condition, waits: bool = False) -> bool:
    """Whether a condition holds everywhere, for an operation that branches on it.

    A recorder records the branch taken: a replay that would take the other one stops, and the call runs eagerly.
    Arrays whose values are not inspected count as if it held.
    """
    while type(array) is BatchedArray:
        array = array.data
    if isinstance(array, (np.ndarray, np.generic)):
        return bool(np.all(holds(array)))
    if getattr(array, "gpu_index", None) is not None:
        return not waits or bool(np.all(holds(array)))
    decide: Callable[[Condition], bool] | None = getattr(array, "decide", None)
    return decide is None or decide(holds)


def first_wrong(array: Any, good: Any) -> Wrong:
    """The first element that violates a condition."""
    place = int(np.argmin(np.ravel(np.broadcast_to(good, np.shape(array)))))
    return Wrong(np.ravel(array)[place].item(), place, array)


def _within(x: Any, low: int, high: int) -> Any:
    """Whether low <= x < high, without bounds that the dtype guarantees."""
    bounds = np.iinfo(x.dtype)
    parts = []
    if low > bounds.min:
        parts.append(x >= low)
    if high <= bounds.max:
        parts.append(x < high)
    if not parts:
        return x == x
    return parts[0] if len(parts) == 1 else parts[0] & parts[1]
