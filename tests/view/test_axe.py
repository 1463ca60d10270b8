"""What axe-core finds on the pages: nothing. `AXE` names its `axe.min.js`, which is not ours to keep."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .browser import Browser
from .every_page import GRAPHS, NAMES, every_page, live_pages

pytestmark = pytest.mark.slow

RUN = """axe.run(document, { resultTypes: ["violations"], iframes: false }).then((found) => found.violations
  .map((v) => v.impact + " " + v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120)).join(" | ")))"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return every_page(tmp_path_factory.mktemp("pages"))


def checked(browser: Browser) -> list[str]:
    browser.run(Path(os.environ["AXE"]).read_text(encoding="utf-8") + "; 0")
    found: list[str] = browser.run(RUN)
    return found


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1280, 2560])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_found_on_any_page(browser, pages, name, width, dark):
    browser.size(width, dark=dark)
    browser.open(pages[name])
    assert checked(browser) == []
    if name in GRAPHS:
        browser.key("ArrowRight")
        browser.key("ArrowRight")
        assert checked(browser) == []
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert checked(browser) == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_found_on_pages_that_are_served(browser, width, dark):
    with live_pages() as served:
        for url in served.values():
            browser.size(width, dark=dark)
            browser.open(url)
            assert checked(browser) == []
