"""Layouts: every node stands somewhere once, edges go down, long ones have lanes; groups nest."""

from __future__ import annotations

import time

import pytest

import tautograd
from tautograd import view
from tautograd._view.page.graph import OPERATION, Edge, Graph, Group, Node, operation_of
from tautograd._view.page.groups import MOST_INSIDE, ancestors, make_groups
from tautograd._view.page.layout import lay_out
from tautograd._view.page.opened import open_at_first

from . import programs


def long_chain(count: int) -> Graph:
    """Operations one after the other, each also using the tenth before it."""
    graph = Graph("none")
    graph.nodes = [Node(i, OPERATION, "MulBackward0", f"v{i}") for i in range(count)]
    graph.edges = [Edge(i, 0, i + 1, 0) for i in range(count - 1)]
    graph.edges += [Edge(i, 0, i + 10, 1) for i in range(0, count - 10, 7)]
    make_groups(graph, {})
    return graph


def fan(count: int) -> Graph:
    """A chain of which every part is used by the last: more long edges than there are lanes for."""
    graph = Graph("none")
    graph.nodes = [Node(i, OPERATION, "AddBackward0", f"v{i}") for i in range(count)]
    graph.edges = [Edge(i, 0, i + 1, 0) for i in range(count - 1)]
    graph.edges += [Edge(i, 0, count - 1, i + 1) for i in range(count - 2)]
    make_groups(graph, {})
    return graph


GRAPHS = {
    **{
        name: lambda p=program: view(p, tautograd).graph
        for name, program in programs.PROGRAMS.items()
    },
    "long": lambda: long_chain(3000),
    "fan": lambda: fan(60),
}


@pytest.fixture(params=GRAPHS, scope="module")
def graph(request) -> Graph:
    return GRAPHS[request.param]()


def test_every_node_and_group_has_one_place(graph):
    layouts = lay_out(graph)
    found = [
        (group, name)
        for group, layout in enumerate(layouts)
        for layer in layout.layers
        for name in layer
        if name[0] in "ng"
    ]
    nodes = [(node.group, f"n{node.number}") for node in graph.nodes]
    groups = [(group.parent, f"g{group.number}") for group in graph.groups[1:]]
    assert sorted(found) == sorted(nodes + groups)


def test_every_link_goes_down_with_a_lane_in_each_layer_between(graph):
    for layout in lay_out(graph):
        layer = {name: i for i, names in enumerate(layout.layers) for name in names}
        for link, lanes in layout.lanes.items():
            start, _, end = link.partition(">")
            assert layer[start] < layer[end]
            if lanes:
                between = list(range(layer[start] + 1, layer[end]))
                assert [layer[lane] for lane in lanes] == between


def test_every_edge_has_its_links(graph):
    """As the page walks it: out of its groups by ports, across, into others by ports."""
    layouts = lay_out(graph)
    for edge in graph.edges:
        ups = ancestors(graph, graph.nodes[edge.source].group)
        downs = ancestors(graph, graph.nodes[edge.target].group)
        shared = max(i for i, (a, b) in enumerate(zip(ups, downs, strict=False)) if a == b)
        tensor, at = f"{edge.source}.{edge.output}", f"n{edge.source}"
        for group in reversed(ups[shared + 1 :]):
            assert f"{at}>o{tensor}" in layouts[group].lanes
            at = f"g{group}"
        inner = downs[shared + 1 :]
        ends = [*(f"g{group}" for group in inner), f"n{edge.target}"]
        assert f"{at}>{ends[0]}" in layouts[ups[shared]].lanes
        for group, end in zip(inner, ends[1:], strict=True):
            assert f"i{tensor}>{end}" in layouts[group].lanes


def test_groups_are_small_and_few_are_open(graph):
    layouts = lay_out(graph)
    for layout in layouts:
        assert sum(name[0] in "ng" for layer in layout.layers for name in layer) <= MOST_INSIDE + 40
    opened = open_at_first(graph, [layout.layers for layout in layouts])
    assert 0 in opened
    assert all(graph.groups[g].parent in opened for g in opened if g)
    boxes = sum(n.group in opened for n in graph.nodes)
    assert boxes <= 40 or opened == [0]


def test_a_module_that_is_called_twice_is_two_groups():
    torch = tautograd
    layer = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh())

    def program():
        return layer(layer(torch.ones(1, 2)) * 2).sum()

    graph = view(program).graph
    assert [g.label for g in graph.groups if g.parent == 0] == ["Sequential", "Sequential"]
    for layout in lay_out(graph):
        position = {name: i for i, names in enumerate(layout.layers) for name in names}
        assert all(
            position[link.partition(">")[0]] < position[link.partition(">")[2]]
            for link in layout.lanes
        )


def test_ten_thousand_nodes_are_laid_out_soon():
    graph = long_chain(10_000)
    start = time.process_time()
    lay_out(graph)
    assert time.process_time() - start < 6


def test_a_cycle_between_groups_does_no_harm():
    """Groups that are no stretches of time may depend on one another; all is drawn all the same."""
    graph = Graph("none")
    graph.groups = [Group(0, -1, ""), Group(1, 0, "a"), Group(2, 0, "b")]
    graph.nodes = [Node(i, OPERATION, "MulBackward0", group=1 + i % 2) for i in range(4)]
    graph.edges = [Edge(i, 0, i + 1, 0) for i in range(3)]
    names = [name for layout in lay_out(graph) for layer in layout.layers for name in layer]
    assert {"n0", "n1", "n2", "n3", "g1", "g2"} <= set(names)


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("MulBackward0", "mul"),
        ("NativeLayerNormBackward0", "native_layer_norm"),
        ("Log1PBackward0", "log1p"),
        ("torch::autograd::AccumulateGrad", "AccumulateGrad"),
        ("CopySlices", "CopySlices"),
        ("MyFunctionBackward", "MyFunction"),
        ("TBackward0", "t"),
    ],
)
def test_names_of_operations(name, operation):
    assert operation_of(name) == operation


def test_the_model_itself_is_never_one_box():
    """A chain of layers in one module: taller than a glance, and still what a reader comes for."""
    graph = view(programs.tower, tautograd).graph
    opened = open_at_first(graph, [layout.layers for layout in lay_out(graph)])
    (model,) = [g.number for g in graph.groups if g.label == "Tower"]
    assert model in opened
    layers = [g.number for g in graph.groups if g.about == "Linear"]
    assert len(layers) == 8
    assert not set(layers) & set(opened)
