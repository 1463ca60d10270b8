"""Samples in other layouts of memory: every way a user's tensor may come to lie.

A record's own samples, each also with more dimensions in front where the operation takes them, and
each of these in every layout: of all its tensors at once, of the first alone, of the others alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tautograd._ops.declare.samples import Sample, T

from .cases import changed, samples_of, tensors_in

LAYOUTS = (
    "transposed",  # the last two dimensions changed places
    "strided",  # every second element of a row
    "offset",  # a part of something larger
    "expanded",  # the first dimension repeats
    "expanded last",  # the last dimension repeats
    "channels last",  # the second dimension steps fastest
    "reversed",  # the first dimension steps fastest
    "reversed offset",  # a part of something larger whose first dimension steps fastest
)
EXTRA: tuple[tuple[int, ...], ...] = ((), (2,), (3, 2))  # dimensions put in front


def layouts_of(name: str) -> Iterator[tuple[str, Sample]]:
    """Labelled samples of a record; PyTorch may refuse those with more dimensions."""
    for i, sample in enumerate(samples_of(name)):
        tensors = list(tensors_in(sample))
        if not any(t.shape for t in tensors) or any(0 in t.shape for t in tensors):
            continue  # no strides to speak of
        for extra in EXTRA if all(t.kind != "distinct_index" for t in tensors) else [()]:
            shapes = [_with_extra(t, extra) for t in tensors]
            if extra and max(map(len, shapes)) > 5:
                continue
            for layout in LAYOUTS:
                for which, chosen in _choices(len(tensors)):
                    changes = [
                        _change(t, layout) if c else {}
                        for t, c in zip(tensors, chosen, strict=True)
                    ]
                    label = f"sample{i} {shapes} {layout}{which}"
                    yield label, changed(sample, shapes, changes)


def _change(t: T, layout: str) -> dict[str, str]:
    """Indices and lengths that repeat would be others."""
    repeats = layout.startswith("expanded") and t.dtype not in (None, "bool")
    return {} if repeats else {"layout": layout}


def _with_extra(t: T, extra: tuple[int, ...]) -> tuple[int, ...]:
    return (*extra, *t.shape) if t.shape else ()


def _choices(count: int) -> list[tuple[str, Any]]:
    """Which tensors are laid out otherwise."""
    choices: list[tuple[str, Any]] = [("", [True] * count)]
    if count > 1:
        choices.append((" (the first)", [True] + [False] * (count - 1)))
        choices.append((" (the others)", [False] + [True] * (count - 1)))
    return choices


def plain(sample: Sample) -> Sample:
    """The same sample, everything in C order."""
    tensors = list(tensors_in(sample))
    return changed(sample, [t.shape for t in tensors], [{"layout": "contiguous"} for _ in tensors])
