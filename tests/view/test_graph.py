"""The graph that is drawn is the graph that was recorded, on both engines, and touches nothing."""

from __future__ import annotations

import gc
import sys
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tautograd import view
from tautograd._view.record.composed import Composed
from tests.both import ENGINES, same

from . import programs


def outline(graph: Any) -> dict[str, Any]:
    """What both engines must agree on."""
    nodes = [
        [
            n.kind,
            n.name,
            n.symbol,
            [list(v.shape) for v in (n.arrived or n.outputs).values()],
            n.root,
        ]
        for n in graph.nodes
    ]
    edges = sorted([e.source, e.output, e.target, e.is_cut] for e in graph.edges)
    groups = [[g.parent, g.label, g.kind] for g in graph.groups]
    return {"nodes": nodes, "edges": edges, "groups": groups, "steps": graph.steps}


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_both_engines_are_drawn_alike(name):
    graphs = []

    @same
    def run(torch):
        graph = view(programs.PROGRAMS[name], torch).graph
        graphs.append(graph)
        found = outline(graph)
        if name == "left_by_item":  # the number that comes back has no edge on one engine
            found.pop("edges")
        return found

    run()
    for one, other in zip(graphs[0].edges, graphs[1].edges, strict=True):
        if one.gradient is None:
            assert other.gradient is None
        else:
            close = np.testing.assert_allclose
            close(one.gradient.array, other.gradient.array, rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_gradients_on_the_edges_are_those_of_backward(name, engine):
    torch = pytest.importorskip(engine)
    kept = {}

    def program():
        kept["loss"] = programs.PROGRAMS[name](torch)
        return kept["loss"]

    graph = view(program).graph
    leaves = [n for n in graph.nodes if n.kind == "leaf"]
    kept["loss"].backward()
    found = sorted(float(n.arrived[0].norm) for n in leaves)
    pending, expected, seen = [kept["loss"].grad_fn], [], set()
    nodes = []
    while pending:
        node = pending.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        nodes.append(node)
        if hasattr(node, "variable"):
            expected.append(float(node.variable.grad.norm()))
        pending += [following for following, _ in node.next_functions]
    assert found == pytest.approx(sorted(expected), rel=1e-4)
    operations = sum(not hasattr(node, "variable") for node in nodes)
    assert len(graph.steps) == operations + len(leaves), "every node is a step"
    assert len(set(graph.steps)) == len(graph.steps)


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_is_touched(engine):
    torch = pytest.importorskip(engine)
    x = torch.tensor(2.0, requires_grad=True)
    x.grad = torch.tensor(10.0)
    y = x * x
    version = x._version
    view(y)
    view(y)
    assert x.grad.item() == 10.0
    assert x._version == version
    y.backward()
    assert x.grad.item() == 14.0


@same
def test_square(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    graph = view(y).graph
    leaf, product = graph.nodes
    assert (leaf.kind, leaf.symbol, leaf.value.text) == ("leaf", "x", "2")
    assert (product.name, product.symbol, product.value.text) == ("MulBackward0", "y", "4")
    assert [(e.source, e.target, e.place, e.gradient.text) for e in graph.edges] == [
        (0, 1, 0, "2"),
        (0, 1, 1, "2"),
    ]
    assert leaf.arrived[0].text == "4"
    assert graph.steps == [1, 0]
    return outline(graph)


CUTS = {
    "detached": ("detach()", "scale = x.detach().norm()"),
    "without_grad": ("no_grad", "scale = x * 2"),
    "left_by_item": ("item()", "number = total.item()"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CUTS)
def test_cuts_are_drawn_with_their_line(name, engine):
    torch = pytest.importorskip(engine)
    how, line = CUTS[name]
    graph = view(programs.PROGRAMS[name], torch).graph
    (cut,) = [n for n in graph.nodes if n.kind == "cut"]
    assert cut.name == how
    assert cut.site.text == line
    into = [e for e in graph.edges if e.target == cut.number]
    assert all(e.is_cut and e.gradient is None for e in into)
    assert into
    out = [e for e in graph.edges if e.source == cut.number]
    assert out, "where it comes back"
    assert all(e.is_cut for e in out)
    assert cut.number not in graph.steps


@pytest.mark.parametrize("engine", ENGINES)
def test_noise_of_the_same_shape_is_no_cut(engine):
    torch = pytest.importorskip(engine)

    def program():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        return (x + torch.randn_like(x) * x.new_ones(2)).sum()

    assert "cut" not in {n.kind for n in view(program).graph.nodes}


@pytest.mark.parametrize("engine", ENGINES)
def test_all_of_a_recurrent_layer_is_its_own(engine):
    torch = pytest.importorskip(engine)
    layer = torch.nn.LSTM(2, 3, batch_first=True)

    def program():
        out, _ = layer(torch.ones(1, 30, 2))
        return (out * out).sum()

    graph = view(program).graph
    outside = [n.operation for n in graph.nodes if n.kind == "operation" and n.group == 0]
    assert outside == ["mul", "sum"]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_cut_starves_is_shown(engine):
    torch = pytest.importorskip(engine)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)

        def forward(self, x):
            h = self.first(x).detach()
            return self.second(h)

    model = Model()
    graph = view(lambda: model(torch.ones(1, 2)).sum()).graph
    fed = {n.symbol: 0 in n.arrived for n in graph.nodes if n.kind == "leaf"}
    assert fed == {
        "first.weight": False,
        "first.bias": False,
        "second.weight": True,
        "second.bias": True,
    }
    position = {n.symbol: n.number for n in graph.nodes}
    assert position["first.weight"] < position["second.weight"], "in the order of time"


@pytest.mark.parametrize("engine", ENGINES)
def test_modules_are_groups(engine):
    torch = pytest.importorskip(engine)
    graph = view(programs.gpt, torch).graph
    paths = {}
    for group in graph.groups:
        parent = paths.get(group.parent, ())
        paths[group.number] = (*parent, group.label) if group.number else ()
    assert ("GPT", "blocks", "0", "attention", "qkv") in paths.values()
    assert ("GPT", "blocks", "1", "mlp") in paths.values()
    for node in graph.nodes:
        if node.name.startswith("blocks.1.attention."):
            assert paths[node.group][:4] == ("GPT", "blocks", "1", "attention")
    (tied,) = [n for n in graph.nodes if n.name == "letter.weight"]
    assert paths[tied.group] == ("GPT",), "used by two modules: in neither"


@pytest.mark.parametrize("engine", ENGINES)
def test_modules_are_inferred_where_nothing_was_noted(engine):
    torch = pytest.importorskip(engine)
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 4)),
        torch.nn.Linear(4, 1),
    )
    loss = net(torch.randn(5, 3)).pow(2).mean()
    graph = view(loss).graph
    labels = {g.number: g.label for g in graph.groups}
    (tanh,) = [n for n in graph.nodes if n.operation == "tanh"]
    assert labels[tanh.group] == "0"
    assert graph.groups[tanh.group].parent == 0
    assert {n.symbol for n in graph.nodes if n.kind == "leaf"} == {
        f"{path}.{part}" for path in ("0.0", "0.2", "1") for part in ("weight", "bias")
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_a_used_graph_is_drawn_without_gradients_and_says_so(engine):
    torch = pytest.importorskip(engine)
    x = torch.tensor(2.0, requires_grad=True)
    y = x.exp()
    y.backward()
    graph = view(y).graph
    assert not graph.flowed
    assert "retain_graph=True" in graph.notes[0]
    assert [n.kind for n in graph.nodes] == ["leaf", "operation"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_recording_knows_backward_too(engine):
    torch = pytest.importorskip(engine)
    with view.recording(torch) as seen:
        loss = programs.linear_step(torch)
        loss.backward()
    graph = seen.view().graph
    assert graph.flowed
    assert [n.symbol for n in graph.nodes if n.root] == ["loss"]
    assert {n.symbol for n in graph.nodes if n.kind == "input"} == {"x", "target"}
    assert graph.nodes[graph.steps[0]].site.text.startswith("loss = ")
    from tautograd import view as again

    assert again(torch.tensor(1.0, requires_grad=True) * 2).graph.flowed, "nothing stays behind"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_recording_of_a_loop_keeps_one_pass(engine):
    torch = pytest.importorskip(engine)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with view.recording(torch) as seen:
        for step in range(5):
            optimizer.zero_grad()
            loss = model(torch.full((2, 3), float(step))).pow(2).mean()
            loss.backward()
            held = model.bias.grad.item()
            optimizer.step()
    graph = seen.view().graph
    (bias,) = [n for n in graph.nodes if n.symbol == "bias"]
    assert float(bias.arrived[0].array[0]) == pytest.approx(held)
    assert len(seen.notes.nodes) <= len(graph.nodes)


@pytest.mark.parametrize("engine", ENGINES)
def test_left_over_gradients_are_told(engine):
    torch = pytest.importorskip(engine)
    x = torch.tensor(2.0, requires_grad=True)
    (x * 3).backward()
    y = x * x
    (leaf,) = [n for n in view(y).graph.nodes if n.kind == "leaf"]
    assert leaf.before.text == "3"


@pytest.mark.parametrize("engine", ENGINES)
def test_what_cannot_be_drawn_is_refused(engine):
    torch = pytest.importorskip(engine)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ValueError, match="gradient="):
        view(x * 2)
    with pytest.raises(ValueError, match="no history"):
        view((x * 2).sum().detach())
    with pytest.raises(TypeError, match="a tensor or a function"):
        view(3)
    with pytest.raises(TypeError, match="arguments are for a function"):
        view(x.sum(), 1)
    with pytest.raises(TypeError, match="no tensor with a history"):
        view(lambda: torch.tensor(1.0))
    start = torch.tensor([1.0, 10.0])
    with view.recording(torch) as recording:
        y = x * 2
    for made in (view(y, gradient=start), recording.view(y, gradient=start)):
        assert made.graph.nodes[0].arrived[0].text == "[2, 20]"


@pytest.mark.parametrize("engine", ENGINES)
def test_values_that_are_not_finite(engine):
    torch = pytest.importorskip(engine)
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    graph = view((x.log() * 0).sum()).graph
    values = [v for n in graph.nodes for v in (*n.outputs.values(), *n.arrived.values())]
    assert any(v.strange for v in values)
    assert graph.to_dict()["gradients"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_backward_from_several_ends(engine):
    torch = pytest.importorskip(engine)
    with view.recording(torch) as seen:
        x = torch.tensor(2.0, requires_grad=True)
        a, b = x * 3, x.exp()
        torch.autograd.backward([a, b])
    drawn = seen.view()
    assert drawn.graph.title == "a + b"
    (leaf,) = [n for n in drawn.graph.nodes if n.kind == "leaf"]
    assert float(leaf.arrived[0].array) == pytest.approx(x.grad.item(), rel=1e-5)
    assert "∂L/∂x" in drawn.page()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_picture_keeps_no_graph_alive(engine):
    torch = pytest.importorskip(engine)
    x = torch.ones(3, requires_grad=True)
    loss = (x * x).exp().sum()
    drawn, seen = view(loss), weakref.ref(x)
    gc.disable()
    try:
        del x, loss
        assert seen() is None
    finally:
        gc.enable()
    assert drawn.graph.flowed


def test_a_missing_name_is_looked_for_once():
    """A watched program of ten thousand operations asks for the same few names again and again."""
    asked: list[str] = []

    class Functions:
        def __getattr__(self, name: str) -> object:
            asked.append(name)
            raise AttributeError(name)

    engine = SimpleNamespace(nn=SimpleNamespace(functional=Functions()))
    composed = Composed(engine)
    frame = sys._getframe()
    for _ in range(3):
        assert composed.of("mul", frame, frame.f_back) == (0, "")
    assert asked == ["test_a_missing_name_is_looked_for_once"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_line_of_several_statements_names_nothing_wrongly(engine):
    torch = pytest.importorskip(engine)

    def program():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        a = x * 3; b = a + 1  # noqa: E702  # fmt: skip
        return b.sum()

    graph = view(program).graph
    named = {node.symbol: node.operation for node in graph.nodes if node.kind == "operation"}
    assert named.get("a", "mul") == "mul"
    assert named.get("b", "add") == "add"


@pytest.mark.parametrize("engine", ENGINES)
def test_each_use_of_a_value_brings_its_own_part(engine):
    """What arrives is the sum; what each edge shows is not. A gradient that comes alone is the same on both."""
    torch = pytest.importorskip(engine)

    def program():
        x = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
        h = x * 3.0
        first = h.exp()
        second = h * h
        loss = (first + second).sum()
        return loss  # noqa: RET504

    graph = view(program).graph
    by_name = {node.symbol: node for node in graph.nodes}
    h = np.array([3.0, -6.0])
    parts = {"first": np.exp(h), "second": h}  # of the second, each of its two factors gives h
    assert len(graph.edges) == 7
    for edge in graph.edges:
        source, target = graph.nodes[edge.source], graph.nodes[edge.target]
        if source.symbol == "h":
            np.testing.assert_allclose(edge.gradient.array, parts[target.symbol], rtol=1e-14)
        elif edge.gradient is not None and source.arrived:
            np.testing.assert_array_equal(edge.gradient.array, source.arrived[0].array)
    whole = np.exp(h) + 2 * h
    np.testing.assert_allclose(by_name["h"].arrived[0].array, whole, rtol=1e-14)
    np.testing.assert_allclose(by_name["x"].arrived[0].array, 3 * whole, rtol=1e-14)
