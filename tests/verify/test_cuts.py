"""A cut graph is found where it was cut, and by whom it is missed."""

from __future__ import annotations

import importlib
import inspect

import pytest

from tautograd._verify.locate.locate import locate
from tests.both import shared_out
from tests.verify.cut_programs import CUT

ENGINES = "torch", "tautograd"


@pytest.mark.filterwarnings("ignore:To copy construct")
@pytest.mark.parametrize(("name", "engine"), shared_out(CUT))
def test_cut(engine, name):
    torch = importlib.import_module(engine)
    run, leaves, wanted, starved = CUT[name](torch)
    found = locate(torch, run, leaves)
    how, _, module = wanted.partition("@")
    assert [c.how for c in found.cuts] == [how], found
    cut = found.cuts[0]
    lines, first = inspect.getsourcelines(CUT[name])
    here = next(first + i for i, line in enumerate(lines) if line.rstrip().endswith("# here"))
    assert cut.site is not None
    assert cut.site.line == here, cut.site
    assert cut.module == module
    assert cut.starved == starved
    assert not found.suspects
