"""Transformers on both engines, over their options: weights, outputs, gradients, masks, text."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import pytest

from tests.both import same
from tests.nn.models import gradients

pytestmark = pytest.mark.filterwarnings(
    "ignore:enable_nested_tensor is True, but",
    "ignore:Support for mismatched",
    "ignore:The PyTorch API of nested tensors",
)

OPTIONS = [
    "dropout=0.0",
    "dropout=0.3",
    "dropout=0.2, batch_first=True",
    "norm_first=True, activation='gelu'",
    "activation=torch.nn.functional.gelu, bias=False",
    "activation=torch.nn.ReLU(), layer_norm_eps=1e-3, batch_first=True",
    "activation=torch.tanh, dtype=torch.float64",
]
SELF_MASKS = [
    "",
    "{0}mask=causal",
    "{0}mask=causal, {1}is_causal=True",
    "{0}key_padding_mask=padding",
    "{0}mask=causal, {0}key_padding_mask=padding",
    "{0}mask=torch.ones(4, 4).triu(1).bool()",
]


def made(torch: Any, constructor: str) -> Any:
    return eval("torch.nn." + constructor, {"torch": torch, "nn": torch.nn})


def masks(torch: Any, text: str, own: str, causal: str = "") -> dict[str, Any]:
    names: dict[str, Any] = {
        "torch": torch,
        "causal": torch.nn.Transformer.generate_square_subsequent_mask(4),
        "padding": torch.tensor([[False] * 4, [False, False, True, True]]),
    }
    return eval(f"dict({text.format(own, causal)})", names)  # type: ignore[no-any-return]


def seen(torch: Any, module: Any, leaves: list[Any], out: Any) -> list[Any]:
    """All there is to see after a step forward and one backward."""
    (out * torch.randn(out.shape, dtype=out.dtype)).sum().backward()
    return [
        repr(module),
        out,
        out.grad_fn,
        [x.grad for x in leaves],
        gradients(module),
        dict(module.state_dict()),
        torch.rand(2),
    ]


def rows(torch: Any, module: Any, count: int, batch_first: bool) -> Any:
    dtype = next(module.parameters()).dtype
    shape = (2, count, 8) if batch_first else (count, 2, 8)
    return torch.randn(shape, dtype=dtype, requires_grad=True)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("given", SELF_MASKS)
@pytest.mark.parametrize("options", OPTIONS)
@same
def test_encoder_layer(torch, options, given, training):
    module = made(torch, f"TransformerEncoderLayer(8, 2, 16, {options})").train(training)
    x = rows(torch, module, 4, module.self_attn.batch_first)
    return seen(torch, module, [x], module(x, **masks(torch, given, "src_")))


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("given", SELF_MASKS)
@pytest.mark.parametrize("options", OPTIONS)
@same
def test_decoder_layer(torch, options, given, training):
    module = made(torch, f"TransformerDecoderLayer(8, 2, 16, {options})").train(training)
    first = module.self_attn.batch_first
    x, memory = rows(torch, module, 4, first), rows(torch, module, 5, first)
    found = masks(torch, given, "tgt_", "tgt_")
    found["memory_mask"] = torch.rand(4, 5) > 0.8
    return seen(torch, module, [x, memory], module(x, memory, **found))


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("given", SELF_MASKS)
@pytest.mark.parametrize(
    "norm", ["", ", norm=nn.LayerNorm(8)", ", enable_nested_tensor=False"], ids=str
)
@same
def test_encoder(torch, norm, given, training):
    layer = "nn.TransformerEncoderLayer(8, 2, 16, 0.2, batch_first=True)"
    module = made(torch, f"TransformerEncoder({layer}, 2{norm})").train(training)
    x = rows(torch, module, 4, True)
    found = masks(torch, given, "src_")
    if "src_mask" in found:
        found["mask"] = found.pop("src_mask")
    out = seen(torch, module, [x], module(x, **found))
    with torch.no_grad():
        return [*out, module(x, **found)]


@pytest.mark.parametrize("given", ["", "tgt_mask=causal", "tgt_key_padding_mask=padding"])
@same
def test_decoder(torch, given):
    layer = "nn.TransformerDecoderLayer(8, 2, 16, 0.2)"
    module = made(torch, f"TransformerDecoder({layer}, 2, nn.LayerNorm(8))")
    x, memory = rows(torch, module, 4, False), rows(torch, module, 3, False)
    found = masks(torch, given, "")
    return seen(torch, module, [x, memory], module(x, memory, **found))


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("options", OPTIONS)
@same
def test_transformer(torch, options, training):
    module = made(torch, f"Transformer(8, 2, 2, 1, 16, {options})").train(training)
    src, tgt = (rows(torch, module, n, module.batch_first) for n in (5, 4))
    dtype = src.dtype
    mask = module.generate_square_subsequent_mask(4, dtype=dtype)
    return seen(torch, module, [src, tgt], module(src, tgt, tgt_mask=mask))


@same
def test_unbatched(torch):
    module = torch.nn.Transformer(8, 2, 1, 1, 16, dropout=0.0)
    src, tgt = torch.randn(5, 8, requires_grad=True), torch.randn(3, 8, requires_grad=True)
    return seen(torch, module, [src, tgt], module(src, tgt))


@same
def test_inference_leaves_padding_out(torch):
    """Without gradients, PyTorch's fast way gives zeros for padding, before the last norm."""
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    norm = torch.nn.LayerNorm(8)
    torch.nn.init.normal_(norm.bias)
    aligned = torch.tensor([[False] * 4, [False, False, True, True]])
    scattered = torch.tensor([[False] * 4, [False, True, False, True]])
    x = torch.randn(2, 4, 8)
    found = []
    for last, padding in itertools.product((None, norm), (aligned, scattered)):
        module = torch.nn.TransformerEncoder(layer, 2, last).eval()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found += [module(x, src_key_padding_mask=padding), module(x)]
    return found


@same
def test_masks(torch):
    make = torch.nn.Transformer.generate_square_subsequent_mask
    return [make(3), make(2, dtype=torch.float64), make(0)]


WARNED = {
    "nn.TransformerEncoderLayer(8, 2, 16)": "batch_first was not True",
    "nn.TransformerEncoderLayer(8, 2, 16, norm_first=True)": "norm_first was True",
    "nn.TransformerEncoderLayer(8, 1, 16, batch_first=True)": "num_heads is odd",
    "nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, bias=False)": "passed bias=False",
    "nn.TransformerEncoderLayer(8, 2, 16, activation=torch.tanh, batch_first=True)": "relu_or_gelu",
    "nn.Linear(8, 8)": "was not TransformerEncoderLayer",
}


@pytest.mark.filterwarnings("default:enable_nested_tensor is True, but")
@pytest.mark.parametrize("layer", WARNED)
@same
def test_encoder_warns(torch, layer):
    with pytest.warns(UserWarning, match=WARNED[layer]) as said:
        module = made(torch, f"TransformerEncoder({layer}, 1)")
    return [str(w.message) for w in said] + [module.use_nested_tensor]


REFUSED = [
    "TransformerEncoderLayer(8, 2, activation='tanh')",
    "TransformerEncoderLayer(8, 3)",
    "Transformer(8, 2, 1, 1, 16)(r(3, 2, 8), r(3, 1, 8))",
    "Transformer(8, 2, 1, 1, 16, batch_first=True)(r(3, 2, 8), r(2, 2, 8))",
    "Transformer(8, 2, 1, 1, 16)(r(3, 2, 8), r(3, 2, 7))",
    "TransformerEncoderLayer(8, 2)(r(3, 2, 7))",
    "TransformerEncoderLayer(8, 2)(r(3, 2, 8), src_mask=torch.ones(3, 3).long())",
    "TransformerEncoderLayer(8, 2)(r(3, 2, 8), is_causal=True)",
]


@pytest.mark.parametrize("expression", REFUSED)
@same
def test_refused(torch, expression):
    try:
        eval("torch.nn." + expression, {"torch": torch, "r": torch.randn})
    except Exception as error:
        return [type(error).__name__, str(error).split("\n")[0]]
    raise AssertionError("nothing was refused")
