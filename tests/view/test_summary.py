"""`summary`: a model's figures beside those computed aside, on both engines, and PyTorch's own count."""

from __future__ import annotations

import json
import re

import pytest

from tautograd import summary
from tautograd._view.summary.summary import large, memory
from tests.both import ENGINES


def convolutional(torch):
    nn = torch.nn
    layers = (
        nn.Conv2d(3, 8, 3),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(8 * 6 * 6, 10),
    )
    return nn.Sequential(*layers), (torch.randn(2, 3, 8, 8),)


def grouped(torch):
    nn = torch.nn
    layers = (
        nn.Conv1d(4, 8, 3, groups=2, stride=2, bias=False),
        nn.ConvTranspose1d(8, 4, 3, stride=2),
    )
    return nn.Sequential(*layers), (torch.randn(2, 4, 11),)


def attention(torch):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = torch.nn.Linear(8, 24)

        def forward(self, x):
            q, k, v = (t.reshape(2, 5, 2, 4).transpose(1, 2) for t in self.qkv(x).split(8, -1))
            return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    return Model(), (torch.randn(2, 5, 8),)


def products(torch):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(4, 4, bias=False)

        def forward(self, x):
            h = self.inner(x)
            return (h @ h.transpose(-1, -2)).sum() + self.inner(x).mean()

    return Model(), (torch.randn(3, 6, 4),)


MODELS = [convolutional, grouped, attention, products]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("make", MODELS, ids=lambda m: m.__name__)
def test_flops_are_those_that_pytorch_counts(make, engine):
    oracle = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    model, inputs = make(oracle)
    with FlopCounterMode(display=False) as counter, oracle.no_grad():
        model(*inputs)
    torch = pytest.importorskip(engine)
    found = summary(*_flat(make(torch)))
    known = counter.get_total_flops()
    if make is attention:  # of which PyTorch's counter knows only the kernels of GPUs
        known = 2 * 2 * 5 * 24 * 8 + 2 * 2 * (2 * 2 * 5 * 5 * 4)
    assert found.flops == known
    assert found.uncounted == []


def _flat(made):
    model, inputs = made
    return model, *inputs


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("make", MODELS, ids=lambda m: m.__name__)
def test_parameters_shapes_and_memory(make, engine):
    torch = pytest.importorskip(engine)
    model, inputs = make(torch)
    next(iter(model.parameters())).requires_grad_(False)
    found = summary(model, *inputs)
    every = list(model.parameters())
    assert (
        found.parameters == sum(p.numel() for p in every) == sum(x.parameters for x in found.layers)
    )
    assert found.parameters - found.trainable == every[0].numel()
    assert found.parameter_bytes == 4 * found.parameters
    assert found.buffers == sum(b.numel() for b in model.buffers())
    assert found.layers[0].inputs == [tuple(inputs[0].shape)]
    model.eval()
    with torch.no_grad():
        assert found.layers[0].outputs == [tuple(model(*inputs).shape)]
    for layer in found.layers[1:]:
        inner = model.get_submodule(layer.path)
        assert layer.kind == type(inner).__name__
        assert layer.depth == layer.path.count(".") + 1


@pytest.mark.parametrize("engine", ENGINES)
def test_the_model_is_as_it_was(engine):
    torch = pytest.importorskip(engine)
    model, inputs = convolutional(torch)
    model[4].eval()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    summary(model, *inputs)
    assert [m.training for m in model] == [True, True, True, True, False]
    assert all(bool((before[k] == v).all()) for k, v in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_module_that_is_called_twice_has_its_parameters_once(engine):
    torch = pytest.importorskip(engine)
    found = summary(*_flat(products(torch)))
    assert [(x.path, x.parameters) for x in found.layers] == [("", 0), ("inner", 16), ("inner", 0)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("kind", "gates"), [("GRU", 3), ("LSTM", 4), ("RNN", 1)])
def test_recurrent_layers(kind, gates, engine):
    torch = pytest.importorskip(engine)
    found = summary(getattr(torch.nn, kind)(3, 4, num_layers=2), torch.randn(5, 2, 3))
    weights = gates * 4 * (3 + 4) + gates * 4 * (4 + 4)
    assert found.flops == 2 * 5 * 2 * weights
    assert found.uncounted == []


@pytest.mark.parametrize("engine", ENGINES)
def test_attention_with_heads(engine):
    torch = pytest.importorskip(engine)
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.randn(3, 5, 8)
    inside = 4 * (2 * 3 * 5 * 8 * 8) + 2 * (2 * 3 * 5 * 5 * 8)  # four products, scores, their use
    assert summary(layer, x, x, x).flops == inside


def test_what_is_not_counted_is_named():
    torch = pytest.importorskip("torch")
    found = summary(torch.nn.Bilinear(2, 3, 4), torch.randn(1, 2), torch.randn(1, 3))
    assert found.uncounted == ["bilinear"]
    assert "not counted: bilinear" in str(found)


def test_numbers_in_short():
    assert [large(n) for n in (0, 999, 1500, 2_000_000, 3 * 10**9)] == [
        "",
        "999",
        "1.5 k",
        "2 M",
        "3 G",
    ]
    assert [memory(n) for n in (0, 12, 2048, 3 << 20)] == ["", "12 B", "2 KiB", "3 MiB"]


def test_page_and_json(tmp_path):
    import tautograd

    found = summary(*_flat(convolutional(tautograd)))
    text = found.save(tmp_path / "m.html").read_text(encoding="utf-8")
    assert not re.findall(r"https?://|@import|\bsrc=", text)
    assert text.count("<tr>") == 1 + len(found.layers)
    for fact in found.facts():
        assert f"<li>{fact}</li>" in text
    plain = json.loads(found.save(tmp_path / "m.json").read_text())
    assert plain["flops"] == found.flops
    assert len(plain["layers"]) == 6
    assert found._repr_html_().index("3,130 parameters") < found._repr_html_().index("<table")
    with pytest.raises(ValueError, match=r"saved as \.html or \.json"):
        found.save(tmp_path / "m.txt")
