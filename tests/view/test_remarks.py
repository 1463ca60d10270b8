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
from tautograd._view.page.remarks import KEPT, MOST, Remark, remarks
from tautograd._view.page.saturation import saturation
from tests.both import ENGINES

from . import programs
from .test_page import data_of


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
    assert said(dead, engine) == [
        "[h] is dead: all 2 entries are 0; it hands on zeros alone: the gradient ends there"
    ]


def stopped(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 0.0
    loss = h.sum()
    return loss  # noqa: RET504


def test_where_the_gradient_ends_at_no_activation(engine):
    assert said(stopped, engine) == ["[h] hands on zeros alone: the gradient ends there"]


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


@pytest.mark.parametrize("count", [MOST + 1, MOST + 3, KEPT + 5])
def test_the_first_of_a_kind_are_shown_and_the_others_can_be(count, engine):
    def program(torch: Any) -> Any:
        leaves = [torch.tensor(float(i + 1), requires_grad=True) for i in range(count)]
        squares = [leaf * leaf for leaf in leaves]
        loss = torch.stack(squares).sum()
        return loss  # noqa: RET504

    graph = view(program, engine).graph
    found = remarks(graph)
    assert len({r.node for r in found}) == len(found) == min(count, KEPT)
    folded = [r for r in found if r.more]
    assert len(folded) == (0 if count == MOST + 1 else min(count, KEPT) - MOST)
    assert {r.more for r in folded} <= {"values that are used several times"}
    told = re.search(r"\(and (\d+) more\)", found[-1].after)
    assert (int(told[1]) if told else 0) == max(0, count - KEPT)


def activated(torch: Any, name: str, numbers: Any) -> list[str]:
    def program(torch: Any) -> Any:
        x = torch.tensor(numbers, requires_grad=True)
        h = getattr(torch, name, getattr(torch.nn.functional, name, None))(x, *DIM.get(name, ()))
        loss = (h * h).sum()
        return loss  # noqa: RET504

    return [text for text in said(program, torch) if "saturated" in text or "dead" in text]


DIM = {"softmax": (-1,)}
# slopes below a hundredth of the steepest: σ'(x) < 0.0025 from |x| = 5.99 on, 1 - tanh² < 0.01 from 2.9931 on
SATURATED = [
    ("sigmoid", [6.0, -6.0, 0.0, 7.0], "3 of 4 entries are at its flat ends"),
    ("sigmoid", [5.97, -5.97, 5.9, 5.8], ""),
    ("sigmoid", [6.0, 0.0, 0.0, 0.0], ""),  # less than half
    ("tanh", [3.0, -3.0, 9.0], "all 3 entries are at its flat ends"),
    ("tanh", [2.99, -2.99, 2.9], ""),
    ("tanh", 4.0, "it is at its flat end"),
    ("softmax", [[9.0, 0.0, 0.0], [0.0, 0.1, 0.2]], "in 1 of 2 rows one entry has nearly all"),
    ("softmax", [[1.0, 0.0, 0.0], [0.0, 0.1, 0.2]], ""),
    ("hardtanh", [2.0, -3.0, 0.5], "2 of 3 entries are at its flat ends"),
    ("relu6", [7.0, -3.0, 0.5], "2 of 3 entries are at its flat ends"),
    ("hardsigmoid", [4.0, -4.0, 0.5], "2 of 3 entries are at its flat ends"),
    ("relu", [-1.0, 2.0, -3.0], ""),  # half of all entries of a ReLU are 0
]


@pytest.mark.parametrize(("name", "numbers", "fact"), SATURATED)
def test_the_word_for_flat_ends_is_said_where_the_numbers_show_it(name, numbers, fact, engine):
    found = activated(engine, name, numbers)
    if fact:
        (text,) = found
        assert f"is saturated: {fact}" in text
    else:
        assert found == []


@pytest.mark.parametrize("shape", [(8, 4), (2, 4, 3, 3)])
def test_units_that_are_zero_for_the_whole_batch_are_dead(shape, engine):
    numbers = np.abs(np.random.default_rng(0).normal(size=shape)) + 0.1
    alive = numbers.copy()
    alive[0] *= -1  # zero for one example, not for all
    assert activated(engine, "relu", alive.tolist()) == []
    numbers[:, [1, 3]] *= -1
    (text,) = activated(engine, "relu", numbers.tolist())
    kind = "units" if len(shape) == 2 else "channels"
    assert f"has dead {kind}: 2 of 4 are 0 for the whole batch" in text


def test_a_box_says_of_itself_that_it_is_saturated(engine):
    graph = view(programs.saturated, engine).graph
    told = {node.symbol: saturation(node) for node in graph.nodes}
    assert {name for name, text in told.items() if text} == {"gate", "flat", "dead"}
    data = data_of(as_page(graph, Shown()))
    assert {n["s"]: n["b"] for n in data["nodes"] if "b" in n} == {
        k: v for k, v in told.items() if v
    }


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
