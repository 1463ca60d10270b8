"""Consequences come behind their cause and say which it is; what has another cause stands by itself."""

from __future__ import annotations

from tautograd._doctor.report.findings import Finding
from tautograd._doctor.report.folding import fold
from tautograd._doctor.report.render_text import as_text
from tautograd._user_code.sites import Site

from .reports import Said, rendered


def found(code: str, *parameters: str, line: int = 1) -> Finding:
    site = Site("train.py", line, "<module>")
    return Finding(code, "name", "It is so.", site=site, parameters=list(parameters), fix="mend()")


def test_a_consequence_comes_behind_its_cause():
    lost, other, cause = found("TG702", "w"), found("TG101", "b"), found("TG701", "w", line=7)
    folded = fold([lost, other, cause])
    assert folded == [other, cause, lost]
    assert [f.follows for f in folded] == ["", "", "TG701 in line 7"]


def test_of_other_parameters_it_is_no_consequence():
    lost, cause = found("TG702", "w"), found("TG701", "b")
    assert fold([lost, cause]) == [lost, cause]
    assert not lost.follows


def test_alone_it_is_its_own_cause():
    lost = found("TG702", "w")
    assert fold([lost]) == [lost]
    assert not lost.follows


def test_a_consequence_is_told_in_short():
    text = as_text(rendered(Said(fold([found("TG702", "w"), found("TG701", "w", line=7)]))))
    assert "follows from: TG701 in line 7" in text
    assert text.count("mend()") == 1
