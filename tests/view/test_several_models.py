"""Programs of several models, frozen layers and uses behind a cut: told apart, and told as they are."""

from __future__ import annotations

import importlib
import re
from typing import Any

import numpy as np
import pytest

from tautograd import view
from tautograd._view.chain import Writer
from tautograd._view.page.coordinates import short, texts
from tautograd._view.page.page import Shown, page_data
from tautograd._view.page.remarks import remarks
from tests.both import ENGINES


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param)


def data_of(graph: Any) -> dict[str, Any]:
    return page_data(graph, Writer(graph), {}, Shown(source=False), steps=False)


def said(graph: Any) -> list[str]:
    return [f"{r.before}[{graph.nodes[r.node].symbol}]{r.after}" for r in remarks(graph)]


def two_models(torch: Any) -> Any:
    nn = torch.nn
    torch.manual_seed(0)
    maker = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2))
    judge = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    with view.recording(torch) as seen:
        made = maker(torch.ones(4, 2))
        judge(made).mean().backward()
    return seen.view().graph


def test_models_are_called_as_the_variables_that_hold_them(engine):
    graph = two_models(engine)
    assert {g.label for g in graph.groups if g.about == "Sequential"} == {"maker", "judge"}
    leaves = {n.symbol for n in graph.nodes if n.kind == "leaf"}
    assert leaves == {
        f"{name}.{i}.{part}"
        for name in ("maker", "judge")
        for i in (0, 2)
        for part in ("weight", "bias")
    }


def test_one_model_keeps_the_names_of_its_parameters(engine):
    nn = engine.nn
    model, criterion = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)), nn.MSELoss()
    unused = nn.Linear(7, 7)
    with view.recording(engine) as seen:
        criterion(model(engine.ones(4, 2)), engine.zeros(4, 1)).backward()
    graph = seen.view().graph
    names = {name for name, _ in model.named_parameters()}
    assert {n.symbol for n in graph.nodes if n.kind == "leaf"} == names
    assert "Sequential" in {g.label for g in graph.groups}
    assert unused.in_features == 7


def test_parts_that_are_called_one_by_one_have_their_paths(engine):
    nn = engine.nn

    class Coder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encode, self.decode = nn.Linear(4, 2), nn.Linear(2, 4)

    class Trainer:
        def __init__(self) -> None:
            self.coder = Coder()

        def step(self, x: Any) -> None:
            self.coder.decode(self.coder.encode(x).tanh()).pow(2).mean().backward()

    with view.recording(engine) as seen:
        Trainer().step(engine.ones(3, 4))
    graph = seen.view().graph
    found = {n.symbol for n in graph.nodes if n.kind == "leaf"}
    assert found == {"encode.weight", "encode.bias", "decode.weight", "decode.bias"}
    assert {"encode", "decode"} <= {g.label for g in graph.groups}


def test_an_input_is_called_as_its_program_calls_it(engine):
    nn = engine.nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 1)

        def forward(self, x: Any) -> Any:
            return self.layer(x)

    net = Net()
    left, right = engine.ones(3, 2), engine.zeros(3, 2)
    with view.recording(engine) as seen:
        (net(left) - net(right)).pow(2).mean().backward()
    assert {n.symbol for n in seen.view().graph.nodes if n.kind == "input"} == {"left", "right"}


def frozen(torch: Any) -> tuple[Any, Any]:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    for parameter in model[2].parameters():
        parameter.requires_grad_(False)
    with view.recording(torch) as seen:
        model(torch.ones(4, 2)).mean().backward()
    return seen.view().graph, model


def test_frozen_parameters_stand_in_their_layer_and_are_told(engine):
    graph, model = frozen(engine)
    nodes = {n.symbol: n for n in graph.nodes if n.frozen}
    assert set(nodes) == {"2.weight", "2.bias"}, "not the loop's variable that held one last"
    layer = next(g for g in graph.groups if g.label == "2")
    assert {n.group for n in nodes.values()} == {layer.number}
    assert layer.is_one_call
    told = {text for text in said(graph) if "frozen" in text}
    assert told == {f"[{name}] is frozen: it wants no gradient, and gets none" for name in nodes}
    assert texts(data_of(graph), f"g{layer.number}")[2] == "frozen: wants no gradient"
    assert model[2].weight.grad is None
    assert next(n for n in graph.nodes if n.symbol == "0.weight").arrived


def test_a_folded_module_tells_the_gradients_inside_and_its_cuts(engine):
    nn = engine.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            h = self.one(x).tanh()
            return self.two(h / h.norm().item())

    block, outer = Block(), nn.Sequential()
    outer.block = block
    with view.recording(engine) as seen:
        outer(engine.ones(3, 2)).pow(2).sum().backward()
    graph = seen.view().graph
    group = next(g for g in graph.groups if g.about == "Block")
    norms = [float(np.linalg.norm(p.grad.numpy())) for p in block.parameters()]
    _, about, gradient = texts(data_of(graph), f"g{group.number}")
    assert about.endswith("✂ 1 cut")
    assert gradient == f"∂ ‖{min(norms):.4g}‖ … ‖{max(norms):.4g}‖"


def test_uses_behind_a_cut_are_not_counted_as_bringing_a_gradient(engine):
    w = engine.tensor([1.0, 2.0], requires_grad=True)
    with view.recording(engine) as seen:
        h = w * w
        h = h.detach() * w
        h.sum().backward()
    graph = seen.view().graph
    assert "[w] is used 3 times; 1 of them brings a gradient, the others are cut off" in said(graph)
    assert np.allclose(w.grad.numpy(), [1.0, 4.0])  # of the last use alone


def test_a_value_that_gets_nothing_is_not_said_to_get_a_sum(engine):
    w = engine.tensor([1.0, 2.0], requires_grad=True)
    scale = engine.tensor(3.0, requires_grad=True)
    with view.recording(engine) as seen:
        made = w * 2
        centred = made - made.mean()
        (centred.detach() * scale).sum().backward()
    found = said(seen.view().graph)
    assert "[made] is used 2 times; no gradient comes back through any" in found


@pytest.mark.parametrize(
    "text",
    [
        "∂ weight ‖0.6543‖ · bias and something ‖1.676e-8‖ and more of it",
        "[−0.5305, −0.4313, −2.001, 12.25, 0.0001676, 1.5e-12, 3.25]",
        "−2.902 … 3.115 · a shape of many dimensions, as 2×1×12×12×12",
    ],
)
def test_of_a_number_never_a_part_is_written(text):
    kept = short(text)
    assert kept.endswith("…")
    assert len(kept) <= 44
    whole = re.findall(r"\d[\d.e−-]*", text)
    assert re.findall(r"\d[\d.e−-]*", kept) == whole[: len(re.findall(r"\d[\d.e−-]*", kept))]
