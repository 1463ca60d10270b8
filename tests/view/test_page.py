"""The page as a file: alone, escaped, readable without JavaScript, and data that agrees with the graph."""

from __future__ import annotations

import gc
import json
import re
import time
import webbrowser
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlparse

import pytest

import tautograd
from tautograd import verify, view
from tautograd._view.chain import as_text
from tautograd._view.record import values

from . import programs


@pytest.fixture(scope="module")
def page() -> str:
    return view(programs.detached, tautograd).page()


def data_of(page: str) -> dict:
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


class Text(HTMLParser):
    """What a reader without JavaScript sees."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.hidden = 0
        self.text: list[str] = []
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag in ("style", "script"):
            self.hidden += 1

    def handle_endtag(self, tag):
        if tag in ("style", "script"):
            self.hidden -= 1

    def handle_data(self, data):
        if not self.hidden:
            self.text.append(data)


def test_a_page_needs_nothing_but_itself(page):
    assert not re.findall(r"\bsrc=|@import|url\(|fetch\(|XMLHttp|WebSocket|innerHTML|eval\(", page)
    addresses = set(re.findall(r"https?://[^\"'\s]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}, "the name of SVG, which is no address"
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'")
    assert "connect-src" not in policy


def test_without_javascript_it_says_everything(page):
    text = " ".join(Text(page).text)
    for part in ("loss = 35", "detach()", "∂loss/∂x = ∂loss/∂v", "· scale", "x.grad", "1 · 5 = 5"):
        assert part in text
    assert "The graph is cut by" in text


def test_data_agrees_with_the_graph(page):
    graph = view(programs.detached, tautograd).graph
    data = data_of(page)
    assert [n["s"] for n in data["nodes"]] == [n.symbol for n in graph.nodes]
    assert [e[:4] for e in data["edges"]] == [
        [e.source, e.output, e.target, e.place] for e in graph.edges
    ]
    assert [s["n"] for s in data["steps"]] == graph.steps
    for edge, (*_, norm, _, cut) in zip(graph.edges, data["edges"], strict=True):
        assert norm == (
            None if edge.gradient is None else pytest.approx(edge.gradient.norm, rel=1e-5)
        )
        assert cut == edge.is_cut
    lines = data["files"][0]["lines"]
    for node in data["nodes"]:
        if "l" in node:
            number = data["sites"][node["l"]][1]
            assert lines[number - data["files"][0]["first"]].strip()


def test_what_comes_from_the_program_is_escaped(tmp_path):
    torch = tautograd
    evil = "</script><img src=x onerror=alert(1)>"
    module = type(evil, (torch.nn.Module,), {"forward": lambda self, x: (x * x).exp()})()
    x = torch.tensor(1.0, requires_grad=True)
    page = view(lambda: module(x)).page()
    assert evil not in page
    assert "img" not in Text(page).tags
    assert data_of(page)["groups"][1]["t"] == evil


def test_save_and_json(tmp_path):
    x = tautograd.tensor([1.0, float("inf")], requires_grad=True)
    drawn = view((x * 2).sum())
    assert drawn.save(tmp_path / "page.html").read_text(encoding="utf-8") == drawn.page()
    kept = json.loads(drawn.save(tmp_path / "graph.json").read_text(encoding="utf-8"))
    assert kept == json.loads(json.dumps(drawn.to_dict()))
    assert kept["format"] == "tautograd view"
    assert kept["nodes"][0]["outputs"]["0"]["values"] == [1.0, "inf"]
    with pytest.raises(ValueError, match=r"\.html, \.json, \.svg or \.dot"):
        drawn.save(tmp_path / "page.png")
    assert [p.name for p in tmp_path.iterdir() if p.suffix == ".png"] == []


def test_show_and_notebooks(monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    x = tautograd.tensor(2.0, requires_grad=True)
    drawn = view(x * x)
    path = drawn.show()
    try:
        assert Path(urlparse(opened[0]).path) == path
        assert path.read_text(encoding="utf-8") == drawn.page()
    finally:
        path.unlink()
    frame = drawn._repr_html_()
    assert frame.startswith("<iframe ")
    assert 'sandbox="allow-scripts"' in frame
    assert "<script" not in frame, "the page is an attribute, escaped"
    report = verify(lambda x: x * x, tautograd.tensor([1.0], dtype=tautograd.float64))
    path = report.show()
    try:
        assert "the gradient is correct" in path.read_text(encoding="utf-8")
    finally:
        path.unlink()
    assert len(opened) == 2


def test_large_tensors_are_told_in_figures(monkeypatch):
    monkeypatch.setattr(values, "MOST_KEPT", 100_000)
    x = tautograd.ones(400, 400, requires_grad=True)
    drawn = view((x * 3).sum())
    assert len(drawn.page()) < 200_000
    (leaf,) = [n for n in drawn.graph.nodes if n.kind == "leaf"]
    assert leaf.value.array is None
    assert leaf.arrived[0].norm == pytest.approx(1200.0)


@pytest.mark.parametrize("engine", ["tautograd", "torch"])
def test_the_rule_of_a_large_layer_is_written_out(engine):
    torch = tautograd if engine == "tautograd" else pytest.importorskip(engine)
    torch.manual_seed(0)
    layer, x = torch.nn.Linear(512, 640), torch.randn(32, 512)
    drawn = view(lambda: layer(x).pow(2).sum())
    data = data_of(drawn.page())
    said = [as_text(line) for step in data["steps"] for _, lines in step["g"] for line in lines]
    (product,) = [text for text in said if "(32 terms)" in text]
    place, _, rest = product.partition(": ")
    row, column = map(int, re.findall(r"\d+", place))  # of the transposed weight
    g = 2 * layer(x)
    want = float((x[:, row] * g[:, column]).sum().detach())
    assert float(rest.rpartition("= ")[2].replace("−", "-")) == pytest.approx(want, rel=1e-3)
    assert len(drawn.page()) < 200_000


def test_the_page_of_a_used_graph_says_why_there_are_no_gradients():
    x = tautograd.tensor(2.0, requires_grad=True)
    y = x.exp()
    y.backward()
    assert "backward(retain_graph=True)" in view(y).page()


def test_a_small_gradient_is_shown_in_numbers_as_print_shows_it():
    def program():
        x = tautograd.tensor([1.0, 2.0, 3.0], requires_grad=True)
        large = tautograd.ones(3, 3, requires_grad=True)
        return ((x * x) * large).sum()

    made = view(program)
    text = "".join(Text(made.page()).text)
    assert "[6, 12, 18]" in text
    data = data_of(made.page())
    found = {node["s"]: node["g"] for node in data["nodes"] if node["k"] == "l"}
    assert found == {"x": "[6, 12, 18]", "large": "‖17.15‖"}
    lines = [as_text(line) for step in data["steps"] for _, part in step["g"] for line in part]
    assert "all of it: [3, 6, 9]" in lines
    arrivals = [as_text(line) for step in data["steps"] for line in step["a"]]
    assert any("= [3, 6, 9] + [3, 6, 9] = [6, 12, 18]" in line for line in arrivals)
    on_edges = {edge[5] for edge in data["edges"]}
    assert "‖11.22‖" in on_edges, "an edge has room for the norm alone"


@pytest.mark.slow
def test_a_watched_program_of_ten_thousand_operations_is_a_page_soon():
    torch = tautograd
    weights = [torch.tensor(0.99, requires_grad=True) for _ in range(100)]

    def program(x):
        for i in range(5000):
            x = (x * weights[i % 100]).tanh()
        return x

    times = []
    for _ in range(3):
        start = time.process_time()
        page = view(program, torch.tensor(1.0, requires_grad=True)).page()
        times.append(time.process_time() - start)
    assert min(times) < 4
    assert len(page.encode()) < 3_000_000
    assert gc.isenabled()
