"""Pages: the report's HTML needs no network and escapes all; each rule's page is made from it."""

from __future__ import annotations

import json
import math
import re
import time
from html.parser import HTMLParser

import pytest

from tautograd._doctor.report import heat_map
from tautograd._doctor.report.measures import MOST_POINTS, thinned
from tautograd._doctor.report.page import as_page
from tautograd._doctor.report.plots import Axis
from tautograd._doctor.report.rule_pages import list_text, rule_markdown, rule_text
from tautograd._doctor.rules import RULES
from tautograd._doctor.state.history import History

from .reports import Said, finding, history, rendered, several

EMPTY = {"input", "meta", "link", "br", "wbr", "path", "line"}


class Outline(HTMLParser):
    """Reads a page, and complains of what is not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in EMPTY:
            assert self.open.pop() == tag, f"</{tag}> at line {self.getpos()[0]}"

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture
def page(tmp_path) -> str:
    return as_page(rendered(several(tmp_path)), str(tmp_path))


def test_a_page_needs_nothing_but_itself(page):
    outline = Outline(page)
    assert not re.findall(r"https?://|url\((?!#)|@import|\bsrc=", page)
    assert not {tag for tag, _ in outline.tags} & {"link", "img", "iframe", "object", "form"}
    policy = [m for m in outline.all("meta") if m.get("http-equiv")]
    assert policy[0]["content"].startswith("default-src 'none'")


def test_what_comes_from_the_program_is_escaped(page):
    outline = Outline(page)
    assert "alert(1)" in page
    assert len(outline.all("script")) == 4, "the data, the page's own two, and light or dark"
    assert "<b>not markup</b>" not in page
    assert "&lt;b&gt;not markup&lt;/b&gt; &amp; so on" in page


def test_links_lead_to_findings(page):
    outline = Outline(page)
    anchors = [attributes["id"] for _, attributes in outline.tags if attributes.get("id")]
    assert len(anchors) == len(set(anchors))
    links = [a["href"] for a in outline.all("a")]
    assert {link.removeprefix("#") for link in links} <= set(anchors)
    assert {"#f1", "#f2", "#f3", "#f4"} <= set(links)


def test_code_shows_the_line_and_the_one_to_change(page):
    hot = re.findall(r'<span class="hot"><span class="n">(\d+)</span>([^<]*)', page)
    assert ("6", "    loss.backward()") in hot
    mend = re.findall(r'<span class="mend"><span class="n">(\d+)</span>([^<]*)', page)
    assert mend == [("3", "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)")]


def test_plots(page):
    outline = Outline(page)
    assert len(outline.all("figure")) == 3 + 5  # excerpts and charts
    labels = [d["aria-label"] for d in outline.all("div") if d.get("class") == "plot"]
    assert [label.split(":")[0] for label in labels] == [
        "Loss",
        "Gradient norm",
        "Update to weight",
        "Gradient norm, layer by layer",
        "Update to weight, layer by layer",
    ]
    assert all(d.get("tabindex") == "0" for d in outline.all("div") if d.get("class") == "plot")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    row = data["norms"]["layers.1.weight"]
    assert (row[3], row[5], row[7], row[8]) == (0.0, "inf", "NaN", None)
    numbers = [float(n) for d in outline.all("path") for n in re.findall(r"[\d.]+", d["d"] or "")]
    assert all(0 <= n <= 1000 for n in numbers)
    marks = [line for line in outline.all("line") if "mark" in (line.get("class") or "")]
    assert len(marks) == 3 * 5  # steps 0, 2 (two findings) and 30, in each chart


@pytest.mark.parametrize(
    "past",
    [
        None,
        History(),
        history(steps=1),
        history(steps=2, parameters=1),
        History([1, 2], {"w": [math.nan] * 2}, {"w": [math.nan] * 2}, [math.nan] * 2),
        History([1, 2], {"w": [0.0, 0.0]}, {"w": [math.inf] * 2}, [-1.0, 1e30]),
        History([1], {}, {}, [1.0]),
    ],
)
def test_any_history_can_be_shown(past):
    outline = Outline(as_page(rendered(Said([], past))))
    assert "Nothing found" in outline.texts
    said = "No history was recorded, so there is nothing to plot." in outline.texts
    assert said == (not past or not past.steps)


def test_a_large_model_and_a_long_run(tmp_path):
    said = Said([finding(tmp_path / "a.py")], history(steps=1000, parameters=300))
    start = time.process_time()
    text = as_page(rendered(said))
    assert time.process_time() - start < 10
    assert len(text) < 8e6
    steps, series = thinned(list(range(1000)), {"w": [1.0] * 777 + [None] + [9.0] * 222})
    assert len(steps) <= MOST_POINTS
    assert max(series["w"]) == 9.0


def test_axes():
    axis = Axis.over([1e-3, 1.0, math.inf, 0.0, math.nan])
    assert (axis.low, axis.high, axis.is_log) == (-3, 0, True)
    assert [axis.at(v) for v in (1e-3, 1.0, math.inf, 0.0)] == [0, 1, 1, 0]
    assert [text for _, text in axis.ticks()] == ["0.001", "0.01", "0.1", "1"]
    axis = Axis.over([2.0, 3.0])
    assert not axis.is_log
    assert all(0 <= place <= 1 for place, _ in axis.ticks())
    assert len(Axis.over([1e-300, 1e300]).ticks()) <= 6


# ---- pages of rules --------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rules_page_is_made_from_it(rule):
    text, markdown = rule_text(rule), rule_markdown(rule)
    assert text.startswith(f"{rule.code} {rule.name} [{rule.severity}]")
    assert markdown.startswith(f"# {rule.code} {rule.name}\n")
    for code in (rule.bug, rule.fixed):
        assert f"```python\n{code.strip()}\n```" in markdown
        assert all(f"    {line}".rstrip() in text for line in code.strip().split("\n"))
    assert f"# taut: ignore[{rule.code}]" in text
    assert max(map(len, text.split("\n"))) <= 130


def test_the_list_has_a_line_for_each():
    lines = list_text().split("\n")
    assert len(lines) == 1 + len(RULES)
    assert [line.split()[0] for line in lines[1:]] == sorted(rule.code for rule in RULES)


def test_pages_are_written_for_the_documentation(tmp_path, project, monkeypatch):
    monkeypatch.syspath_prepend(str(project / "docs"))
    from rule_pages import write_rule_pages

    (tmp_path / "TG000.md").write_text("of a rule that is gone")
    write_rule_pages(tmp_path)
    assert {p.stem for p in tmp_path.glob("*.md")} == {"index", *(rule.code for rule in RULES)}
    assert "[TG101](TG101.md)" in (tmp_path / "index.md").read_text(encoding="utf-8")


def test_a_heat_map_has_a_shade_for_each_value_and_a_row_for_each_layer():
    scale = heat_map.Scale([1e-8, 1.0])
    assert [scale.shade(v) for v in (1e-8, 1e-4, 1.0, 0.0, math.inf, math.nan)] == [
        *(0, 8, 16),
        *("zero", "strange", "nan"),
    ]
    assert scale.shade(None) is None, "nothing measured is no shade"
    around = heat_map.Scale([1e-4, 1e-2], usual=1e-3)
    assert around.shade(1e-3) == 8, "usual is in the middle"
    many = {f"block{i}.{part}": [3.0, None] for i in range(40) for part in ("weight", "bias")}
    norms = heat_map.by_layer(many, norms=True)
    assert len(norms) == 40
    assert norms["block0"][0] == pytest.approx(18**0.5)
    assert norms["block0"][1] is None
    broken = {**many, "block0.bias": [math.nan, None]}
    assert math.isnan(heat_map.by_layer(broken, norms=True)["block0"][0])
    assert math.isnan(heat_map.by_layer(broken, norms=False)["block0"][0])
    assert heat_map.by_layer(many, norms=False)["block0"][0] == 3.0


def test_cells_of_a_heat_map_join_where_the_shade_is_the_same():
    figure = heat_map.heat_map("norms", "T", "", [0, 1, 2, 3], {"w": [1.0, 1.0, 1e-9, 1e-9]}, [])
    shapes = re.findall(r'class="cells" data-shade="\d+" d="([^"]*)"', figure)
    assert sorted(shapes) == ["M0 0H500V1000H0z", "M500 0H1000V1000H500z"]


def test_a_loss_that_explodes_is_shown_from_where_it_began():
    losses = [0.2529, 24.48, 9.117e8, 3.1e34]
    axis = Axis.over([*losses, math.inf, math.nan])
    assert all(axis.shows(loss) for loss in losses)
    places = [axis.at(loss) for loss in losses]
    assert places == sorted(places)
    assert 0 < places[0] < places[1] < places[2] < 1
    assert 3 <= len(axis.ticks()) <= 6
