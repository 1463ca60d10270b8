"""A report in a terminal and in a notebook: all that matters is in it, and all of it is escaped."""

from __future__ import annotations

import html.parser
import io
import linecache
import re

import pytest

from tautograd._evidence.text import evidence_text
from tautograd._report.colour import wants_colour
from tautograd._user_code.sites import Site
from tautograd._verify.report.findings import Cut, Entry, Kink, Suspect
from tautograd._verify.report.render_html import as_html, page_of
from tautograd._verify.report.render_text import as_text
from tautograd._verify.report.report import Check, Report
from tautograd._verify.verify import verify

EVIL = "<script>alert('x')</script>"


def full_report() -> Report:
    site = Site("train.py", 12, "forward")
    lines = ["\n"] * 11 + [f"    y = f(x)  # {EVIL}\n"]
    linecache.cache["train.py"] = 0, None, lines, "train.py"
    entry = Entry("x", (0, 1), 3.0, float("nan"), 1e-9, "output[2]")
    return Report(
        f"pkg.mod:fn{EVIL}",
        "torch",
        "wrong",
        checks=[
            Check("central differences", "all 48 entries", 48, 12.0, 2.5, 1e-9, "wrong", "a note"),
            Check("forward mode", "products", verdict="not applicable"),
        ],
        entries=[entry],
        wrong_entries=31,
        kinks=[Kink("x", (3,), 0.0, 1.0, 0.0, site)],
        suspects=[
            Suspect("MyFunction", "MyFunctionBackward", "net.fc1", site, [entry], "look here")
        ],
        cuts=[Cut("detach()", "net.fc2", site, ["fc1.weight", "fc1.bias"])],
        behaviour={"deterministic": True, "random": False, "modifies_inputs": ["x"]},
        notes=["A note of its own."],
    )


MUST_SAY = [
    "the gradient is wrong, in 31 entries",
    "central differences",
    "48",
    "2.5",
    "1e-09",
    "not applicable",
    "a note",
    "MyFunction (MyFunctionBackward) in net.fc1",
    "train.py:12 in forward: y = f(x)",
    "x[0, 1] of output[2]: expected 3 ± 1e-09, got nan",
    "look here",
    "detach() in net.fc2; missing in the gradient of fc1.weight, fc1.bias",
    "x[3]: 0 from the left, 1 from the right; the gradient says 0",
    "A note of its own.",
    "changes its inputs (x)",
]


@pytest.mark.parametrize("phrase", MUST_SAY)
def test_everything_is_said(phrase):
    report = full_report()
    assert phrase in as_text(report)
    assert phrase in html.unescape(as_html(report))


def test_the_verdict_comes_first():
    assert as_text(full_report()).startswith("WRONG  pkg.mod:fn")
    assert "and 30 more" in as_text(full_report())


class _Tags(html.parser.HTMLParser):
    """Which elements there are, and whether each one that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag not in ("br", "hr", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_whole_and_holds_nothing_of_the_report_s_own():
    parser = _Tags()
    parser.feed(as_html(full_report()))
    assert parser.open == []
    assert "script" not in parser.seen
    assert EVIL not in as_html(full_report())
    assert not re.search(r"(src|href)=|url\(", as_html(full_report()))  # it needs nothing else
    page = page_of([full_report().to_dict()])
    parser.feed(page)
    assert page.startswith("<!doctype html>")
    assert "color-scheme: light dark" in page
    assert EVIL not in page
    assert 'id="theme"' in page  # the switch between light and dark, as on the kit's other pages
    assert "Content-Security-Policy" in page
    assert re.search("<title>pkg.mod:fn.*: 1 wrong – taut verify</title>", page)
    assert parser.open == []


def test_colours_only_where_they_are_wanted(monkeypatch):
    report = full_report()
    assert "\x1b[" not in str(report)
    coloured = as_text(report, colour=True)
    assert coloured.startswith("\x1b[31mWRONG\x1b[0m")
    assert re.sub(r"\x1b\[\d+m", "", coloured) == as_text(report)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert wants_colour(Terminal())
    assert not wants_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(Terminal())


def test_a_real_report_with_inputs_tried(torch):
    report = verify(torch.sqrt, torch.tensor([1.0, 4.0]), try_inputs=True)
    for text in (str(report), html.unescape(report._repr_html_())):
        assert "the gradient is correct" in text
        assert "inputs tried" in text.lower()
        assert "Deterministic" in text
        assert all(row.inputs in text for row in report.tried)


def test_a_module_s_evidence_is_shown(torch, tmp_path):
    from tautograd import evidence

    report = verify(torch.nn.Linear(3, 2), torch.ones(2, 3))
    shown = evidence_text(evidence.load(report.save(tmp_path / "e.json")))
    for phrase in ("8 parameters, in train mode", "2x3 float32, from 1 to 1", "NumPy", "CORRECT"):
        assert phrase in shown
