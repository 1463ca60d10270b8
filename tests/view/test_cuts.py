"""Where a graph is cut, and where not: what left for Python and came back, comparisons, values at the cut."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from tautograd import view
from tautograd._view.chain import Writer
from tautograd._view.page.graph import Graph, Node
from tautograd._view.page.page import page_data

ENGINES = ["tautograd", "torch"]


def by_item(torch: Any) -> Any:
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    s = x.sum().item()
    return (x * s).sum()


def by_item_of_a_part(torch: Any) -> Any:
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    m = torch.tensor(x.max().item())
    return (x * m).sum()


def by_arithmetic_in_python(torch: Any) -> Any:
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    s = x.sum().item()
    half = s / 2
    least = min(half, 100.0)
    return (x * least).sum()


def by_a_function(torch: Any) -> Any:
    x = torch.tensor([3.0, 4.0], requires_grad=True)

    def scaled(by: float) -> Any:
        return x * by

    return scaled(x.sum().item()).sum()


def by_float_inline(torch: Any) -> Any:
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    return (x * (float(x.detach()[0]) + 1)).sum()


def by_tolist(torch: Any) -> Any:
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    values = x.tolist()
    return (x * values[1]).sum()


def by_numpy(torch: Any) -> Any:
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    n = x.detach().numpy()
    k = torch.from_numpy(n * 2)
    return (x * k).sum()


def by_the_same_array(torch: Any) -> Any:
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    n = x.detach().numpy()
    k = torch.tensor(n)
    return (x * k).sum()


CUT = {  # how, the value at the cut, what goes on into the product
    by_item: ("item()", 7.0, 7.0),
    by_item_of_a_part: ("item()", 4.0, 4.0),
    by_arithmetic_in_python: ("item()", 7.0, 3.5),
    by_a_function: ("item()", 7.0, 7.0),
    by_float_inline: ("detach()", [3.0, 4.0], 4.0),
    by_tolist: ("tolist()", [3.0, 4.0], 4.0),
    by_numpy: ("detach()", [3.0, 4.0], [6.0, 8.0]),
    by_the_same_array: ("detach()", [3.0, 4.0], [3.0, 4.0]),
}


def seen(program: Any, engine: str) -> Graph:
    torch = pytest.importorskip(engine)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own, of float(x) with a history
        return view(program, torch).graph


def node_of(graph: Graph, name: str) -> Node:
    return next(n for n in graph.nodes if n.name == name)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("program", CUT, ids=lambda p: p.__name__)
def test_what_left_for_python_is_followed_to_where_it_comes_back(program, engine):
    how, at_cut, goes_on = CUT[program]
    graph = seen(program, engine)
    (cut,) = [n for n in graph.nodes if n.kind == "cut"]
    assert cut.name == how
    assert np.array_equal(cut.value.array, at_cut), "the value at the cut, not what it became"
    product = node_of(graph, "MulBackward0")
    into = [graph.nodes[e.source] for e in graph.edges if e.target == product.number]
    other = next(n for n in into if n.symbol != "x")
    assert np.array_equal(other.value.array, goes_on)
    reached = {other.number}
    if other is not cut:
        reached = {e.source for e in graph.edges if e.target == other.number}
    assert reached == {cut.number}, "the path from the cut to the product is drawn"
    behind = {e.source for e in graph.edges if e.target == cut.number}
    assert behind, "and what is cut off"
    assert all(e.is_cut for e in graph.edges if e.target == cut.number)


@pytest.mark.parametrize("engine", ENGINES)
def test_several_on_one_line_are_told_apart(engine):
    def program(torch: Any) -> Any:
        x = torch.tensor([3.0, 4.0], requires_grad=True)
        a = x[0] * 2
        b = x[1] * 3
        return a * b.item() + b * a.item()

    graph = seen(program, engine)
    cuts = [n for n in graph.nodes if n.kind == "cut"]
    assert sorted(float(c.value.array) for c in cuts) == [6.0, 12.0]
    for cut in cuts:
        (user,) = [graph.nodes[e.target] for e in graph.edges if e.source == cut.number]
        (source,) = [graph.nodes[e.source] for e in graph.edges if e.target == cut.number]
        both = {
            graph.nodes[e.source].symbol
            for e in graph.edges
            if e.target == user.number and not e.is_cut
        }
        assert both == {"a", "b"} - {source.symbol}


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_that_never_left_are_no_cut(engine):
    def program(torch: Any) -> Any:
        x = torch.tensor([3.0, 4.0], requires_grad=True)
        rate = 7.0
        shown = x.sum().item()
        assert shown == rate
        loss = (x * rate).sum()
        print(f"{loss.item()}")
        return loss

    graph = seen(program, engine)
    product = node_of(graph, "MulBackward0")
    into = {graph.nodes[e.source].symbol for e in graph.edges if e.target == product.number}
    assert into == {"x"}, "another number of the same size"
    assert not any(n.kind == "cut" and n.value.array == 49.0 for n in graph.nodes), "printed only"


def greater(torch: Any) -> Any:
    x = torch.tensor([3.0, -4.0], requires_grad=True)
    mask = x > 0
    return (x * mask).sum()


def chosen(torch: Any) -> Any:
    x = torch.tensor([3.0, -4.0], requires_grad=True)
    return torch.where(x > 0, x, x * 2).sum()


def largest(torch: Any) -> Any:
    x = torch.tensor([3.0, -4.0], requires_grad=True)
    mask = torch.eq(x, 3.0).float()
    return (x * mask).sum()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("program", [greater, chosen, largest], ids=lambda p: p.__name__)
def test_comparisons_are_no_cuts(program, engine):
    graph = seen(program, engine)
    assert "cut" not in {n.kind for n in graph.nodes}
    assert not any(e.is_cut for e in graph.edges)
    made = [n for n in graph.nodes if n.kind == "input" and n.call]
    assert made, "what it came from is drawn"
    into = {e.source for e in graph.edges if e.target == made[0].number}
    assert {graph.nodes[s].symbol for s in into} == {"x"}
    data = page_data(
        graph, Writer(graph), {n: Writer(graph).step(graph.nodes[n]) for n in graph.steps}
    )
    assert data["nodes"][made[0].number]["e"] == "none"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_comparison_under_no_grad_is_none_either_but_a_product_is(engine):
    def program(torch: Any) -> Any:
        x = torch.tensor([3.0, -4.0], requires_grad=True)
        with torch.no_grad():
            mask, twice = x > 0, x * 2
        return (x * mask * twice).sum()

    graph = seen(program, engine)
    assert [n.name for n in graph.nodes if n.kind == "cut"] == ["no_grad"]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_box_of_a_cut_has_the_value_of_the_cut(engine):
    def program(torch: Any) -> Any:
        x = torch.tensor([3.0, 4.0], requires_grad=True)
        scale = x.detach().norm()
        return (x * scale).sum()

    graph = seen(program, engine)
    cut = node_of(graph, "detach()")
    assert cut.value.text == "[3, 4]"
    scale = next(n for n in graph.nodes if n.symbol == "scale")
    assert scale.kind == "input"
    assert scale.value.text == "5"
    assert cut.symbol != "scale"
    assert Writer(graph).made(scale).endswith("norm(x.detach())")


# --- what a call of several nodes was given ---------------------------------------------------------


def soft_targets(torch: Any) -> Any:
    logits = torch.tensor([[1.0, 2.0], [0.5, -1.0]], requires_grad=True)
    p = torch.tensor([[0.25, 0.75], [0.5, 0.5]])
    return torch.nn.functional.cross_entropy(logits, p)


def smoothed(torch: Any) -> Any:
    logits = torch.tensor([[1.0, 2.0], [0.5, -1.0]], requires_grad=True)
    target = torch.tensor([0, 1])
    return torch.nn.functional.cross_entropy(logits, target, label_smoothing=0.1)


def plain_target(torch: Any) -> Any:
    logits = torch.tensor([[1.0, 2.0], [0.5, -1.0]], requires_grad=True)
    target = torch.tensor([0, 1])
    return torch.nn.functional.cross_entropy(logits, target)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("program", "name", "taker"),
    [
        (soft_targets, "p", "MulBackward0"),
        (smoothed, "target", "NllLossBackward0"),
        (plain_target, "target", "NllLossBackward0"),
    ],
)
def test_a_target_points_at_the_node_that_uses_it(program, name, taker, engine):
    graph = seen(program, engine)
    target = next(n for n in graph.nodes if n.symbol == name)
    users = [graph.nodes[e.target] for e in graph.edges if e.source == target.number]
    assert [n.name for n in users] == [taker]
    assert name in Writer(graph).equation(users[0])


@pytest.mark.parametrize("engine", ENGINES)
def test_arguments_are_written_in_the_order_of_the_call(engine):
    def program(torch: Any) -> Any:
        x = torch.tensor([3.0, -4.0], requires_grad=True)
        mask = torch.tensor([True, False])
        return torch.where(mask, x, x * 2).sum()

    graph = seen(program, engine)
    where = node_of(graph, "WhereBackward0")
    assert Writer(graph).equation(where).partition(" = ")[2].startswith("where(mask, x, v")


def test_a_value_that_is_not_known_is_not_named_after_its_operation():
    torch = pytest.importorskip("torch")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * 3).sum()
    made = view(loss)
    graph = made.graph
    product = node_of(graph, "MulBackward0")
    assert product.value is None, "nobody kept it: else this test shows nothing"
    writer = Writer(graph)
    data = page_data(graph, writer, {n: writer.step(graph.nodes[n]) for n in graph.steps})
    assert "v" not in data["nodes"][product.number]
    assert "value not kept" in made.page()


@pytest.mark.parametrize("engine", ENGINES)
def test_what_lies_between_a_cut_and_its_use_is_not_left_out_in_silence(engine):
    def chained(torch: Any) -> Any:
        x = torch.tensor([3.0, -4.0], requires_grad=True)
        scale = x.detach().abs().mean()
        loss = (x / scale).sum()
        return loss  # noqa: RET504

    def mixed(torch: Any) -> Any:
        x = torch.tensor([3.0, -4.0], requires_grad=True)
        other = torch.tensor([1.0, 2.0])
        scale = torch.maximum(x.detach(), other)
        loss = (x / scale).sum()
        return loss  # noqa: RET504

    for program, title in (
        (chained, "scale = mean(…), from x.detach()"),
        (mixed, "scale = maximum(…), from x.detach()"),
    ):
        graph = seen(program, engine)
        (node,) = [n for n in graph.nodes if n.symbol == "scale"]
        assert Writer(graph).made(node) == title


@pytest.mark.parametrize("engine", ENGINES)
def test_a_constant_of_several_calls_points_into_each_of_them(engine):
    def program(torch: Any) -> Any:
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        mask = torch.tensor([[1.0, -1.0], [0.5, 2.0]])
        first = x * mask
        second = first * mask
        loss = second.sum()
        return loss  # noqa: RET504

    graph = seen(program, engine)
    (constant,) = [n for n in graph.nodes if n.symbol == "mask"]
    taken = [graph.nodes[e.target] for e in graph.edges if e.source == constant.number]
    assert len(taken) == 2
    assert len({id(node) for node in taken}) == 2
    lines = {node.site.line for node in taken}
    assert len(lines) == 2
