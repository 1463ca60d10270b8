"""PyTorch's output for a program on other processors: where it disagrees with itself, nothing is
determined.

PyTorch sums in another order with another number of threads or another instruction set, and
uninitialised memory holds whatever was there. `VARIANTS` are such runs of PyTorch alone. A line whose
words they do not share has no words that tautograd must print; a number is the same if it is no further
from one of PyTorch's own than `TIMES` the distance between the two of them that are furthest apart. A
number that depends on uninitialised memory may be anything. What PyTorch's runs agree on is judged as
usual.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from . import judge

TIMES = 2.0
"""Multiples of PyTorch's own spread: a handful of runs shows only a part of what it might print."""

NATIVE: dict[str, str] = {}
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_CBWR": "AVX2"}
SCALAR = {
    "ATEN_CPU_CAPABILITY": "default",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "MKL_CBWR": "COMPATIBLE",
}
VARIANTS: dict[str, tuple[Mapping[str, str], int]] = {
    "avx2": (AVX2, 1),
    "scalar": (SCALAR, 1),
    "2 threads": (NATIVE, 2),
    "4 threads": (NATIVE, 4),
    "avx2, 3 threads": (AVX2, 3),
}
"""Instruction sets that PyTorch, oneDNN and MKL are restricted to, and threads."""


def agrees(expected: str, filled: str, others: Sequence[str], got: str) -> bool:
    """Whether `got` is what PyTorch prints, as far as PyTorch's own outputs determine it.

    `filled` is from the processor of `expected`, with other contents of uninitialised memory.
    """
    own = [judge.plain(text).splitlines() for text in (expected, filled, *others)]
    ours = judge.plain(got).splitlines()
    if any(len(lines) != len(ours) for lines in own):
        return False
    return all(_line(theirs, our) for theirs, our in zip(zip(*own, strict=True), ours, strict=True))


def first_spread(expected: str, others: Sequence[str], got: str) -> str:
    """The first line that differs from PyTorch's here: PyTorch's, ours, and PyTorch's elsewhere."""
    own = [judge.plain(text).splitlines() for text in (expected, *others)]
    for theirs, our in zip(zip(*own, strict=True), judge.plain(got).splitlines(), strict=True):
        if judge.verdict(theirs[0], our) == "differs":
            elsewhere = sorted(set(theirs[1:]) - {theirs[0]})
            return f"{theirs[0][:100]!r} / {our[:100]!r}, PyTorch elsewhere: " + ", ".join(
                repr(line[:60]) for line in elsewhere
            )
    return ""


def same_length(texts: Sequence[str]) -> bool:
    """Whether they have the same number of lines, so that each has its counterpart."""
    return len({len(text.splitlines()) for text in texts}) == 1


def _line(theirs: Sequence[str], our: str) -> bool:
    if any(judge.verdict(line, our) != "differs" for line in theirs):
        return True
    if len({judge.words(line) for line in theirs}) > 1:
        return True
    if judge.words(our) != judge.words(theirs[0]):
        return False
    columns = zip(*(judge.numbers(line) for line in theirs), strict=True)
    return all(_number(own, x) for own, x in zip(columns, judge.numbers(our), strict=True))


def _number(own: Sequence[str], got: str) -> bool:
    if any(judge.close(text, got) for text in own) or not judge.close(*own[:2]):
        return True
    values, x = [float(text) for text in own], float(got)
    if not all(map(math.isfinite, values)):
        return True
    spread = max(values) - min(values)
    return spread > 0 and min(abs(x - v) for v in values) <= TIMES * spread
