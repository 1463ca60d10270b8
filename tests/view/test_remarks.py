"""What stands out in a graph is what figures computed aside say; where nothing does, nothing is said."""

from __future__ import annotations

import importlib
import math
import re
from typing import Any

import numpy as np
import pytest

import tautograd
from tautograd import view
from tautograd._view.page.page import Shown, as_page
from tautograd._view.page.remarks import MOST, Remark, remarks
from tests.both import ENGINES

from . import programs


def said(program: Any, engine: Any) -> list[str]:
    graph = view(program, engine).graph
    names = {node.number: node.name if node.kind == "cut" else node.symbol for node in graph.nodes}
    return [f"{r.before}[{names[r.node]}]{r.after}" for r in remarks(graph)]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param)


def not_a_number(torch: Any) -> Any:
    x = torch.tensor([1.0, 0.0], requires_grad=True)
    low = x.log()
    loss = (x.sqrt() * low).sum()
    return loss  # noqa: RET504


def test_where_numbers_stop_being_finite(engine):
    found = said(not_a_number, engine)
    assert found[0] == "The first value that is not finite: [low] is [0, −∞]"
    with np.errstate(divide="ignore"):
        handed = np.log(np.array([1.0, 0.0]))  # d(sqrt · low)/d sqrt = low, times ones
    assert handed[1] == -math.inf
    assert found[1].startswith("The first gradient that is not finite: [v")
    assert "hands [0, −∞] to v" in found[1]


def steep(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    h = x * 1.0
    small = h * 1e-5
    loss = small.sum()
    return loss  # noqa: RET504


def test_where_the_gradient_shrinks_most(engine):
    arrives = np.linalg.norm([1.0, 1.0])
    expected = f": ‖{arrives:.4g}‖ arrives, ‖{np.linalg.norm([1e-5, 1e-5]):.4g}‖ goes on".replace(
        "e-05", "e-5"
    )
    assert said(steep, engine) == [f"The gradient shrinks most at [small]{expected}"]


def test_what_a_layer_keeps_for_its_parameters_is_not_what_goes_on(engine):
    def program(torch: Any) -> Any:
        torch.manual_seed(0)
        layer = torch.nn.LayerNorm(8)
        x = torch.randn(4, 8, requires_grad=True)
        h = x * 1.0
        loss = layer(h).pow(2).mean()
        return loss  # noqa: RET504

    graph = view(program, engine).graph
    (found,) = [r for r in remarks(graph) if "shrinks" in r.before]
    node = graph.nodes[found.node]
    to_h = next(
        e.gradient.norm
        for e in graph.edges
        if e.target == node.number and graph.nodes[e.source].symbol == "h"
    )
    assert node.operation.endswith("layer_norm")
    assert found.after.endswith(f"‖{to_h:.4g}‖ goes on".replace("e-0", "e-"))


def dead(torch: Any) -> Any:
    x = torch.tensor([-1.0, -2.0], requires_grad=True)
    w = torch.tensor([1.0, 1.0], requires_grad=True)
    h = (x * w).relu()
    loss = h.sum()
    return loss  # noqa: RET504


def test_where_the_gradient_ends(engine):
    assert said(dead, engine) == ["[h] hands on zeros alone: the gradient ends there"]


def test_cuts_and_what_they_keep_from(engine):
    found = said(programs.detached, engine)
    assert found[0] == "The graph is cut by [detach()]: no gradient comes back through it to x"


def starved(torch: Any) -> Any:
    x = torch.tensor(2.0, requires_grad=True)
    w = torch.tensor(3.0, requires_grad=True)
    cut = (w * w).detach()
    loss = x * cut
    return loss  # noqa: RET504


def test_leaves_at_which_nothing_arrives(engine):
    assert "No gradient arrives at [w]" in said(starved, engine)


def test_values_that_are_used_again_are_tensors_and_not_nodes(engine):
    def program(torch: Any) -> Any:
        x = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
        first, second = x.unbind(0)
        loss = (first * second).sum() + first.sum()
        return loss  # noqa: RET504

    found = [text for text in said(program, engine) if "used" in text]
    assert len(found) == 1, "second is used once, and so is x"
    assert "[0] of [" in found[0]
    assert found[0].endswith("is used 2 times: its gradient is their sum")


def test_leaves_that_are_far_apart(engine):
    def program(torch: Any) -> Any:
        a = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
        b = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
        loss = a * 50.0 + b * 0.02
        return loss  # noqa: RET504

    assert said(program, engine) == [
        "Of all leaves the smallest gradient has [b], ‖0.02‖; a the largest, ‖50‖"
    ]


def test_where_nothing_stands_out_nothing_is_said(engine):
    def program(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = (x * 3.0).sum()
        return loss  # noqa: RET504

    assert said(program, engine) == []


def test_many_of_one_kind_are_counted(engine):
    def program(torch: Any) -> Any:
        leaves = [torch.tensor(float(i + 1), requires_grad=True) for i in range(MOST + 3)]
        squares = [leaf * leaf for leaf in leaves]
        loss = torch.stack(squares).sum()
        return loss  # noqa: RET504

    found = said(program, engine)
    assert len(found) == MOST
    assert found[-1].endswith("(and 3 more)")


def test_without_javascript_it_is_said_as_well():
    drawn = view(not_a_number, tautograd)
    page = as_page(drawn.graph, Shown())
    table = page[page.index('id="summary"') :]
    for remark in remarks(drawn.graph):
        assert isinstance(remark, Remark)
        assert remark.before.strip() in table
    assert re.search(r"not finite: <b>low = ln x</b> is \[0, −∞\] \(test_remarks.py:\d+\)", table)
    bare = as_page(drawn.graph, Shown(source=False))
    assert "test_remarks.py" not in bare


def test_a_mask_that_spoils_nothing_is_not_told(engine):
    def program(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        mask = torch.tensor([0.0, -math.inf])
        weights = (x + mask).softmax(0)
        loss = (weights * torch.tensor([1.0, 3.0])).sum()
        return loss  # noqa: RET504

    assert [text for text in said(program, engine) if "not finite" in text] == []


def test_of_several_values_that_are_not_finite_the_one_that_spoils_the_loss_is_told(engine):
    def program(torch: Any) -> Any:
        x = torch.tensor([1.0, 0.0], requires_grad=True)
        mask = torch.tensor([0.0, -math.inf])
        weights = (x + mask).softmax(0)
        low = x.log()
        loss = (weights + low).sum()
        return loss  # noqa: RET504

    found = said(program, engine)
    assert found[0] == "The first value that is not finite: [low] is [0, −∞]"
