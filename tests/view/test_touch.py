"""What a page may compute by itself: every operation it offers is planned as it was called, on both engines."""

from __future__ import annotations

import numpy as np
import pytest

import tautograd
from tautograd import view
from tautograd._view.page.graph import OPERATION
from tautograd._view.page.touch import touchable
from tautograd._view.page.touch_ops import BINARY, TERNARY, UNARY

from . import programs, touched

_INNER = {("torch", "l1_loss")}  # recorded as several nodes, whose values nobody keeps


def engine(name):
    return tautograd if name == "tautograd" else pytest.importorskip(name)


@pytest.mark.parametrize("name", touched.PROGRAMS)
@pytest.mark.parametrize("on", ["tautograd", "torch"])
def test_every_operation_can_be_planned(on, name):
    graph = view(touched.program, name, engine(on), touched.X).graph
    plan = touchable(graph)
    if (on, name) in _INNER:
        assert plan is None
        return
    leaf = next(n.number for n in graph.nodes if n.symbol == "x")
    assert leaf in plan["leaves"]
    done = {spec["o"] for spec in plan["ops"].values()}
    assert done == {n.operation for n in graph.nodes if n.kind == OPERATION}


def test_no_operation_is_offered_that_has_no_program_here():
    covered = set(touched.PROGRAMS)
    assert set(UNARY) | set(BINARY) | set(TERNARY) <= covered


def test_what_was_called_in_an_unknown_way_is_not_offered():
    def twice(torch):
        x = torch.tensor([[1.0, 2.0], [2.0, 1.0]], requires_grad=True)
        y = x.sum(0)  # the same numbers as sum(1) here
        return (y * y).sum()

    def weighed(torch):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        return torch.add(x, x * x, alpha=3).sum()

    assert touchable(view(twice, tautograd).graph) is None
    assert touchable(view(weighed, tautograd).graph) is None


def test_what_goes_through_python_is_not_offered():
    graph = view(programs.left_by_item, tautograd).graph
    plan = touchable(graph)
    assert plan is None


def test_values_are_those_of_the_run():
    graph = view(programs.linear_step, tautograd).graph
    for number, (shape, listed, single) in touchable(graph)["values"].items():
        array = graph.nodes[int(number)].value.array
        assert (tuple(shape), single) == (array.shape, 1)
        assert np.array_equal(np.array(listed, np.float32).reshape(shape), array)


def test_a_large_graph_is_left_to_the_engine():
    def wide(torch):
        w = torch.ones(64, 64, requires_grad=True)
        return (w * w).sum()

    assert touchable(view(wide, tautograd).graph) is None
