"""Every mistake of the corpus is found within ten steps, on its line; every correction is clean.

On both engines. The run prints how many were.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.both import shared_out

from .corpus import PAIRS
from .corpus.judge import engine as load
from .corpus.judge import findings, located, matching, told


@pytest.mark.parametrize(("name", "engine"), shared_out(PAIRS))
def test_a_mistake_is_found_on_its_line(name, engine, count):
    case = PAIRS[name]
    bug, _ = case.loops(load(engine))
    count("mistakes")
    found = findings(bug)
    what = f"{'/'.join(case.codes)} on line {case.lines}: {case.why}\n{told(found)}"
    meant = matching(case, found)
    assert meant, f"not found: {what}"
    count("mistakes found")
    assert located(case, meant), f"another line: {what}"
    count("mistakes located")


@pytest.mark.parametrize(("name", "engine"), shared_out(PAIRS))
def test_a_correction_is_clean(name, engine, count):
    case = PAIRS[name]
    _, fix = case.loops(load(engine))
    count("corrections")
    found = findings(fix)
    if found:
        count("corrections accused")
    assert not found, f"accused though corrected: {case.why}\n{told(found)}"


def test_there_are_enough_pairs():
    codes = Counter(case.codes[0] for case in PAIRS.values())
    assert len(PAIRS) >= 80
    assert min(codes.values()) >= 2
