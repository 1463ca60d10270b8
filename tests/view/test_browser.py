"""The page in a real browser: it steps, folds, searches, fits every width, and paints soon."""

from __future__ import annotations

import base64
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tautograd
from tautograd import view
from tautograd._doctor.report.page import as_page
from tautograd._view.page.moving_picture import read_png

from ..doctor.reports import rendered, several
from . import programs
from .browser import Browser, chromium

pytestmark = pytest.mark.slow

WIDTHS = (400, 1280, 2560)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    executable = chromium()
    assert executable is not None
    made = Browser(executable)
    yield made
    made.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    found = {
        name: view(programs.PROGRAMS[name], tautograd).save(folder / f"{name}.html")
        for name in ("square", "linear_step", "gpt", "detached", "several_outputs", "custom")
    }
    torch = pytest.importorskip("torch")
    found["gpt on torch"] = view(programs.gpt, torch).save(folder / "torch.html")
    found["long"] = _long().save(folder / "long.html")
    report = folder / "run.html"
    report.write_text(as_page(rendered(several(folder)), str(folder)), encoding="utf-8")
    found["run"] = report
    return found


def _long():
    """Ten thousand operations in a row, from a loop."""
    torch = tautograd
    x = torch.tensor(1.0, requires_grad=True)
    weights = [torch.tensor(0.99, requires_grad=True) for _ in range(100)]
    h = x
    for i in range(5000):
        h = (h * weights[i % 100]).tanh()
    return view(h)


def count(browser: Browser, what: str) -> int:
    return browser.run(f"Taut.data.{what}.length")


@pytest.mark.parametrize(
    "name", ["square", "linear_step", "gpt", "gpt on torch", "several_outputs", "custom"]
)
def test_stepping_reaches_every_node(browser, pages, name):
    browser.size(1280)
    browser.open(pages[name])
    reached = set()
    steps = count(browser, "steps")
    for number in range(1, steps + 1):
        browser.key("ArrowRight")
        assert (
            browser.run("document.getElementById('count').textContent")
            == f"step {number} of {steps}"
        )
        now = browser.run(
            "[...document.querySelectorAll('#graph .now')].map((e) => e.dataset.name)"
        )
        assert len(now) == 1, f"step {number} marks {now}"
        assert now[0].startswith("n"), "modules open on the way"
        reached.add(int(now[0][1:]))
        box = browser.run(
            "(() => { const b = document.querySelector('#graph .now').getBoundingClientRect(),"
            "p = document.getElementById('graph').getBoundingClientRect();"
            "return b.left >= p.left - 1 && b.right <= p.right + 1 && b.top >= p.top && b.bottom <= p.bottom; })()"
        )
        assert box, f"step {number} is in the window"
        title = browser.run("document.querySelector('#panel h2').textContent")
        step = browser.run(f"Taut.data.steps[{number - 1}]")
        node = browser.run(f"Taut.data.nodes[{step['n']}]")
        assert title == node.get("q", node["s"])
        assert browser.run("document.querySelectorAll('#panel .give').length") == len(step["g"])
    gradients = browser.run(
        "Taut.data.nodes.map((n, i) => [n, i]).filter(([n]) => n.k === 'o' || n.k === 'l').map(([, i]) => i)"
    )
    assert reached == set(gradients)
    browser.key("ArrowLeft")
    assert browser.run("Taut.state.step") == steps - 1
    browser.key("Home")
    assert browser.run("document.getElementById('count').textContent") == "overview"
    assert browser.errors == []


def test_the_gradient_of_each_step_appears_when_it_is_known(browser, pages):
    browser.size(1280)
    browser.open(pages["square"])
    browser.key("ArrowRight")
    shown = "[...document.querySelectorAll('#graph .g')].map((e) => e.textContent)"
    assert browser.run(shown) == ["∂ 1"]
    labels = "[...document.querySelectorAll('#graph .label')].map((e) => e.textContent)"
    assert browser.run(labels) == ["2", "2"]
    assert browser.run("document.querySelectorAll('#graph .edge.flow').length") == 2
    browser.key("ArrowRight")
    assert sorted(browser.run(shown)) == ["∂ 1", "∂ 4"]
    text = browser.run("document.getElementById('panel').innerText")
    assert "2 + 2 = 4" in text
    assert "This is x.grad." in text


def test_folding_by_mouse_and_keys(browser, pages):
    browser.size(1280)
    browser.open(pages["gpt"])
    shown = "Taut.drawing.shown.boxes.size"
    first = browser.run(shown)
    assert first <= 40
    blocks = browser.run("'g' + Taut.data.groups.findIndex((g) => g.t === 'blocks')")
    browser.click(f"[data-name={blocks}]")
    opened = browser.run(shown)
    assert opened == first + 1, "two blocks in place of one box"
    assert "unfolded" in browser.run("document.getElementById('said').textContent")
    browser.key("Enter")
    assert browser.run(shown) == first
    browser.click("#unfold")
    assert browser.run(shown) == count(browser, "nodes")
    browser.click("#fold")
    assert browser.run(shown) < first
    assert browser.errors == []


def test_stepping_over_a_module(browser, pages):
    browser.size(1280)
    browser.open(pages["gpt"])
    group = "Taut.data.nodes[Taut.state.now].p"
    for _ in range(5):
        browser.key("ArrowRight")
    inside, step = browser.run(group), browser.run("Taut.state.step")
    assert inside
    browser.key("ArrowRight", shift=True)
    assert browser.run("Taut.state.step") > step
    assert not browser.run(f"Taut.around({group}).includes({inside})")


def test_everything_by_keyboard(browser, pages):
    browser.size(1280)
    browser.open(pages["gpt"])
    browser.key("/")
    assert browser.run("document.activeElement.id") == "search"
    browser("Input.insertText", text="qkv")
    browser.settle()
    assert browser.run("document.querySelectorAll('#found [role=option]').length") > 2
    browser.key("ArrowDown")
    browser.key("Enter")
    chosen = browser.run("Taut.state.chosen")
    assert "qkv" in browser.run("document.querySelector('#panel h2').textContent")
    assert browser.run(f"document.querySelector('[data-name={chosen}]') !== null")
    browser.key("ArrowDown")
    assert browser.run("Taut.state.chosen") != chosen, "along an edge"
    scale = browser.run("Taut.drawing.scale")
    browser.key("+")
    assert browser.run("Taut.drawing.scale") > scale
    browser.key("f")
    browser.key("Home")
    seen = set()
    for _ in range(90):
        browser.key("Tab")
        seen.add(browser.run("document.activeElement.id || document.activeElement.className"))
    assert {"next", "slide", "search", "graph", "fit", "theme"} <= seen


def test_wheel_and_drag_move_the_drawing(browser, pages):
    browser.size(1280)
    browser.open(pages["linear_step"])
    where = "[Taut.drawing.x, Taut.drawing.y, Taut.drawing.scale]"
    x, y, scale = browser.run(where)
    browser("Input.dispatchMouseEvent", type="mouseWheel", x=300, y=400, deltaX=0, deltaY=-240)
    browser.settle()
    assert browser.run(where)[2] > scale
    x, y, scale = browser.run(where)
    for kind, px, py in (
        ("mousePressed", 60, 640),
        ("mouseMoved", 90, 600),
        ("mouseReleased", 90, 600),
    ):
        browser(
            "Input.dispatchMouseEvent",
            type=kind,
            x=px,
            y=py,
            button="left",
            buttons=1,
            clickCount=1,
        )
    browser.settle()
    moved = browser.run(where)
    assert (moved[0] - x, moved[1] - y) == pytest.approx((30, -40), abs=1)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["square", "linear_step", "gpt", "detached", "run"])
def test_nothing_overflows_and_all_can_be_read(browser, pages, name, width, dark):
    browser.size(width, dark=dark)
    browser.open(pages[name])
    for _ in range(3 if name != "run" else 0):
        assert browser.run("document.documentElement.scrollWidth") <= width
        cut_off = browser.run(OUTSIDE)
        assert cut_off == [], f"beyond the window's edge: {cut_off}"
        browser.key("ArrowRight")
    assert browser.run("document.documentElement.scrollWidth") <= width
    poor = browser.run(CONTRAST)
    assert poor == [], f"too little contrast: {poor}"
    assert browser.errors == []
    assert len(browser.requests) == 1, "the file itself, nothing else"


WHERE = (
    "[Taut.drawing.x, Taut.drawing.y, Taut.drawing.scale].map((v) => Math.round(v * 100)).join()"
)
COVERED = """(() => {
  const over = ['.legend', '.corner'].map((s) => document.querySelector(s).getBoundingClientRect());
  return [...document.querySelectorAll('#graph .node')].filter((e) => {
    const b = e.getBoundingClientRect();
    return over.some((o) => b.right > o.left && b.left < o.right && b.bottom > o.top && b.top < o.bottom);
  }).length; })()"""


@pytest.mark.parametrize("name", ["square", "linear_step", "several_outputs"])
def test_a_graph_that_fits_stays_where_it_is(browser, pages, name):
    browser.size(1280)
    browser.open(pages[name])
    first = browser.run(WHERE)
    for _ in range(count(browser, "steps")):
        browser.key("ArrowRight")
        assert browser.run(WHERE) == first
    browser.key("Home")
    browser.key("End")
    assert browser.run(WHERE) == first
    assert browser.run(COVERED) == 0


def test_a_large_graph_is_moved_just_enough(browser, pages):
    browser.size(1280)
    browser.open(pages["gpt"])
    first = browser.run(WHERE)
    browser.key("u")
    for _ in range(6):
        browser.key("+")
    inside = """(() => { const b = document.querySelector('#graph .now').getBoundingClientRect(),
      w = document.getElementById('graph').getBoundingClientRect();
      return b.left >= w.left && b.right <= w.right && b.top >= w.top && b.bottom <= w.bottom; })()"""
    stood, before = 0, browser.run(WHERE)
    for _ in range(30):
        browser.key("ArrowRight")
        assert browser.run(inside)
        now = browser.run(WHERE)
        stood += now == before
        before = now
    assert stood > 5, "a node that is in the window already moves nothing"
    browser.key("U", shift=True)
    browser.key("Home")
    assert browser.run(WHERE) != before
    browser.open(pages["gpt"])
    browser.key("+")
    browser.key("ArrowRight")
    browser.key("Home")
    assert browser.run(WHERE) == first


def test_without_gradients_backward_looks_as_disabled_as_it_is(browser, pages, tmp_path):
    colour = "getComputedStyle(document.getElementById('next')).backgroundColor"
    browser.size(1280)
    browser.open(pages["square"])
    bright = browser.run(colour)
    x = tautograd.tensor(2.0, requires_grad=True)
    loss = x * x
    loss.backward()
    browser.open(view(loss).save(tmp_path / "freed.html"))
    assert browser.run("document.getElementById('next').disabled")
    assert browser.run(colour) != bright


def test_labels_on_edges_have_a_ground_of_their_own(browser, pages):
    browser.size(1280)
    browser.open(pages["linear_step"])
    outside = """[...document.querySelectorAll('#graph .label')].filter((text, i) => {
      const back = document.querySelectorAll('#graph .label-back')[i];
      const a = text.getBoundingClientRect(), b = back.getBoundingClientRect();
      return a.left < b.left - 1 || a.right > b.right + 1; }).length"""
    assert browser.run("document.querySelectorAll('#graph .label').length") > 2
    assert browser.run(outside) == 0


OUTSIDE = """[...document.querySelectorAll('header *, .bar *, #panel *, .legend, .corner *')].filter((e) => {
  const b = e.getBoundingClientRect();
  return b.width && (b.right > innerWidth + 1 || b.left < -1) && !e.closest('pre, #found, .unseen');
}).map((e) => e.outerHTML.slice(0, 80))"""

CONTRAST = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = (c) => 0.2126 * linear(c[0] / 255) + 0.7152 * linear(c[1] / 255) + 0.0722 * linear(c[2] / 255);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c[3] === 255) return c;
    }
    return rgb('Canvas');
  };
  const found = [], texts = 'h1, h2, h3, p, td, th, dt, dd, button, a, label, output, kbd, .f span, .legend span';
  for (const e of document.querySelectorAll(texts)) {
    if (!e.textContent.trim() || !e.getClientRects().length || e.disabled) continue;
    const a = light(rgb(getComputedStyle(e).color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push([e.tagName, e.textContent.trim().slice(0, 30), ratio.toFixed(2)]);
  }
  return found;
})()"""


def test_the_switch_between_light_and_dark(browser, pages):
    browser.size(1280)
    for name in ("square", "run"):
        browser.open(pages[name])
        back = "getComputedStyle(document.body).backgroundColor"
        light = browser.run(back)
        browser.click("#theme")
        dark = browser.run(back)
        assert light == "rgb(255, 255, 255)"
        assert dark != light
        browser.click("#theme")
        assert browser.run(back) == light


def test_motion_only_where_it_is_wanted(browser, pages):
    moving = "getComputedStyle(document.querySelector('#graph .flow')).animationName"
    for still, name in ((True, "none"), (False, "flow")):
        browser.size(1280, still=still)
        browser.open(pages["square"])
        browser.key("ArrowRight")
        assert browser.run(moving) == name


def test_ten_thousand_nodes(browser, pages):
    browser.size(1280)
    times = []
    for _ in range(3):
        browser.open(pages["long"])
        paint = browser.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        drawn = browser.run("performance.getEntriesByName('drawn')[0].startTime")
        times.append((paint, drawn))
    print(f"first paint and drawing complete, in ms: {times}")
    assert min(paint for paint, _ in times) < 1000
    assert min(drawn for _, drawn in times) < 1000
    assert count(browser, "nodes") > 10_000
    assert browser.run("document.querySelectorAll('#graph .node').length") <= 40
    browser.click("#unfold")
    assert browser.run("Taut.drawing.shown.boxes.size") == count(browser, "nodes")
    assert browser.run("document.querySelectorAll('#graph *').length") < 3000
    browser.key("ArrowRight")
    assert browser.run("document.querySelectorAll('#graph .now').length") == 1
    assert browser.errors == []


def test_cuts_are_shown_as_cuts(browser, pages):
    browser.size(1280)
    browser.open(pages["detached"])
    assert browser.run("document.querySelectorAll('#graph .c').length") == 1
    assert browser.run("document.querySelectorAll('#graph .edge.cut').length") == 2
    assert "programs.py" in browser.run("document.getElementById('panel').innerText")
    browser.click("#graph .c")
    text = browser.run("document.getElementById('panel').innerText")
    assert "no gradient comes back through detach()" in text
    assert "scale = x.detach().norm()" in text


def test_source_shows_the_line_of_a_node(browser, pages):
    browser.size(1280)
    browser.open(pages["linear_step"])
    browser.key("ArrowRight")
    hot = browser.run("document.querySelector('#panel .hot').innerText")
    assert "loss = torch.nn.functional.mse_loss(out, target)" in hot
    assert browser.run("document.querySelector('#panel h3 a')") is None, "no full path"


def test_a_line_opens_in_an_editor_if_that_was_asked_for(browser, tmp_path):
    path = tmp_path / "links.html"
    path.write_text(view(programs.square, tautograd).page(links=True), encoding="utf-8")
    browser.size(1280)
    browser.open(path)
    browser.key("ArrowRight")
    link = browser.run("document.querySelector('#panel h3 a').href")
    assert link.startswith("vscode://file/")


# --- sharing ----------------------------------------------------------------------------------------


def address(browser: Browser) -> str:
    return browser.run("location.hash")


def test_the_address_says_what_is_shown(browser, pages):
    browser.size(1280)
    browser.open(pages["gpt"])
    assert address(browser) == ""
    for _ in range(4):
        browser.key("ArrowRight")
    assert address(browser).startswith("#step=4")
    browser.key("Home")
    browser.click("#unfold")
    opened = browser.run("[...Taut.open].sort((a, b) => a - b).join('.')")
    assert address(browser) == f"#open={opened}"
    browser.click("#graph .node.l")
    assert f"&at={browser.run('Taut.state.chosen')}" in address(browser)
    assert browser.errors == []


@pytest.mark.parametrize("said", ["#step=7", "#step=7&open=0", "#open=0.1&at=n3", "#at=g1"])
def test_an_address_shows_what_was_seen(browser, pages, said):
    browser.size(1280)
    browser.open(pages["gpt"])
    browser.run(f"location.hash = {json.dumps(said)}")
    browser.settle()
    browser.settle()
    want = dict(part.split("=") for part in said[1:].split("&"))
    assert browser.run("Taut.state.step") == int(want.get("step", 0))
    if "at" in want:
        assert browser.run("Taut.state.chosen") == want["at"]
    if "open" in want and "step" not in want:
        opened = set(map(int, want["open"].split(".")))
        assert opened <= set(browser.run("[...Taut.open]"))
    assert browser.errors == []


@pytest.mark.parametrize(
    "said", ["#step=99999", "#step=-3", "#step=x&open=7.y.99999&at=n99999", "#<b>"]
)
def test_an_address_that_makes_no_sense_does_no_harm(browser, pages, said):
    browser.size(1280)
    browser.open(pages["gpt"])
    browser.run(f"location.hash = {json.dumps(said)}")
    browser.settle()
    browser.key("Home")
    browser.key("ArrowRight")
    assert browser.run("Taut.state.step") == 1
    assert browser.errors == []


def test_pictures_saved_from_the_page_hold_the_whole_graph(browser, pages):
    browser.size(400)
    browser.open(pages["linear_step"])
    for _ in range(8):
        browser.key("+")  # most of it is outside of the window now
    before = browser.run(WHERE)
    text = browser.run("Taut.shared.picture().text")
    assert browser.run(WHERE) == before
    root = ET.fromstring(text)
    texts = {e.text for e in root.iter("{http://www.w3.org/2000/svg}text")}
    for name in ("weight", "bias", "x", "target"):
        assert name in texts
    assert "var(" not in text
    assert "class=" not in text
    png = base64.b64decode(browser.run("Taut.shared.asPng()").partition(",")[2])
    pixels = read_png(png)
    assert pixels.shape[0] > 500
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 20, "it is not empty"
    assert browser.errors == []


def test_labels_are_not_over_each_other(browser, pages):
    over = """(() => {
      const all = [...document.querySelectorAll('#graph .label')].map((e) => e.getBoundingClientRect());
      const apart = (a, b) => a.right - 2 <= b.left || b.right - 2 <= a.left || a.bottom - 3 <= b.top
        || b.bottom - 3 <= a.top;
      return all.filter((a, i) => all.some((b, j) => j > i && !apart(a, b))).length; })()"""
    browser.size(1280)
    for name in ("detached", "linear_step", "gpt", "several_outputs"):
        browser.open(pages[name])
        assert browser.run(over) == 0, name


def test_one_cursor_reads_all_plots_of_a_run(browser, pages):
    browser.size(1280)
    browser.open(pages["run"])
    browser.run("document.querySelector('.chart .plot').focus()")
    for _ in range(40):
        browser.key("ArrowLeft")
    for _ in range(7):
        browser.key("ArrowRight")
    read = browser.run("[...document.querySelectorAll('.readout')].map((e) => e.textContent)")
    assert len(read) == 5
    assert all(text.startswith("step 8: ") for text in read)
    norms = list(read[1:])
    assert all("NaN" in text for text in norms), "step 8 was measured, and is NaN"
    browser.key("ArrowRight")
    read = browser.run("[...document.querySelectorAll('.readout')].map((e) => e.textContent)")
    assert all(text == "step 9: nothing measured" for text in read[1:])


def test_without_javascript_there_is_a_table(browser, pages):
    browser.size(1280)
    try:
        browser.open(pages["linear_step"], scripts=False)
        answer = browser("DOM.getDocument", depth=0)["root"]["nodeId"]
        html = browser("DOM.getOuterHTML", nodeId=answer)["outerHTML"]
        assert '<details id="summary" open' in html
        picture = browser("Page.captureScreenshot", format="png")["data"]
        assert len(picture) > 5000
    finally:
        browser("Emulation.setScriptExecutionDisabled", value=False)
    assert json.dumps(browser.errors) == "[]"


SMALLEST = """Math.min(99, ...[...document.querySelectorAll('#graph text')].filter((e) => e.textContent.trim())
  .map((e) => parseFloat(getComputedStyle(e).fontSize) * Taut.drawing.scale))"""


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["square", "linear_step", "gpt", "detached"])
def test_no_letter_is_too_small_to_read(browser, pages, name, width):
    browser.size(width)
    browser.open(pages[name])
    for key in ("Home", "ArrowRight", "ArrowRight", "u"):
        browser.key(key)
        assert browser.run(SMALLEST) >= 10.9, key
    html = browser.run(
        "Math.min(...[...document.querySelectorAll('body *')].filter((e) => e.children.length === 0 && "
        "e.textContent.trim() && e.getClientRects().length && !e.closest('svg'))"
        ".map((e) => parseFloat(getComputedStyle(e).fontSize)))"
    )
    assert html >= 11
