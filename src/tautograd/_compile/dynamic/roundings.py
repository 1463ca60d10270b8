"""How far two ways to compute a program may be apart by rounding alone: what a trial takes for the same.

Both ways do the same operations, but add in another order and round other values in between. To first order an error
is a sum of roundings along the longest way from what comes in to a result. An elementwise function rounds once, or is
within two units in the last place; a sum of k numbers rounds k times, in whatever order they are added (Higham,
*Accuracy and Stability of Numerical Algorithms*, 4.2), and so does a product over k. So if the longest way to an array
has D roundings, either way of computing it is off by at most D·u of its largest numbers, with u = eps/2, and they are
apart by D·eps. That holds where nothing cancels on the way; where something does, two right results are told to differ,
and a size runs as written.

A gradient that is zero but for rounding (of a bias that a normalisation takes away again) is a sum of numbers as large
as other gradients. Against those the same bound would hide whole tensors. But roundings are as often up as down, so D
of them add up to λ·√D·u with a probability of at least 1 - 2·exp(-λ²/2) (Higham and Mary, SIAM J. Sci. Comput. 41,
2019); two such errors, which know nothing of each other, are λ·√(2D)·u = λ·√(D/2)·eps apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..program.ir import Call, Map, Product, Reduce, ScatterAdd

UNITS = 4  # roundings of an elementwise function: two units in the last place are four halves
LAMBDA = 6.0  # at most 3e-8 of the gradients that are nothing but rounding seem to differ


def roundings(instructions: Iterable[Any], of: Any) -> dict[int, int]:
    """By number of a buffer, how many roundings the longest way to it has; `of` gives the values of sizes."""
    ways: dict[int, int] = {}
    for instruction in instructions:
        longest = max((ways.get(view.buffer, 0) for view in instruction.reads()), default=0)
        count = longest + _own(instruction, of)
        for view in instruction.writes():
            ways[view.buffer] = max(ways.get(view.buffer, 0), count)
    return ways


def coarsest(instructions: Iterable[Any]) -> dict[int, float]:
    """By number of a buffer, the largest `eps` of the dtypes that numbers on the way to it are rounded to.

    A double that was a float32 on its way is as exact as a float32.
    """
    found: dict[int, float] = {}
    for instruction in instructions:
        worst = max((found.get(view.buffer, 0.0) for view in instruction.reads()), default=0.0)
        loop = getattr(instruction, "loop", ())
        kinds = [view.dtype for view in instruction.writes()]
        if isinstance(loop, tuple):
            kinds += loop
        worst = max([worst, *map(eps_of, kinds)])
        for view in instruction.writes():
            found[view.buffer] = max(found.get(view.buffer, 0.0), worst)
    return found


def eps_of(dtype: Any) -> float:
    """The distance from 1 to the next number; 0 where nothing is rounded."""
    kind = np.dtype(dtype)
    if kind.kind in "fc":
        return float(np.finfo(kind).eps)
    return 2.0**-7 if kind.kind == "V" else 0.0  # bfloat16


def _own(instruction: Any, of: Any) -> int:
    """How many roundings an instruction adds."""
    if isinstance(instruction, Map):
        return UNITS
    if isinstance(instruction, Product):
        return int(of(instruction.left.shape[-1])) + 1
    if isinstance(instruction, Reduce):
        length = math.prod([of(instruction.input.shape[axis]) for axis in instruction.axes])
        return length if instruction.function in ("add", "multiply") else 0
    if isinstance(instruction, ScatterAdd):
        return int(of(instruction.index.shape[0]))  # if all are added to one place
    if isinstance(
        instruction, Call
    ):  # a recurrence, or a sum along a dimension: no longer than that is
        views = [*instruction.reads(), *instruction.writes()]
        return max((of(n) for view in views for n in view.shape), default=1)
    return 0  # it moves numbers


def apart(eps: float, ways: int, size: float, largest: float) -> float:
    """By how much two ways of computing an array may differ; `largest` is that of all gradients."""
    return eps * (ways * size + LAMBDA * math.sqrt(ways / 2) * largest)
