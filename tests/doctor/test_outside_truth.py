"""The reports that were collected without a look at the rules are what they say, on both engines.

Each program says at its end whether it did what it was to do. The one with the mistake did not, the corrected
one did, and so did every sound one. The doctor has no part in this.
"""

from __future__ import annotations

import ast
import importlib
import warnings
from collections import Counter

import pytest

from tests.both import shared_out

from .outside.divide import BLIND, blind_sound, halves
from .outside.variants import HERE, SOUND, cases, seeded, sound_loops

CASES = {case.name: case for case in cases().values() if case.family in BLIND}
SOUND_LOOPS = {name: loop for name, loop in sound_loops().items() if name in blind_sound()}


def engine(name):
    """The module of an engine, with what the programs use."""
    for part in ("nn", "optim", "utils.data", "distributions"):
        importlib.import_module(f"{name}.{part}")
    return importlib.import_module(name)


def quietly(program):
    """What a program says of itself; nobody warned it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # said once per process, to whichever program comes first
        warnings.filterwarnings("ignore", message=r"Using backward\(\) with create_graph=True")
        said = program()
    assert isinstance(said, bool)
    return said


@pytest.mark.parametrize(("name", "engine_name"), shared_out(CASES))
def test_the_mistake_fails_and_the_correction_does_not(name, engine_name):
    bug, fix = CASES[name].loops(engine(engine_name))
    assert not quietly(bug), f"not wrong at all: {CASES[name].why}"
    assert quietly(fix), f"no correction: {CASES[name].why}"


@pytest.mark.parametrize(("name", "engine_name"), shared_out(SOUND_LOOPS))
def test_a_sound_program_does_what_it_is_to_do(name, engine_name):
    assert quietly(seeded(engine(engine_name), SOUND_LOOPS[name]))


def test_there_are_as_many_as_were_asked_for():
    assert len(CASES) >= 50
    assert len(SOUND_LOOPS) >= 15
    half = halves()
    for family in BLIND - set(SOUND):
        mine = Counter(half[case.name] for case in CASES.values() if case.family == family)
        assert abs(mine["develop"] - mine["count"]) <= 1


def test_no_report_is_told_twice():
    sources = Counter(case.source for case in cases().values())
    for module in SOUND:
        for node in ast.parse((HERE / f"{module}.py").read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                sources[(ast.get_docstring(node) or "").split()[-1]] += 1
    mine = {case.source for case in CASES.values()}
    mine |= {(loop.__doc__ or "").split()[-1] for loop in SOUND_LOOPS.values()}
    assert len(mine) == len(CASES) + len(SOUND_LOOPS)
    assert {source for source in mine if sources[source] != 1} == set()
