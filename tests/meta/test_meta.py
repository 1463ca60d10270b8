"""Tensors on the device meta behave as PyTorch's: shapes and dtypes of everything, and no elements."""

from __future__ import annotations

import io
import resource
from typing import Any

import pytest

from tests.both import same

EXPRESSIONS = """
x
(torch.ones(2).type_as(x), x.multinomial(2), torch.nn.init.trunc_normal_(x, std=0.0))
(x.device, x.is_meta, x.shape, x.stride(), x.dtype, x.numel(), x.is_contiguous(), x.is_cpu, x.nbytes)
[getattr(torch, name)(4, 5, device="meta") for name in ("zeros", "ones", "empty", "rand", "randn")]
(torch.full((2,), 3, device="meta"), torch.arange(5, device="meta"), torch.tensor([1, 2], device="meta"))
(torch.randint(0, 5, (3,), device="meta"), torch.eye(3, device="meta"), torch.randperm(5, device="meta"))
(x + 1, x * x, x @ x.t(), x.sum(), x.sum(0), x.mean(1, keepdim=True), x.max(), x.max(1), x.softmax(1))
(x.t().stride(), x.t().contiguous().stride(), (x.t() + 1).stride(), x.view(6), x.reshape(3, 2), x[0], x[:, 1:])
(torch.cat([x, x]), torch.stack([x, x], 1), x > 0, x.double(), x.half(), x.to("meta"), x.clone())
(x.unsqueeze(0).expand(4, 2, 3), x.permute(1, 0), torch.where(x > 0, x, x), x.argmax(1), x.sort(), x.topk(2))
(F.gelu(x), F.layer_norm(x, (3,)), F.dropout(x, 0.5), x.var(), x.cumsum(0), x.norm(), torch.zeros_like(x))
(torch.randn_like(x), x.new_zeros(4), x.fill_(3), x.zero_(), x.add_(1), x.uniform_(), x.normal_())
(x.copy_(torch.ones(2, 3)), x.masked_fill(x > 0, 1.0), torch.einsum("ij,kj->ik", x, x), x.chunk(3, 1))
(x.flip(0), x.repeat(2, 2), x.clamp(0, 1), x.diagonal(), x.unbind(), F.pad(x, (1, 1)), torch.fft.fft(x))
F.cross_entropy(x, torch.zeros(2, dtype=torch.long, device="meta"))
F.interpolate(torch.empty(1, 2, 4, 4, device="meta"), scale_factor=2)
F.scaled_dot_product_attention(*[torch.empty(1, 2, 5, 8, device="meta")] * 3)
(x.type(), torch.device("meta"), nn.Parameter(torch.empty(2, device="meta")))
torch.empty_like(x, device="cpu").shape
nn.Conv2d(3, 8, 3, padding=1, device="meta")(torch.empty(2, 3, 16, 16, device="meta"))
nn.LSTM(4, 5, 2, batch_first=True, device="meta")(torch.empty(2, 7, 4, device="meta"))
nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, device="meta")(torch.empty(2, 5, 16, device="meta"))
nn.Embedding(50, 8, device="meta")(torch.zeros(3, 4, dtype=torch.long, device="meta"))
F.max_pool2d(torch.empty(1, 2, 8, 8, device="meta"), 2)
"""

REFUSED = {
    "x[0, 0].item()": "Tensor.item() cannot be called on meta tensors",
    "x.numpy()": "can't convert meta device type tensor to numpy",
    "x.cpu()": "Cannot copy out of meta tensor; no data!",
    "x.to('cpu')": "Cannot copy out of meta tensor; no data!",
    "nn.Linear(2, 3, device='meta').to('cpu')": "Please use torch.nn.Module.to_empty() instead",
    "x.nonzero()": "",
    "x[x > 0]": "",
    "torch.unique(x)": "",
}


def _names(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    return {"torch": torch, "nn": nn, "F": nn.functional, "x": torch.empty(2, 3, device="meta")}


@pytest.mark.parametrize("text", EXPRESSIONS.strip().splitlines())
def test_prints_the_same(text: str) -> None:
    import torch

    import tautograd

    expected, found = (repr(eval(text, _names(engine))) for engine in (torch, tautograd))
    assert found == expected


@pytest.mark.parametrize("text", REFUSED)
def test_refuses_the_same(text: str) -> None:
    import torch

    import tautograd

    errors = []
    for engine in (torch, tautograd):
        with pytest.raises((RuntimeError, TypeError, NotImplementedError)) as error:
            eval(text, _names(engine))
        assert REFUSED[text] in str(error.value)
        errors.append(type(error.value))
    assert errors[1] is errors[0]


@same
def test_a_model_is_built_counted_and_filled_later(torch):
    nn = torch.nn
    before = torch.random.get_rng_state()
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(10, 20), nn.LayerNorm(20), nn.Linear(20, 3))
    assert torch.equal(torch.random.get_rng_state(), before), "numbers were drawn"
    count = sum(p.numel() for p in model.parameters())
    out = model(torch.empty(5, 10, device="meta"))
    out.sum().backward()
    optimizer = torch.optim.Adam(model.parameters())
    optimizer.step()
    state = optimizer.state[model[0].weight]["exp_avg"]
    shown = repr(out), repr(model[0].weight.grad), str(state.device)
    model.to_empty(device="cpu")
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.arange(p.numel()).reshape(p.shape) / 100)
    return count, shown, model(torch.ones(1, 10)), str(torch.ones(1).device)


@same
def test_weights_can_be_assigned(torch):
    with torch.device("meta"):
        layer = torch.nn.Linear(2, 3)
    layer.load_state_dict(torch.nn.Linear(2, 3).state_dict(), assign=True)
    return layer(torch.ones(1, 2)), str(layer.weight.device)


@pytest.mark.parametrize("writer", ["torch", "tautograd"])
@pytest.mark.parametrize("reader", ["torch", "tautograd"])
def test_files(writer, reader):
    import importlib

    file = io.BytesIO()
    engine = importlib.import_module(writer)
    engine.save({"x": engine.empty(2, 3, device="meta").t(), "y": engine.ones(2)}, file)
    file.seek(0)
    found = importlib.import_module(reader).load(file)["x"]
    assert (repr(found), found.stride()) == ("tensor(..., device='meta', size=(3, 2))", (1, 3))
    file.seek(0)
    there = importlib.import_module(reader).load(file, map_location="meta")
    assert repr(there["y"]) == "tensor(..., device='meta', size=(2,))"


def test_large_models_take_no_memory():
    import tautograd as torch

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with torch.device("meta"):
        layer = torch.nn.TransformerEncoderLayer(8192, 64, 28672, batch_first=True)
        model = torch.nn.TransformerEncoder(layer, 80)
        out = model.eval()(torch.empty(1, 512, 8192))
    assert sum(p.numel() for p in model.parameters()) > 59e9
    assert out.shape == (1, 512, 8192)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes
