"""Both examples on every rule's page do what the page says, on both engines."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any

import pytest

from tautograd._doctor.doctor import Doctor, doctor
from tautograd._doctor.report.rule_pages import rule_called
from tautograd._doctor.rules import RULES
from tests.both import ENGINES

CODES = [rule.code for rule in RULES]


def run(source: str, file: Path, engine: str, *, deep: bool = False) -> Doctor:
    """The doctor after it has watched an example, which lies in a file of its own."""
    torch: Any = importlib.import_module(engine)
    file.write_text(source, encoding="utf-8")
    with warnings.catch_warnings(), doctor(engines=[torch], deep=deep) as found:
        warnings.simplefilter("ignore")  # the engine itself warns of some mistakes
        exec(compile(source, str(file), "exec"), {"torch": torch, "__name__": "__main__"})
    assert not found.troubles
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("code", CODES)
def test_the_example_gives_that_finding_on_that_line(code, engine, tmp_path):
    source = rule_called(code).bug.strip() + "\n"
    marked = [i for i, line in enumerate(source.splitlines(), 1) if line.endswith("# here")]
    assert len(marked) == 1, "one line of an example ends in '# here'"
    found = run(source, tmp_path / f"{code}_bug.py", engine, deep=rule_called(code).deep)
    places = [(f.code, f.site.line if f.site else None) for f in found.findings]
    assert places == [(code, marked[0])], str(found)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("code", CODES)
def test_the_corrected_example_is_clean(code, engine, tmp_path):
    rule = rule_called(code)
    found = run(rule.fixed.strip() + "\n", tmp_path / f"{code}_fixed.py", engine, deep=rule.deep)
    assert found.ok, str(found)
    by_hand = "optim." not in rule_called(code).fixed  # such a loop has no steps to count
    assert found.steps or by_hand, "an example trains"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_every_part_of_a_page_is_written(rule):
    for part in ("__doc__", "why", "quiet", "bug", "fixed", "fix"):
        assert (getattr(rule, part) or "").strip(), f"{rule.code} lacks {part}"
    assert rule.bug != rule.fixed
    lines = [line for line in rule.example.split("\n") if line]
    assert {line[:2].ljust(2) for line in lines} <= {"  ", "- ", "+ "}, "an example is a diff"
    assert len({r.code for r in RULES}) == len({r.name for r in RULES}) == len(RULES)
