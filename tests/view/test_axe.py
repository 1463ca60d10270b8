"""What axe-core finds on the pages: nothing serious. `AXE` names its `axe.min.js`, which is not ours to keep."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import tautograd
from tautograd import view
from tautograd._doctor.report.page import as_page

from ..doctor.reports import rendered, several
from . import programs
from .browser import Browser

pytestmark = pytest.mark.slow

RUN = """axe.run(document, { resultTypes: ["violations"] }).then((found) => found.violations
  .filter((v) => ["serious", "critical"].includes(v.impact))
  .map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120)).join(" | ")))"""


def checked(browser: Browser) -> list[str]:
    browser.run(Path(os.environ["AXE"]).read_text(encoding="utf-8") + "; 0")
    found: list[str] = browser.run(RUN)
    return found


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("name", ["square", "linear_step", "gpt", "detached"])
def test_nothing_serious_on_a_graph(browser, tmp_path, name, width, dark):
    browser.size(width, dark=dark)
    browser.open(view(programs.PROGRAMS[name], tautograd).save(tmp_path / "a.html"))
    assert checked(browser) == []
    browser.key("ArrowRight")
    browser.key("ArrowRight")
    assert checked(browser) == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_serious_on_a_run(browser, tmp_path, width, dark):
    page = tmp_path / "run.html"
    page.write_text(as_page(rendered(several(tmp_path)), str(tmp_path)), encoding="utf-8")
    browser.size(width, dark=dark)
    browser.open(page)
    assert checked(browser) == []
