"""The pages in a real Firefox: the same checks as in Chromium, at every size, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tautograd
from tautograd import view
from tautograd._doctor.report.page import as_page

from ..doctor.reports import rendered, several
from . import programs
from .firefox import Firefox, firefox
from .page_checks import CONTRAST, OUTSIDE, OVERLAP, PALE, SMALL, SPILLS

pytestmark = pytest.mark.slow

GRAPHS = ("square", "linear_step", "shared_input", "detached", "gpt")


@pytest.fixture(scope="module")
def browser() -> Iterator[Firefox]:
    executable = firefox()
    assert executable is not None
    made = Firefox(executable)
    yield made
    made.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    found = {
        name: view(programs.PROGRAMS[name], tautograd).save(folder / f"{name}.html")
        for name in GRAPHS
    }
    found["run"] = folder / "run.html"
    found["run"].write_text(as_page(rendered(several(folder)), str(folder)), encoding="utf-8")
    return found


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1280, 2560])
@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_at_every_size(browser, pages, name, width, dark):
    browser.size(width, dark=dark)
    browser.open(pages[name])
    for step in range(4):
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.run("Taut.state.step") == min(step, browser.run("Taut.data.steps.length"))
        for check in (OUTSIDE, CONTRAST, SPILLS, SMALL, PALE):
            assert browser.run(check) == []
        assert browser.run(OVERLAP) == 0
        browser.key("ArrowRight")
    assert browser.errors == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1280, 2560])
def test_a_run_at_every_size(browser, pages, width, dark):
    browser.size(width, dark=dark)
    browser.open(pages["run"])
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run(CONTRAST) == []
    assert browser.errors == []


def test_play_goes_to_the_end(browser, pages):
    browser.size(1280, still=False)
    browser.open(pages["square"])
    browser.key(" ")
    assert browser.run("Taut.playing.isOn")
    waiting = "new Promise((done) => setTimeout(() => done(Taut.playing.isOn), 100))"
    assert any(not browser.run(waiting) for _ in range(100)), "it ends"
    assert browser.run("Taut.state.step") == browser.run("Taut.data.steps.length")
    assert browser.errors == []


def test_what_is_touched_is_what_the_engine_computes(browser, pages):
    browser.size(1280)
    browser.open(pages["shared_input"])
    leaf = browser.run("Taut.data.nodes.findIndex((n) => n.s === 'x')")
    browser.run(f"(Taut.touched.put({leaf}, 1, -0.75), 0)")
    torch = tautograd
    x = torch.tensor([1.0, -0.75, 3.0], dtype=torch.float64, requires_grad=True)
    bias = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    h = (x * x + bias).tanh()
    loss = (h * x).sum() - bias.sin() * bias
    loss.backward()
    end = "Taut.data.nodes.findIndex((n) => n.r)"
    value = browser.run(f"Taut.touched.values.get({end}).data[0]")
    gradient = browser.run(f"Array.from(Taut.touched.gradients.get({leaf}).data)")
    # a chain of fewer than ten operations in float64, each right to a few units in the last place
    np.testing.assert_allclose(value, loss.item(), rtol=1e-14)
    np.testing.assert_allclose(gradient, x.grad.numpy(), rtol=1e-13)
