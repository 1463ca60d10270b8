"""Why a rule is wrong, where its numbers show it: swapped, reversed, transposed, scaled.

The gradient that a call gives is compared with its differences, input by input. Only what
holds for every number is reported: a chance match would mislead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._trees.nests import WITH_DATACLASSES as NESTS
from ..numerics.differences import directional
from ..subject.engines import as_numpy
from .isolated_call import Isolated
from .tape import Slot

_MOST = 64  # numbers of a call that are compared
_CLOSE = 1e-5
_WRITES = frozenset(
    (
        *("__setitem__", "index_put", "index_put_", "index_copy", "index_copy_", "index_fill"),
        *("scatter", "scatter_", "put", "put_", "slice_scatter", "masked_scatter"),
    )
)
TWICE_WRITTEN = (
    "its index holds a place twice: one of the values written there stays, which one is not defined, and "
    "yet each gets the whole gradient of the place; write each place once, or add with accumulate=True"
)

IGNORED = "the incoming gradient is ignored: whatever arrives, the same comes back"


def reason(problem: Isolated, seed: int = 0) -> str:
    """What is wrong with a call's gradient, in a few words; empty if no pattern fits."""
    if problem.call.name in _WRITES and _writes_twice(problem):
        return TWICE_WRITTEN
    if not 0 < problem.x.size <= _MOST or problem.order != 1:
        return ""
    weights = np.random.default_rng(seed).uniform(0.5, 1.5, (1, problem.y.size))
    try:
        got, of_twice = problem.gradients(problem.x, np.concatenate([weights, 2 * weights]))
        found = directional(lambda points: problem.values(points) @ weights.T, problem.x)
    except Exception:  # report the suspect without a reason
        return ""
    expected = found.value[:, 0]
    if not (np.isfinite(got).all() and np.isfinite(expected).all()):
        return ""
    wrong = [span for span in problem.spans() if not _same(got[span], expected[span])]
    if wrong and all(got[span].any() and _same(of_twice[span], got[span]) for span in wrong):
        return IGNORED
    return next(_reasons(problem, got, expected), "")


def _writes_twice(problem: Isolated) -> bool:
    """Whether an index among the arguments holds a position more than once."""
    call = problem.call
    for value in NESTS.leaves((call.args, call.kwargs)):
        if isinstance(value, Slot):
            tensor = call.copies[value.number]
            if tensor.is_floating_point() or tensor.is_complex() or not tensor.dim():
                continue
            places = as_numpy(tensor).reshape(-1)
            if places.dtype != bool and len(np.unique(places)) < places.size:
                return True
    lists = [part for part in _lists(call.args) if all(isinstance(i, int) for i in part)]
    return any(len(set(part)) < len(part) for part in lists)


def _lists(nest: Any) -> Iterator[list[Any]]:
    if isinstance(nest, list) and nest:
        yield nest
    if isinstance(nest, (list, tuple)):
        for part in nest:
            yield from _lists(part)


def _reasons(problem: Isolated, got: Any, expected: Any) -> Iterator[str]:
    spans = problem.spans()
    names = [problem.input_name(slot) for slot in problem.variables]
    shapes = [tuple(problem.call.copies[slot].shape) for slot in problem.variables]
    for a in range(len(spans)):
        for b in range(a + 1, len(spans)):
            crossed = shapes[a] == shapes[b] and not _same(expected[spans[a]], expected[spans[b]])
            if (
                crossed
                and _same(got[spans[a]], expected[spans[b]])
                and _same(got[spans[b]], expected[spans[a]])
            ):
                yield f"the gradients of {names[a]} and {names[b]} are exchanged"
    for name, span, shape in zip(names, spans, shapes, strict=True):
        one, other = got[span], expected[span]
        if _same(one, other):
            continue
        of = f"the gradient of {name}" if len(spans) > 1 else "the gradient"
        if not one.any():
            yield f"{of} is zero throughout"
        if len(shape) == 2 and one.size == shape[0] * shape[1]:
            turned = other.reshape(shape).T
            if turned.shape == shape and _same(one.reshape(shape), turned):
                yield f"{of} is transposed"
        factor = _factor(one, other)
        if factor is not None:
            yield (
                f"{of} has the wrong sign"
                if abs(factor + 1) < _CLOSE
                else (f"{of} is {factor:.6g} times what it should be")
            )


def _same(one: Any, other: Any) -> bool:
    size = max(float(np.abs(other).max(initial=0.0)), 1e-300)
    return bool(np.all(np.abs(one - other) <= _CLOSE * size))


def _factor(one: Any, other: Any) -> float | None:
    """The one factor between all entries; at least two entries are needed."""
    size = float(np.abs(other).max(initial=0.0))
    seen = np.abs(other) > 1e-3 * size
    if seen.sum() < 2:
        return None
    ratios = one[seen] / other[seen]
    factor = float(np.median(ratios))
    if abs(factor - 1) < _CLOSE or not _same(one, factor * other):
        return None
    return factor if np.abs(ratios - factor).max() <= _CLOSE * abs(factor) else None
