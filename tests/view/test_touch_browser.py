"""The page's own arithmetic, in a real browser: every number it computes is the engine's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tautograd
from tautograd import view

from . import programs, touched
from .browser import Browser, chromium
from .test_page import data_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    executable = chromium()
    assert executable is not None
    made = Browser(executable)
    made.size(1280)
    yield made
    made.close()


def numbers(browser: Browser, what: str) -> dict[int, np.ndarray]:
    found = browser.run(f"[...Taut.touched.{what}].map(([i, x]) => [i, x.shape, [...x.data]])")
    return {i: np.array(listed, float).reshape(shape) for i, shape, listed in found}


def change(browser: Browser, leaf: int, values) -> None:
    for entry, value in enumerate(np.ravel(values)):
        browser.run(f"Taut.touched.put({leaf}, {entry}, {float(value)!r})")
    browser.settle()


@pytest.mark.parametrize("name", touched.PROGRAMS)
def test_the_page_computes_what_the_engine_does(browser, tmp_path, name):
    browser.open(view(touched.program, name, tautograd, touched.X).save(tmp_path / "a.html"))
    other = view(touched.program, name, tautograd, touched.OTHER)
    leaf = next(n.number for n in other.graph.nodes if n.symbol == "x")
    change(browser, leaf, touched.OTHER)
    values, gradients = numbers(browser, "values"), numbers(browser, "gradients")
    for node in other.graph.nodes:
        np.testing.assert_allclose(values[node.number], node.value.array, rtol=1e-10, atol=1e-13)
        if node.gradient is not None:
            want = node.gradient.array
            np.testing.assert_allclose(gradients[node.number], want, rtol=1e-9, atol=1e-12)
    want = data_of(other.page())
    shown = browser.run("Taut.data")
    for found, node in zip(shown["nodes"], want["nodes"], strict=True):
        assert (found.get("v"), found.get("g")) == (node.get("v"), node.get("g"))
    assert [e[5] for e in shown["edges"]] == [e[5] for e in want["edges"]]
    for found, step in zip(shown["steps"], want["steps"], strict=True):
        assert (found["t"], found["a"], found["g"]) == (step["t"], step["a"], step["g"])
    assert browser.errors == []


def test_a_reset_brings_the_engines_numbers_back(browser, tmp_path):
    made = view(programs.linear_step, tautograd)
    browser.open(made.save(tmp_path / "a.html"))
    before = browser.run("JSON.stringify([Taut.data.nodes, Taut.data.edges, Taut.data.steps])")
    browser.run("Taut.touched.put(Taut.data.touch.leaves[0], 0, 7)")
    touched_text = browser.run("document.querySelector('header .about').textContent")
    assert "computed in this page" in browser.run("document.getElementById('touch').innerText")
    assert "set=" in browser.run("location.hash")
    browser.click("#touch button")
    assert browser.run("document.querySelector('header .about').textContent") != touched_text
    after = browser.run("JSON.stringify([Taut.data.nodes, Taut.data.edges, Taut.data.steps])")
    assert after == before
    assert "set=" not in browser.run("location.hash")


def test_an_address_shows_what_was_changed(browser, tmp_path):
    browser.open(view(programs.square, tautograd).save(tmp_path / "a.html"))
    browser.run("location.hash = '#set=0.0:5'")
    browser.settle()
    assert "y = 25" in browser.run("document.querySelector('header .about').textContent")
    for said in ("#set=0.9:5", "#set=99.0:1", "#set=0.0:x", "#set=__:"):
        browser.open(Path(tmp_path / "a.html"))
        browser.run(f"location.hash = {said!r}")
        browser.settle()
        assert "y = 4" in browser.run("document.querySelector('header .about').textContent")
    assert browser.errors == []


def test_a_leaf_is_dragged_and_the_drawing_stays(browser, tmp_path):
    browser.open(view(programs.square, tautograd).save(tmp_path / "a.html"))
    where = "[Taut.drawing.x, Taut.drawing.y]"
    before = browser.run(where)
    x, y = browser.run(
        "(() => { const b = document.querySelector('#graph .touchable').getBoundingClientRect();"
        "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )
    for kind, dx in (("mousePressed", 0), ("mouseMoved", 50), ("mouseReleased", 50)):
        browser(
            "Input.dispatchMouseEvent",
            type=kind, x=x + dx, y=y, button="left", buttons=1, clickCount=1,
        )  # fmt: skip
    browser.settle()
    value = float(browser.run("Taut.touched.values.get(0).data[0]"))
    assert value == pytest.approx(2 + 50 * 8 / 400)
    assert browser.run(where) == before
    assert browser.run("Taut.data.nodes[1].v") == browser.run(f"Taut.number({value**2})")


# --- play -------------------------------------------------------------------------------------------


def test_play_goes_through_backward_and_stops(browser, tmp_path):
    browser.size(1280, still=False)
    browser.open(view(programs.linear_step, tautograd).save(tmp_path / "a.html"))
    browser.click("#play")
    browser.run("new Promise((done) => setTimeout(done, 450))")
    assert browser.run("document.querySelectorAll('#graph .dot').length") >= 1
    assert browser.run("document.getElementById('play').textContent") == "Pause"
    steps = browser.run("Taut.data.steps.length")
    browser.run(
        "new Promise((done) => { const wait = () => Taut.playing.isOn ? setTimeout(wait, 50) : done(); wait(); })"
    )
    assert browser.run("Taut.state.step") == steps
    assert browser.run("document.querySelectorAll('#graph .dot').length") == 0
    assert browser.errors == []
    browser.size(1280)


def test_nothing_moves_for_those_who_want_no_motion(browser, tmp_path):
    browser.size(1280, still=True)
    browser.open(view(programs.linear_step, tautograd).save(tmp_path / "a.html"))
    browser.key("p")
    browser.run("new Promise((done) => setTimeout(done, 400))")
    assert browser.run("Taut.state.step") == 1
    assert browser.run("document.querySelectorAll('#graph .dot').length") == 0
    browser.key("p")
    assert not browser.run("Taut.playing.isOn")


def test_the_uses_of_a_value_add(browser, tmp_path):
    browser.open(view(programs.square, tautograd).save(tmp_path / "a.html"))
    browser.key("ArrowRight")
    texts = "[...document.querySelectorAll('#graph .g')].map((e) => e.textContent)"
    assert sorted(browser.run(texts)) == ["∂ 1", "∂ 2 + 2"]
    fill = "document.querySelector('[data-name=n0] .fill').getAttribute('height')"
    full = float(browser.run(fill))
    browser.open(view(programs.shared_input, tautograd).save(tmp_path / "b.html"))
    browser.key("ArrowRight")
    for _ in range(20):
        browser.key("ArrowRight")
        came = browser.run(
            "(() => { const i = Taut.data.nodes.findIndex((n) => n.s === 'bias');"
            "return [i, Taut.state.of('n' + i)]; })()"
        )
        if came[1]["came"] == 1:
            break
    number, state = came
    assert (state["came"], state["uses"]) == (1, 3)
    part = browser.run(fill.replace("n0", f"n{number}"))
    assert float(part) == pytest.approx(full / 3, rel=0.01)
