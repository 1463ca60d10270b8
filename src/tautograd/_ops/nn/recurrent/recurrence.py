"""A recurrence over time steps: which rows of a sequence a step works on, and what is handed over.

Sequences are rows, step after step: first those of step 0, then those of step 1. With packed
sequences the steps grow smaller, because some sequences have ended. Backward in time (`reverse`) the
last step comes first, and sequences join as they begin.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...declare.elementwise_calls import conj
from ...declare.samples import Sample, T
from ...linalg.products.shared_products import matmul


def flat(x: Any) -> Any:
    """All but the last dimension as one."""
    if x.ndim == 2:
        return x
    return np.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


def tangent_of_product(x: Any, w: Any, tx: Any, tw: Any) -> Any:
    """The tangent of x wᵀ, for all steps at once."""
    moved = np.matmul(flat(tx), np.swapaxes(w, 0, 1))
    return moved + np.matmul(flat(x), np.swapaxes(tw, 0, 1))


def gradients_of_inputs(
    arrived: tuple[Any, Any],
    states: tuple[Any, ...],
    x: Any,
    w_ih: Any,
    earlier: Any,
    biased: bool,
    needs: tuple[bool, ...],
) -> tuple[Any, ...]:
    """Gradients of x, the initial states, w_ih, w_hh, b_ih and b_hh, for all steps at once.

    `arrived` is what arrived at the product with the input and at that with the state (twice the same where a
    layer only adds them), `states` the gradients of initial states, `earlier` the state that each step was given.
    """
    seen, own = arrived
    of_weights = needs[1 + len(states) :]
    alike = seen is own
    b_ih = b_hh = None
    if biased and (of_weights[2] or (alike and of_weights[3])):
        b_ih = np.sum(seen, axis=0)
    if biased and of_weights[3]:
        b_hh = b_ih if alike else np.sum(own, axis=0)
    return (
        np.reshape(matmul(seen, conj(w_ih)), x.shape) if needs[0] else None,
        *(state if need else None for state, need in zip(states, needs[1:], strict=False)),
        matmul(np.swapaxes(seen, 0, 1), conj(flat(x))) if of_weights[0] else None,
        matmul(np.swapaxes(own, 0, 1), conj(earlier)) if of_weights[1] else None,
        b_ih if of_weights[2] else None,
        b_hh,
    )


def turned(weight: Any) -> Any:
    """A matrix transposed, and copied, because BLAS is slow with small ones as they lie."""
    columns = np.swapaxes(weight, 0, 1)
    return columns if hasattr(weight, "apply_lifted") else np.copy(columns, order="C")


def are_plain(*arrays: Any) -> bool:
    """Whether these are NumPy's own arrays, which can be written into."""
    return all(a is None or type(a) is np.ndarray for a in arrays)


def placed(out: tuple[Any, ...], found: tuple[Any, ...]) -> tuple[Any, ...]:
    """Results, in the places that are there for them."""
    for place, value in zip(out, found, strict=True):
        np.copyto(place, value)
    return out


class Steps:
    """The rows of each step, in the order in which they are worked off."""

    __slots__ = ("even", "reverse", "rows", "sizes")

    def __init__(self, sizes: tuple[int, ...], reverse: bool) -> None:
        rows = []
        start = 0
        for size in sizes:
            rows.append(slice(start, start + size))
            start += size
        self.rows = rows[::-1] if reverse else rows
        self.sizes = sizes[::-1] if reverse else sizes
        self.reverse = reverse
        self.even = sizes[0] == sizes[-1]  # they never grow

    def carried(self, step: int, state: Any, initial: Any) -> Any:
        """What a step is given: the state after the one before, less or more some sequences."""
        size = self.sizes[step]
        if not step:
            return initial[:size]
        have = self.sizes[step - 1]
        if size < have:
            return state[:size]
        return state if size == have else np.concatenate((state, initial[have:size]))

    def in_time(self, parts: list[Any]) -> Any:
        """What the steps gave, as rows from the first step to the last."""
        return np.concatenate(parts[::-1] if self.reverse else parts)

    def outputs(self, parts: list[Any], x: Any) -> Any:
        """The same, with the dimensions of time and batch that the input has."""
        out = self.in_time(parts)
        return np.reshape(out, (*x.shape[:2], out.shape[-1])) if x.ndim == 3 else out

    def final(self, states: list[Any]) -> Any:
        """The state of each sequence after its last step."""
        parts = [states[-1]]
        for step in range(len(states) - 1, 0, -1):
            size, before = self.sizes[step], self.sizes[step - 1]
            if before > size:
                parts.append(states[step - 1][size:before])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def before(self, states: Any, initial: Any) -> Any:
        """For each row, the state its step was given; `states` are those after each step."""
        count = states.shape[0]
        if self.even:
            size = self.sizes[0]
            if self.reverse:
                return np.concatenate((states[size:], initial))
            return np.concatenate((initial, states[: count - size]))
        given = []
        for step, size in enumerate(self.sizes):
            if not step:
                given.append(initial[:size])
                continue
            have = self.sizes[step - 1]
            start = self.rows[step - 1].start
            given.append(states[start : start + min(size, have)])
            if size > have:
                given[-1] = np.concatenate((given[-1], initial[have:size]))
        return self.in_time(given)

    def last(self, gradient: Any) -> Any:
        """The part of the final states' gradient that the last step gave."""
        return gradient if self.even else gradient[: self.sizes[-1]]

    def state_gradient(self, step: int, gradient: Any, final: Any, ends: list[Any]) -> Any:
        """The gradient of the state after the step before this one.

        Sequences that ended there bring that of their final states; of those that began here
        it is the gradient of their initial states, which is put aside.
        """
        size = self.sizes[step]
        before = self.sizes[step - 1] if step else size
        if size == before:
            return gradient
        if size < before:
            return np.concatenate((gradient, final[size:before]))
        ends.append(gradient[before:])
        return gradient[:before]

    @staticmethod
    def initial(gradient: Any, ends: list[Any]) -> Any:
        """The gradient of the initial states, from what is left and what was put aside."""
        return np.concatenate((gradient, *ends[::-1])) if ends else gradient


def layer_samples(rows: int) -> list[Sample]:
    """Samples of a layer whose hidden size is 2 and whose weights have this many rows."""

    def weights(bias: bool = True) -> list[T]:
        found = [T(rows, 3, seed=1), T(rows, 2, seed=2)]
        return [*found, T(rows, seed=3), T(rows, seed=4)] if bias else found

    x, h = T(3, 2, 3), T(1, 2, 2, seed=6)
    sizes = T(3, dtype="int64", kind="falling")
    plain = (1, 0.0, False, False)
    return [
        Sample(x, h, weights(), True, *plain, False),
        Sample(x, T(1, 3, 2), weights(), True, *plain, True),
        Sample(x, h, weights(False), False, *plain, False),
        Sample(x, T(2, 2, 2), weights() + weights(), True, 1, 0.0, False, True, False),
        Sample(T(6, 3), sizes, T(1, 3, 2), weights(), True, *plain),
        Sample(T(6, 3), sizes, T(2, 3, 2), weights() + weights(), True, 1, 0.0, False, True),
    ]
