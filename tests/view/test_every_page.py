"""What a reader who hears the page, or uses keys alone, needs of every kind of page; no browser is asked.

Names of controls, landmarks, headings, references, tables that can be scrolled by keys, and the contrast of
all colours that letters have on all that they stand on, computed from the style sheets.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tautograd._cli import local_page
from tautograd._report import shell
from tautograd._view.page import page

from .every_page import NAMES, every_page

EMPTY = frozenset(("meta", "input", "br", "img", "link", "hr", "wbr", "col"))


class Element:
    def __init__(self, tag: str, attributes: dict[str, str], parent: Element | None) -> None:
        self.tag, self.attributes, self.parent = tag, attributes, parent
        self.children: list[Element | str] = []

    def get(self, name: str) -> str:
        return self.attributes.get(name) or ""

    @property
    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text for c in self.children).strip()

    def all(self, *tags: str) -> list[Element]:
        own = [self] if not tags or self.tag in tags else []
        inner = (c.all(*tags) for c in self.children if isinstance(c, Element))
        return [*own, *itertools.chain.from_iterable(inner)]

    def around(self) -> list[Element]:
        return [] if self.parent is None else [self.parent, *self.parent.around()]


class Tree(HTMLParser):
    """A page as a tree of elements; SVG and scripts as they stand."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.root = self._now = Element("", {}, None)
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        made = Element(tag, {k: v or "" for k, v in attrs}, self._now)
        self._now.children.append(made)
        if tag not in EMPTY:
            self._now = made

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self._now.children.append(Element(tag, {k: v or "" for k, v in attrs}, self._now))

    def handle_endtag(self, tag: str) -> None:
        for element in [self._now, *self._now.around()]:
            if element.tag == tag and element.parent is not None:
                self._now = element.parent
                return

    def handle_data(self, data: str) -> None:
        if self._now.tag not in ("script", "style"):
            self._now.children.append(data)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = every_page(tmp_path_factory.mktemp("pages"))
    return {**found, "live": Path(local_page.__file__).with_name("local_page.html")}


@pytest.fixture(scope="module")
def trees(files: dict[str, Path]) -> dict[str, Element]:
    return {name: Tree(path.read_text(encoding="utf-8")).root for name, path in files.items()}


@pytest.fixture(params=[*NAMES, "live"])
def tree(request: pytest.FixtureRequest, trees: dict[str, Element]) -> Element:
    return trees[request.param]


@pytest.mark.parametrize("name", NAMES)
def test_no_page_says_where_on_the_machine_its_program_lay(files, name):
    text = files[name].read_text(encoding="utf-8")
    here, there = Path(__file__).resolve().parents[2], files[name].parent
    for folder in (str(here), str(there), str(Path.home())):
        assert f"{folder}/" not in text


def test_a_page_has_a_language_a_title_and_one_main_part(tree):
    (html,) = tree.all("html")
    assert html.get("lang") == "en"
    assert tree.all("title")[0].text
    assert len(tree.all("main")) == 1
    assert len(tree.all("h1")) == 1
    (body,) = tree.all("body")
    inside = {
        "main",
        "header",
        "footer",
        "script",
        "a",
        "noscript",
    }  # the link that skips to the panel
    assert {c.tag for c in body.children if isinstance(c, Element)} <= inside


def test_every_control_has_a_name(tree):
    labelled = {e.get("for") for e in tree.all("label")}
    for control in tree.all("button", "a", "input", "select", "summary", "textarea"):
        in_label = any(e.tag == "label" and e.text for e in control.around())
        named = control.text or control.get("aria-label") or control.get("id") in labelled
        assert named or in_label, f"{control.tag} {control.attributes}"
    for picture in tree.all("img", "iframe"):
        assert picture.get("alt") or picture.get("title"), picture.attributes
    for element in tree.all():
        if element.get("role") in ("img", "group", "region", "toolbar", "listbox", "math"):
            assert element.get("aria-label"), element.attributes


def test_references_lead_somewhere_and_names_are_unique(tree):
    names = Counter(e.get("id") for e in tree.all() if e.get("id"))
    assert [name for name, count in names.items() if count > 1] == []
    for element in tree.all():
        for key in ("aria-controls", "aria-labelledby", "aria-describedby", "for"):
            for name in element.get(key).split():
                assert name in names, f"{key}={name}"
        if element.get("href").startswith("#"):
            assert element.get("href")[1:] in names


def test_headings_leave_out_no_level(tree):
    levels = [int(e.tag[1]) for e in tree.all("h1", "h2", "h3", "h4", "h5", "h6")]
    for before, after in itertools.pairwise(levels):
        assert after <= before + 1


def test_what_is_wider_than_the_page_can_be_scrolled_by_keys(tree):
    for table in tree.all("table"):
        rooms = [
            e for e in table.around() if "wide" in e.get("class") or "overflow-x" in e.get("style")
        ]
        assert all(room.get("tabindex") == "0" for room in rooms)
    for text in tree.all("pre"):
        assert text.get("tabindex") == "0" or "fix" in text.get("class")
    for heading in tree.all("th"):
        assert heading.get("scope") in ("col", "row"), heading.text


# ---- colours -------------------------------------------------------------------------------------

_PAIR = re.compile(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)")
LEAST = 4.5  # of letters, to what they stand on
LETTERS = {  # what is written in which colour, and on what
    "ink": ("back", "card", "bad-back", "doubt-back", "good-back", "note-back", "now-back", "op", "leaf"),
    "soft": ("back", "card"),
    "link": ("back", "card"),
    "bad": ("back", "card", "bad-back"),
    "doubt": ("back", "card", "doubt-back"),
    "good": ("back", "card", "good-back"),
    "note": ("back", "card", "note-back"),
    "strange": ("back", "card"),
    "now": ("back",),
    "now-ink": ("op", "leaf", "note-back", "now-back"),
    "quiet-ink": ("op", "leaf", "note-back", "card"),
}  # fmt: skip


def colours(dark: bool) -> dict[str, str]:
    text = "".join(
        path.read_text(encoding="utf-8")
        for path in (shell._FOLDER / "base.css", page._FOLDER / "page.css")
    )
    return {name: (late if dark else early) for name, early, late in _PAIR.findall(text)}


def lightness(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((lightness(one), lightness(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_what_its_definition_says():
    assert contrast("#000", "#fff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("letters", LETTERS)
def test_letters_can_be_told_from_what_they_stand_on(letters, dark):
    known = colours(dark)
    for ground in LETTERS[letters]:
        ratio = contrast(known[letters], known[ground])
        assert ratio >= LEAST, f"{letters} on {ground}: {ratio:.2f}"
