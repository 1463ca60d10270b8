"""The page in a real browser: it steps, folds, searches, fits every width, and paints soon."""

from __future__ import annotations

import base64
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import tautograd
from tautograd import view
from tautograd._doctor.report.page import as_page
from tautograd._view.page.moving_picture import read_png

from ..doctor.reports import rendered, several
from . import programs
from .browser import Browser
from .page_checks import CONTRAST, OUTSIDE

pytestmark = pytest.mark.slow

WIDTHS = (400, 1280, 2560)


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
    assert sorted(browser.run(shown)) == ["∂ 1", "∂ 2 + 2"], "what has come, not yet added"
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
    blocks = browser.run("'g' + Taut.data.groups.findIndex((g) => g.a === 'Block')")
    browser.click(f"[data-name={blocks}]")
    opened = browser.run(shown)
    assert opened >= first + 4, "what is in a block in place of one box"
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
    # play takes several steps a frame; the address is written when it stops
    browser.key("p")
    browser.run("new Promise((done) => setTimeout(done, 3000))")
    browser.key("p")
    step = browser.run("Taut.state.step")
    assert step > 100
    assert f"step={step}" in browser.run("location.hash")
    assert browser.errors == []


def _shared_leaves(steps: int = 30, cells: int = 40):
    """A few leaves that are used again and again by a long program: edges over all of it."""
    torch = tautograd
    weights = [torch.tensor(0.9, requires_grad=True) for _ in range(cells)]

    def program(x):
        for _ in range(steps):
            for weight in weights:
                x = (x * weight).tanh() + x
        return x

    return view(program, torch.tensor(0.5, requires_grad=True))


def test_only_what_is_in_the_window_of_a_long_edge_is_drawn(browser, tmp_path):
    page = _shared_leaves().save(tmp_path / "shared.html")
    browser.size(1280)
    browser.open(page)
    browser.click("#unfold")
    for step in (1, 300, 3000):
        browser.run(f"Taut.go({step})")
        browser.settle()
        reach = browser.run(
            "(() => { const d = Taut.drawing, r = (d.svg.clientWidth + d.svg.clientHeight) / d.scale + 320 / d.scale;"
            "return [...document.querySelectorAll('#lines path')].map((p) => p.getTotalLength() / r); })()"
        )
        assert len(reach) > 1
        assert max(reach) < 6, "a curve of several windows at most"
    assert browser.errors == []


def test_play_of_ten_thousand_nodes_is_smooth(browser, pages, tmp_path):
    """By the page's own time on the processor: what other programs take of it is not its doing."""
    shared = _shared_leaves(85, 40).save(tmp_path / "shared.html")
    browser("Performance.enable", timeDomain="threadTicks")

    def busy() -> float:
        found = browser("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in found if one["name"] == "TaskDuration")

    for page in (pages["long"], shared):
        for unfolded in (False, True):
            browser.size(1280, still=False)
            browser.open(page)
            if unfolded:
                browser.click("#unfold")
            browser.key("p")
            browser.run("new Promise((done) => setTimeout(done, 500))")
            before, frames = busy(), browser.run("Taut.playing.frames")
            browser.run("new Promise((done) => setTimeout(done, 2500))")
            each = (busy() - before) / (browser.run("Taut.playing.frames") - frames)
            browser.key("p")
            print(f"{page.name}, {'un' * unfolded}folded: {1000 * each:.1f} ms a frame")
            assert each < 1 / 30
    browser("Performance.disable")
    browser.size(1280)


def test_after_a_hurried_play_the_panel_says_where_it_stopped(browser, pages):
    browser.size(1280, still=False)
    browser.open(pages["long"])
    browser.key("p")
    browser.run("new Promise((done) => setTimeout(done, 700))")
    browser.key("p")
    step = browser.run("Taut.state.step")
    assert 0 < step < count(browser, "steps")
    assert f"Step {step}:" in browser.run("document.getElementById('panel').innerText")
    assert browser.run("Taut.state.path.has(Taut.state.now)")
    assert not browser.run("document.getElementById('graph').classList.contains('hurried')")
    browser.size(1280)


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


@pytest.mark.parametrize("name", ["linear_step", "gpt"])
def test_paper_has_the_whole_graph(browser, pages, name):
    browser.size(1280)
    browser.open(pages[name])
    for _ in range(5):
        browser.key("+")
    browser("Emulation.setEmulatedMedia", media="print")
    try:
        browser.run("dispatchEvent(new Event('beforeprint'))")
        browser.size(794, 1200)
        browser("Emulation.setEmulatedMedia", media="print")
        browser.settle()
        cut_off = browser.run(
            "(() => { const w = document.getElementById('graph').getBoundingClientRect();"
            "return [...document.querySelectorAll('#graph .node')].filter((e) => { const b = "
            "e.getBoundingClientRect(); return b.left < w.left - 1 || b.right > w.right + 1 || "
            "b.top < w.top - 1 || b.bottom > w.bottom + 1; }).length; })()"
        )
        shown = browser.run("document.querySelectorAll('#graph .node').length")
        assert (cut_off, shown) == (0, browser.run("Taut.drawing.shown.boxes.size"))
        assert browser.run("document.getElementById('summary').open")
    finally:
        browser.run("dispatchEvent(new Event('afterprint'))")
        browser("Emulation.setEmulatedMedia", media="")


def test_plots_of_a_run_are_looked_at_more_nearly_together(browser, pages):
    browser.size(1280)
    browser.open(pages["run"])
    first, last = browser.run("JSON.parse(document.getElementById('data').textContent).span")
    box = browser.run(
        "(() => { const e = document.querySelector('[data-kind=norms] .plot'); e.scrollIntoView();"
        "const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()"
    )
    y = box[1] + box[3] / 2
    for kind, part in (("mousePressed", 0.25), ("mouseMoved", 0.5), ("mouseReleased", 0.75)):
        x = box[0] + part * box[2]
        browser(
            "Input.dispatchMouseEvent",
            type=kind, x=x, y=y, button="left", buttons=1, clickCount=1,
        )  # fmt: skip
    shown = (
        "[...document.querySelectorAll('.chart .plot > svg')].map((e) => e.getAttribute('viewBox'))"
    )
    boxes = browser.run(shown)
    assert len(set(boxes)) == 1, "all of them show the same steps"
    start, _, wide, _ = map(float, boxes[0].split())
    assert (start, wide) == pytest.approx((250, 500), abs=12)
    labels = browser.run(
        "[...document.querySelectorAll('[data-kind=norms] .plot .x')].map((e) => e.textContent)"
    )
    want = first + (last - first) * 0.25
    assert float(labels[0].removeprefix("step ")) == pytest.approx(want, abs=1)
    browser.run("document.querySelector('.chart .plot').focus()")
    browser.key("0")
    assert set(browser.run(shown)) == {"0.00 0 1000.00 1000"}
    assert browser.errors == []


def test_smoothing_is_the_mean_that_it_says(browser, pages):
    browser.size(1280)
    browser.open(pages["run"])
    raw = browser.run("JSON.parse(document.getElementById('data').textContent).losses['']")
    found = browser.run("Smooth(0.8)")
    total = mass = 0.0
    for value, smooth in zip(raw, found, strict=True):
        if not isinstance(value, (int, float)):
            assert smooth is None
            continue
        total, mass = 0.8 * total + 0.2 * value, 0.8 * mass + 0.2
        assert smooth == pytest.approx(total / mass)
    browser.run(
        "(() => { const e = document.getElementById('smooth'); e.value = 0.8; e.dispatchEvent(new Event('input')); })()"
    )
    assert browser.run("document.querySelector('.smooth').getAttribute('d').length") > 10
    assert browser.run("document.getElementById('smoothed').textContent") == "0.80"
