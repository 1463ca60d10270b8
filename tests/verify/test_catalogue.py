"""`verify` against the catalogue: short programs in many kinds, half of them only counted.

A few of every kind run in the fast tests, on one engine each; all of them on both are slow.
"""

from __future__ import annotations

import pytest

from tests.both import ENGINES

from .catalogue import RIGHT, WRONG
from .catalogue.judging import outcome
from .catalogue.table import counted, developed_on


def _one_of_each_kind(rows):
    first = {}
    for name in developed_on(rows):
        first.setdefault(rows[name].kind, name)
    return list(first.values())


QUICK = {*_one_of_each_kind(WRONG)[::2], *_one_of_each_kind(RIGHT)}


def _cases(rows):
    return [
        pytest.param(
            name,
            engine,
            id=f"{name}-{engine}",
            marks=[] if name in QUICK and i % 2 == j else [pytest.mark.slow],
        )
        for i, name in enumerate(sorted(rows))
        for j, engine in enumerate(ENGINES)
    ]


@pytest.mark.parametrize(("name", "engine"), _cases(WRONG))
def test_a_wrong_program_is_found_and_located(name, engine, count):
    count("wrong gradients")
    result = outcome(WRONG[name], engine)
    assert result.found, result.said
    count("wrong gradients caught")
    assert result.located, result.said
    count("wrong gradients located to operation and line")


@pytest.mark.parametrize(("name", "engine"), _cases(RIGHT))
def test_a_right_program_is_not_accused(name, engine, count):
    count("right gradients")
    result = outcome(RIGHT[name], engine)
    if result.accused:
        count("right gradients accused")
    assert not result.accused, result.said


def test_the_catalogue_is_large_and_divided_once():
    assert len(WRONG) >= 630
    assert len({row.kind for row in WRONG.values()}) >= 95
    assert len(RIGHT) >= 650
    for rows in (WRONG, RIGHT):
        halves = counted(rows), developed_on(rows)
        assert not set(halves[0]) & set(halves[1])
        batches = {row.batch for row in rows.values()}
        assert abs(len(halves[0]) - len(halves[1])) <= len(batches)  # one of each, where it is odd
