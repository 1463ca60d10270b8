"""Operands of two dtypes: every pair, as PyTorch promotes them.

Each elementwise record of two tensors, with its operands in each of 12 × 12 pairs of
dtypes: both with dimensions, one of them 0-dim, or the second a Python number of each kind. Values,
dtype and first gradients are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tautograd._ops.declare.samples import Sample, T

from .arrays import DTYPES
from .cases import RECORDS, altered, is_elementwise, record, samples_of, tensors_in
from .reporting import Problems
from .test_agreement import compare_case

SHAPES = (((2, 2), (2, 2)), ((2, 2), ()), ((), (2, 2)), ((), ()))
NUMBERS = (True, 2, 0.75, 1 + 2j)


def _first_pair(name: str) -> Sample | None:
    """A sample of two tensors and nothing else: what can be given any pair of dtypes."""
    for sample in samples_of(name):
        plain = len(sample.args) == 2 and all(isinstance(a, T) for a in sample.args)
        if plain and not any(t.dtype for t in tensors_in(sample)):
            return sample
    return None


BINARY = [n for n in RECORDS if is_elementwise(record(n)) and _first_pair(n) is not None]


def operands(sample: Sample) -> Iterator[tuple[str, Sample]]:
    """Labelled samples with every pair of dtypes, and with Python numbers."""
    x, y = sample.args
    for one in DTYPES:
        for shape in ((2, 2), ()):
            for number in NUMBERS:
                first = altered(x, shape, dtype=one)
                yield f"{one}{shape} with {number!r}", Sample(first, number, **sample.kwargs)
        for other in DTYPES:
            for a, b in SHAPES:
                pair = altered(x, a, dtype=one), altered(y, b, dtype=other)
                yield f"{one}{a} with {other}{b}", Sample(*pair, **sample.kwargs)


@pytest.mark.parametrize("name", BINARY)
def test_promotes_as_pytorch(name: str, tally: Any) -> None:
    sample = _first_pair(name)
    assert sample is not None
    problems = Problems(name)
    for label, mixed in operands(sample):
        problems.add(label, compare_case(record(name), mixed, "float32"))
        tally("comparisons of mixed dtypes")
    problems.fail_if_any()
