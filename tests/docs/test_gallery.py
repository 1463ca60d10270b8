"""The gallery: what its page links to is what is written, and every rule's run shows what the rule sees."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tautograd._doctor.rules import RULES

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def gallery() -> Any:
    spec = importlib.util.spec_from_file_location("gallery", DOCS / "gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["gallery"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["gallery"]


def test_the_page_has_each_of_them_in_order(gallery):
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert re.findall(r'href="_static/gallery/(\w+)\.html"', text) == list(gallery.PAGES)
    assert re.findall(r'src="_static/gallery/(\w+)\.svg"', text) == list(gallery.PAGES)
    for title, _ in gallery.PAGES.values():
        assert re.sub(r"`([^`]*)`", r"<code>\1</code>", title) in text


@pytest.mark.parametrize("code", ["TG101", "TG801", "TG901"])
def test_a_rules_run_shows_its_finding_and_both_losses(gallery, code):
    (rule,) = [rule for rule in RULES if rule.code == code]
    page = gallery.broken_and_mended(rule)
    assert f"{code}</" in page or f">{code} " in page
    assert "broken.py" in page
    assert "mended.py" in page
    assert "Beside another run" in page


def test_all_of_it_is_written(gallery, tmp_path, monkeypatch):
    monkeypatch.setattr(gallery, "RULES", RULES[:1])
    gallery.write_gallery(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        *(f"{name}.{kind}" for name in gallery.PAGES for kind in ("html", "svg")),
        f"{RULES[0].code}.html",
    }
