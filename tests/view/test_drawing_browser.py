"""The drawing in a real browser: which way it goes, what can be read in it, its minimap, its edges by keys."""

from __future__ import annotations

from pathlib import Path

import pytest

import tautograd
from tautograd import view
from tautograd._view.page.remarks import remarks
from tautograd._view.record.values import number as written

from . import programs
from .page_checks import AGAINST, OVERLAP, PALE, SMALL, SPILLS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    return {
        name: view(programs.PROGRAMS[name], tautograd).save(folder / f"{name}.html")
        for name in ("square", "linear_step", "shared_input", "gpt", "detached")
    }


SIDEWAYS = "Taut.sideways"


@pytest.mark.parametrize("name", ["square", "linear_step", "shared_input", "gpt", "detached"])
def test_it_can_be_drawn_either_way(browser, pages, name):
    browser.size(1280)
    browser.open(pages[name])
    assert browser.run(SIDEWAYS) is False, "taller than wide: values flow down"
    for turned in (False, True):
        assert browser.run(SIDEWAYS) is turned
        browser.key("u")
        assert browser.run(AGAINST) == 0
        assert browser.run(OVERLAP) == 0
        browser.key("Home")
        browser.key("t")
    assert browser.run(SIDEWAYS) is False
    assert browser.errors == []


def test_a_wide_window_has_it_from_left_to_right(browser, pages):
    browser.size(2560, 900)
    browser.open(pages["linear_step"])
    assert browser.run(SIDEWAYS) is True
    assert "to the right" in browser.run("document.getElementById('panel').innerText")
    browser.size(1000, 1100)
    browser.settle()
    browser.settle()
    assert browser.run(SIDEWAYS) is False, "until a reader has moved it, it goes with the window"


def test_a_link_keeps_the_way_it_was_turned(browser, pages):
    browser.size(1280)
    browser.open(pages["linear_step"])
    browser.click("#turn")
    link = browser.run("location.hash")
    assert "side=1" in link
    browser("Page.navigate", url="about:blank")
    browser("Page.navigate", url=pages["linear_step"].resolve().as_uri() + link)
    while not browser.run("!!window.Taut || typeof Taut !== 'undefined' && !!Taut.drawing"):
        pass
    browser.settle()
    assert browser.run(SIDEWAYS) is True


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1280, 2560])
@pytest.mark.parametrize("name", ["shared_input", "gpt", "detached"])
def test_letters_stay_in_their_boxes_and_can_be_read(browser, pages, name, width, dark):
    browser.size(width, dark=dark)
    browser.open(pages[name])
    for step in range(min(browser.run("Taut.data.steps.length"), 12) + 1):
        assert browser.run(SPILLS) == [], f"step {step}"
        assert browser.run(SMALL) == [], f"step {step}"
        assert browser.run(PALE) == [], f"step {step}"
        browser.key("ArrowRight")


def test_boxes_are_as_wide_as_letters_that_cannot_be_smaller(browser, pages):
    browser.size(1280)
    browser.open(pages["gpt"])
    assert browser.run("Taut.drawing.scale") < 11 / 13
    titles = "[...document.querySelectorAll('#graph .node .t')].map((t) => t.textContent)"
    assert [title for title in browser.run(titles) if "…" in title.replace("(…)", "")] == []


def test_the_minimap_shows_where_the_window_is(browser, pages):
    browser.size(1280)
    browser.open(pages["gpt"])
    hidden = "document.getElementById('map').hidden"
    assert browser.run(hidden), "all of it is in the window"
    browser.key("u")
    for _ in range(8):
        browser.key("+")
    assert not browser.run(hidden)
    part = """(() => { const m = document.getElementById('map').getBoundingClientRect(),
      v = document.querySelector('#map i').getBoundingClientRect(), d = Taut.drawing;
      return [(v.left - m.left) / m.width * d.shown.w, (v.top - m.top) / m.height * d.shown.h,
        Math.max(0, -d.x / d.scale), Math.max(0, -d.y / d.scale)]; })()"""
    left, top, x, y = browser.run(part)
    size = browser.run("Taut.drawing.shown.h") / 190  # of one pixel of the map
    assert (left, top) == pytest.approx((x, y), abs=2 * size)
    browser.run("window.kept = Taut.drawing.y; 0")
    browser.click("#map")
    middle = """(() => { const d = Taut.drawing, s = d.svg;
      return [(s.clientHeight / 2 - d.y) / d.scale, d.shown.h / 2]; })()"""
    now, half = browser.run(middle)
    assert now == pytest.approx(half, abs=2 * size), "a click in its middle shows the middle"
    browser.key("f")
    assert browser.run(hidden)


def test_every_edge_is_reached_by_keys_and_told(browser, pages):
    browser.size(1280)
    browser.open(pages["shared_input"])
    told: set[str] = set()
    names = browser.run("[...Taut.drawing.shown.boxes.keys()]")
    for name in names:
        browser.run(f"document.querySelector('[data-name={name}]').dispatchEvent("
                    "new MouseEvent('click', { bubbles: true })); 0")  # fmt: skip
        count = browser.run(
            f"Taut.drawing.edges.filter((e) => e.a === '{name}' || e.b === '{name}').length"
        )
        for number in range(1, count + 1):
            browser.key("e")
            said = browser.run("document.getElementById('said').textContent")
            assert said.startswith(f"Edge {number} of {count}, ")
            assert browser.run("document.querySelectorAll('#graph .picked').length") == 1
            index = browser.run("Taut.state.edge")
            label = browser.run(f"Taut.data.edges[{index}][5]")
            assert f": gradient {label}." in said
            told.add(str(index))
    assert len(told) == browser.run("Taut.data.edges.length")
    # the arrow follows the edge that was chosen, not the first
    browser.run("document.querySelector('[data-name=n0]').dispatchEvent("
                "new MouseEvent('click', { bubbles: true })); 0")  # fmt: skip
    browser.key("E", shift=True)
    target = browser.run("'n' + Taut.data.edges[Taut.state.edge][2]")
    browser.key("ArrowDown")
    assert browser.run("Taut.state.chosen") == target


def test_after_the_last_step_it_begins_again(browser, pages):
    browser.size(1280)
    browser.open(pages["square"])
    browser.key("End")
    assert browser.run("document.getElementById('next').textContent") == "Again ↺"
    browser.click("#next")
    assert browser.run("Taut.state.step") == 0
    assert browser.run("document.getElementById('next').textContent") == "Backward ▶"


@pytest.mark.parametrize("name", ["detached", "shared_input", "gpt"])
def test_the_panel_says_first_what_stands_out(browser, pages, name):
    browser.size(1280)
    browser.open(pages[name])
    graph = view(programs.PROGRAMS[name], tautograd).graph
    rows = browser.run(
        "[...document.querySelectorAll('#panel .remarks li:not(:has(details))')].map((e) => e.textContent)"
    )
    expected = remarks(graph)
    assert len(rows) == len(expected)
    for row, remark in zip(rows, expected, strict=True):
        assert row.startswith(remark.before.strip())
        assert remark.after.strip() in " ".join(row.split())
    browser.click("#panel .remarks button")
    assert browser.run("Taut.state.chosen") == f"n{expected[0].node}"


def test_a_telephone_shows_letters_before_all_of_it(browser, tmp_path):
    page = view(programs.tower, tautograd).save(tmp_path / "tower.html")
    browser.size(400, 800)
    browser.open(page)
    titles = browser.run("document.querySelectorAll('#graph .node .t').length")
    assert titles == browser.run("document.querySelectorAll('#graph .node').length")
    assert browser.run(SMALL) == []
    browser.key("f")
    assert browser.run("Taut.drawing.shown.h * Taut.drawing.scale <= Taut.drawing.svg.clientHeight")


TOUCHING = """(() => { const of = (s) => [...document.querySelectorAll(s)].map((e) => e.getBoundingClientRect());
  const labels = of('#graph .label-back'), titles = of('#graph .title-back');
  const over = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const met = labels.filter((l) => titles.some((t) => over(l, t))).length;
  return { labels: labels.length, titles: titles.length, over: met }; })()"""


def test_labels_keep_clear_of_the_titles_of_modules(browser, pages):
    browser.size(1280)
    browser.open(pages["gpt"])
    seen = {"labels": 0, "titles": 0}
    for step in range(1, 40):
        browser.run(f"Taut.go({step})")
        browser.settle()
        found = browser.run(TOUCHING)
        assert found["over"] == 0
        seen = {key: seen[key] + found[key] for key in seen}
    assert min(seen.values()) > 10


def test_the_minimap_never_stands_on_what_was_chosen(browser, pages):
    browser.size(1280)
    browser.open(pages["gpt"])
    browser.key("u")
    covered = browser.run(
        """(async () => {
        const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const map = document.getElementById('map'); let met = 0, checked = 0;
        for (const button of [...document.querySelectorAll('#panel table button')]) {
          button.click(); await frame();
          const box = document.querySelector('#graph .chosen');
          if (map.hidden || !box) continue;
          const a = map.getBoundingClientRect(), b = box.getBoundingClientRect(); checked += 1;
          if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) met += 1;
        } return [met, checked]; })()"""
    )
    assert covered[0] == 0
    assert covered[1] > 10


def test_an_edge_goes_round_an_unfolded_module(browser, tmp_path):
    """A way past a module does not cross what is inside of it."""
    nn = tautograd.nn

    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(4)])

        def forward(self, x):
            for layer in self.layers:
                x = layer(x).tanh()
            return x

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.inner = nn.Linear(3, 3), Inner()

        def forward(self, x):
            x = self.first(x)
            return x + self.inner(x)

    page = view(lambda x: Outer()(x).sum(), tautograd.ones(2, 3)).save(tmp_path / "round.html")
    browser.size(1280)
    browser.open(page)
    browser.key("u")
    crossing = browser.run(
        """(() => { const f = Taut.drawing.shown.frames.find((f) => Taut.data.groups[f.group].a === 'Inner');
        const inside = (n) => Taut.around(Taut.data.nodes[+n.slice(1)].p).includes(f.group);
        const past = Taut.drawing.edges.filter((e) => !inside(e.a) && !inside(e.b)); let met = 0;
        for (const edge of past) {
          const path = Taut.make('path', { d: Taut.Drawing.d(edge.points, edge.bow) }), length = path.getTotalLength();
          for (let i = 0; i <= 200; i += 1) { const p = path.getPointAtLength(length * i / 200);
            if (Math.abs(p.x - f.x) < f.w / 2 - 2 && p.y > f.y + 40 && p.y < f.y + f.h - 40) met += 1; }
        } return [met, past.length]; })()"""
    )
    assert crossing[0] == 0
    assert crossing[1] > 0


JOINED = """Taut.drawing.edges.filter((e) => e.edges.length > 1 && !e.cut)
  .map((e) => [e.edges.map((i) => Taut.data.edges[i]), Taut.drawing.labels(e)])"""


def test_a_line_for_several_edges_says_so_and_what_they_bring(browser, pages):
    """Compared with the edges themselves: how many bring a gradient, the smallest and the largest."""
    browser.size(1280)
    browser.open(pages["gpt"])
    found = browser.run(JOINED)
    assert len(found) > 1
    shown = browser.run("[...document.querySelectorAll('#graph .label')].map((e) => e.textContent)")
    for edges, labels in found:
        norms = [edge[4] for edge in edges if edge[4] is not None]
        low, high = (written(choose(norms)) for choose in (min, max))
        said = f"‖{low}‖ … ‖{high}‖" if low != high else f"‖{low}‖"
        whole = f"{len(norms)} edges: {said}"
        assert labels == ([whole, f"{len(norms)} edges"] if len(norms) > 1 else [edges[0][5]])
        assert set(labels) & set(shown)
    browser.run("Taut.go(Taut.data.steps.length - 3)")
    for edges, labels in browser.run(JOINED):
        come = browser.run("Taut.state.step")
        when = [browser.run(f"Taut.state.when[{edge[2]}]") for edge in edges]
        known = [w for w, edge in zip(when, edges, strict=True) if edge[4] is not None]
        came = sum(w <= come for w in known)
        if 0 < came < len(known):
            assert labels[0].startswith(f"{came} of {len(known)} edges")


def test_a_module_lists_what_crosses_its_edge(browser, pages):
    browser.size(1280)
    browser.open(pages["gpt"])
    group = browser.run("Taut.data.groups.findIndex((g) => g.a === 'Block')")
    browser.click(f"[data-name=g{group}]")
    inside = f"(i) => Taut.around(Taut.data.nodes[i].p).includes({group})"
    for title, mine in (("Comes in", 2), ("Goes out", 0)):
        expected = browser.run(
            f"Taut.data.edges.filter((e) => ({inside})(e[{mine}]) && !({inside})(e[{2 - mine}])).length"
        )
        listed = browser.run(
            f"[...document.querySelectorAll('#panel h3')].find((e) => e.textContent === {title!r})"
            ".nextElementSibling.children.length"
        )
        assert listed == expected > 0


def test_what_there_is_too_much_of_can_be_unfolded(browser, tmp_path):
    def program():
        leaves = [tautograd.tensor(float(i + 1), requires_grad=True) for i in range(9)]
        return tautograd.stack([leaf * leaf for leaf in leaves]).sum()

    browser.size(1280)
    browser.open(view(program).save(tmp_path / "many.html"))
    title = browser.run("document.querySelector('.remarks summary').textContent")
    assert title == "6 more values that are used several times"
    assert browser.run("document.querySelectorAll('.remarks details li').length") == 6
    browser.click(".remarks summary")
    assert browser.run("document.querySelector('.remarks details').open")


def test_a_saturated_activation_says_so_in_its_panel(browser, tmp_path):
    browser.size(1280)
    browser.open(view(programs.saturated, tautograd).save(tmp_path / "flat.html"))
    for name, words in (("gate", "is saturated"), ("dead", "is dead"), ("bend", "")):
        at = browser.run(f"Taut.data.nodes.findIndex((n) => n.s === {name!r})")
        browser.click(f"[data-name=n{at}]")
        said = "[...document.querySelectorAll('#panel .flat')].map((e) => e.textContent).join()"
        assert (words in browser.run(said)) if words else browser.run(said) == ""


def test_the_axes_of_an_attention_map_are_named_beside_it(browser, tmp_path):
    browser.size(1280)
    browser.open(view(programs.attention, tautograd).save(tmp_path / "attention.html"))
    at = browser.run("Taut.data.nodes.findIndex((n) => n.s === 'weights')")
    browser.click(f"[data-name=n{at}]")
    named = "[...document.querySelectorAll('#panel .map-axes span')].map((e) => e.textContent)"
    assert browser.run(named) == ["query →", "key →"] * 2  # the value's, and the gradient's
    assert "a row for each query" in browser.run("document.querySelector('#panel .tile img').alt")
