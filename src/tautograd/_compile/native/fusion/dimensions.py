"""Dimensions cut finer, so that steps over (768, 128) and over (12, 64, 128) can share a nest.

Every dimension can be cut: n elements at a stride of s are n / k times k of them, at strides of k·s and s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...dynamic.size import divides, example, same
from .steps import Access, Step, rewritten

Factors = list[tuple[int, ...]]  # per dimension, the sizes it is cut into


def common(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...] | None:
    """The coarsest dimensions that both can be cut into; None if there are none."""
    marks = {math.prod(a[i:]) for i in range(len(a))} | {math.prod(b[i:]) for i in range(len(b))}
    fine: list[int] = []
    before = 1
    for mark in sorted(marks, key=example):
        if same(mark, before):
            continue
        if not divides(mark, before):
            return None
        fine.append(mark // before)
        before = mark
    return tuple(reversed(fine))


def factors(dims: Sequence[int], fine: Sequence[int]) -> Factors:
    """How each dimension is cut to have finer ones."""
    found: Factors = []
    rest = list(fine)
    for n in dims:
        parts: list[int] = []
        while example(math.prod(parts)) < example(n):
            parts.append(rest.pop(0))
        found.append(tuple(parts))
    return found


def cut(values: Sequence[bool], parts: Factors) -> tuple[bool, ...]:
    """What holds of a dimension, for each of its parts."""
    return tuple(v for v, sizes in zip(values, parts, strict=True) for _ in sizes)


def cut_access(access: Access, parts: Factors) -> Access:
    strides = [
        stride * math.prod(sizes[i + 1 :])
        for stride, sizes in zip(access.strides, parts, strict=True)
        for i in range(len(sizes))
    ]
    return access._replace(strides=tuple(strides))


def cut_step(step: Step, parts: Factors) -> Step:
    if all(len(sizes) == 1 for sizes in parts):
        return step
    dims = tuple(n for sizes in parts for n in sizes)
    reduced = step.reduced and cut(step.reduced, parts)
    return rewritten(step, lambda access: cut_access(access, parts), dims, reduced, step.full)
