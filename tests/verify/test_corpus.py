"""`verify` against deliberately wrong gradients and against right but hard ones, on both engines.

Every wrong one must be found, and the first suspect (or cut) must be the marked operation on the
marked line; no right one may be accused. The run prints how many were.
"""

from __future__ import annotations

import pytest

from tests.both import shared_out

from .corpus import RIGHT, WRONG
from .corpus.judge import judge


@pytest.mark.parametrize(("name", "engine"), shared_out(WRONG))
def test_a_wrong_gradient_is_caught_and_located(name, engine, count):
    case = WRONG[name]
    count("wrong gradients")
    judged = judge(case, engine)
    told = f"{case.why}\n{judged.said}"
    assert not judged.ok, f"not caught: {told}"
    count("wrong gradients caught")
    assert not judged.located, f"{judged.located}: {told}"
    count("wrong gradients located to operation and line")


@pytest.mark.parametrize(("name", "engine"), shared_out(RIGHT))
def test_a_right_gradient_is_not_accused(name, engine, count):
    case = RIGHT[name]
    count("right gradients")
    judged = judge(case, engine)
    if engine in case.found_in:
        wrong = [check.note for check in judged.report.checks if not check.ok]
        assert len(wrong) == 1, judged.said
        assert case.found_in[engine] in wrong[0], judged.said
        return
    if not judged.ok or judged.report.suspects:
        count("right gradients accused")
    assert judged.ok, f"accused: {case.why}\n{judged.said}"
    assert not judged.report.suspects, f"suspected: {case.why}\n{judged.said}"


@pytest.mark.parametrize(
    ("name", "engine"), shared_out([name for name, case in RIGHT.items() if case.kink])
)
def test_a_kink_is_reported(name, engine, count):
    case = RIGHT[name]
    judged = judge(case, engine)
    assert judged.report.kinks, f"the kink is not reported: {case.why}\n{judged.said}"
    count("kinks reported")


def test_there_are_enough_cases():
    assert min(len(WRONG), len(RIGHT)) >= 60
