"""Every kind of page in real browsers, at every size, light and dark: nothing overflows, nothing is too small to
read or too pale, nothing is complained of, nothing is asked of the network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .browser import Browser, chromium
from .every_page import GRAPHS, NAMES, every_page, live_pages
from .firefox import Firefox, firefox
from .page_checks import CONTRAST, ON_BOXES, OUTSIDE, OVERLAP, PALE, SMALL, SPILLS, TINY

pytestmark = pytest.mark.slow

BROWSERS = [
    pytest.param((kind, path), id=kind.__name__)
    for kind, path in ((Browser, chromium()), (Firefox, firefox()))
    if path
]


@pytest.fixture(scope="module", params=BROWSERS)
def any_browser(request: pytest.FixtureRequest) -> Iterator[Any]:
    kind, path = request.param
    made = kind(path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return every_page(tmp_path_factory.mktemp("pages"))


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1280, 2560])
@pytest.mark.parametrize("name", NAMES)
def test_all_of_it_can_be_read(any_browser, pages, name, width, dark):
    any_browser.size(width, dark=dark)
    any_browser.open(pages[name])
    for _ in range(4 if name in GRAPHS else 1):
        assert any_browser.run("document.documentElement.scrollWidth") <= width
        for check in (OUTSIDE, CONTRAST, TINY):
            assert any_browser.run(check) == []
        if name in GRAPHS:
            for check in (SPILLS, SMALL, PALE, ON_BOXES):
                assert any_browser.run(check) == []
            assert any_browser.run(OVERLAP) == 0
            any_browser.key("ArrowRight")
    assert any_browser.errors == []


@pytest.mark.parametrize("width", [400, 1280])
def test_pages_that_are_served_can_be_read(any_browser, width):
    with live_pages() as served:
        for url in served.values():
            any_browser.size(width)
            any_browser.open(url)
            assert any_browser.run("document.documentElement.scrollWidth") <= width
            assert any_browser.run(TINY) == []
            assert any_browser.errors == []
