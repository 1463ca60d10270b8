"""Attention on both engines: the function over masks and shapes, MultiheadAttention over its options."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.both import same
from tests.nn.models import gradients

# --- scaled_dot_product_attention ----------------------------------------------------------------

_Q, _K = (2, 3, 4, 8), (2, 3, 5, 8)
CALLS = [
    (_Q, _K, _K, ""),
    (_Q, _K, _K, "is_causal=True"),
    (_Q, _Q, _Q, "is_causal=True"),
    (_Q, _K, _K, "scale=0.2"),
    (_Q, _K, (2, 3, 5, 6), ""),
    (_Q, _K, _K, "attn_mask=torch.randn(4, 5)"),
    (_Q, _K, _K, "attn_mask=torch.randn(2, 1, 4, 5)"),
    (_Q, _K, _K, "attn_mask=torch.rand(4, 5) > 0.4"),
    (_Q, _K, _K, "attn_mask=torch.zeros(4, 5, dtype=torch.bool)"),
    (_Q, _K, _K, "attn_mask=torch.full((4, 5), float('-inf')), is_causal=True"),
    (_Q, _K, _K, "attn_mask=torch.tensor([[0.0, 0, -1e9, 0, -1e9]] * 4)"),
    (_Q, _K, _K, "dropout_p=0.4"),
    (_Q, _K, _K, "dropout_p=0.4, is_causal=True"),
    (_Q, _K, _K, "dropout_p=1.0"),
    (_Q, _K, _K, "attn_mask=torch.randn(4, 5), dropout_p=0.3"),
    ((2, 4, 4, 8), (2, 2, 5, 8), (2, 2, 5, 8), "enable_gqa=True"),
    ((2, 4, 4, 8), (2, 1, 5, 8), (2, 1, 5, 8), ""),
    ((4, 8), (5, 8), (5, 6), ""),
    ((3, 4, 8), (3, 5, 8), (3, 5, 6), "is_causal=True"),
    ((2, 0, 4, 8), (2, 0, 5, 8), (2, 0, 5, 8), ""),
    ((2, 3, 4, 8), (2, 3, 0, 8), (2, 3, 0, 8), ""),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CALLS, ids=lambda c: f"{c[0]} {c[1]} {c[3]}")
@same
def test_function(torch, case, dtype):
    *shapes, options = case
    kind = getattr(torch, dtype)
    q, k, v = (torch.randn(s, dtype=kind, requires_grad=True) for s in shapes)
    given = eval(f"dict({options})", {"torch": torch})
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, **given)
    (out * torch.randn(out.shape, dtype=kind)).sum().backward()
    return [out, out.grad_fn, out.stride(), q.grad, k.grad, v.grad, torch.rand(2)]


@same
def test_gradient_of_the_mask(torch):
    q, k = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 5, 8)
    mask = torch.randn(4, 5, requires_grad=True)
    out = torch.nn.functional.scaled_dot_product_attention(q, k, k, mask)
    out.square().sum().backward()
    return [out, out.grad_fn, mask.grad]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@same
def test_half_precision(torch, dtype):
    kind = getattr(torch, dtype)
    q = torch.randn(2, 2, 4, 8).to(kind).requires_grad_()
    out = torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
    out.sum().backward()
    return [out, q.grad.dtype == kind]


@same
def test_layout_of_heads(torch):
    """What a model gives it: heads taken out of one projection."""
    x = torch.randn(2, 5, 24, requires_grad=True)
    q, k, v = (part.view(2, 5, 2, 4).transpose(1, 2) for part in x.split(8, dim=2))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    out.transpose(1, 2).contiguous().view(2, 5, 8).square().sum().backward()
    return [out, out.stride(), x.grad]


@pytest.mark.parametrize("dropped", [0.0, 0.3])
@same
def test_second_order(torch, dropped):
    q, k, v = (torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=dropped)
    grads = torch.autograd.grad(out.square().sum(), (q, k, v), create_graph=True)
    sum(g.square().sum() for g in grads).backward()
    return [q.grad, k.grad, v.grad]


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_dropout_under_vmap(randomness):
    import tautograd as torch

    attend = torch.nn.functional.scaled_dot_product_attention
    x = torch.ones(3, 4, 5)
    out = torch.func.vmap(lambda x: attend(x, x, x, dropout_p=0.5), randomness=randomness)(x)
    assert out.shape == (3, 4, 5)
    assert bool((out[0] == out[1]).all()) == (randomness == "same")


REFUSED = [
    "q, k, v, dropout_p=1.5", "q, k[:, :, :, :4], v", "q, k.double(), v",
    "q, k, v, torch.ones(4, 6, dtype=torch.int64)", "q, k, v, torch.ones(3, 3)",
    "q[0, 0, 0], k, v", "q, k[:, :2], v[:, :2], enable_gqa=True", "q, k, v, torch.ones(4, 6).double()",
    "1, k, v", "q.long(), k.long(), v.long()", "q, k, v, scale='a'",
    "q, k, v, torch.zeros(4, 6).bfloat16()", "q[0], k[0], v[0], torch.ones(4, 6), is_causal=True",
    "q[0, 0], k[0, 0, :, :3], v[0, 0]", "q[0, 0], k[0, 0], v[0, 0, :3]",
]  # fmt: skip


@pytest.mark.parametrize("arguments", REFUSED)
@same
def test_refused(torch, arguments):
    names = {"q": torch.randn(2, 3, 4, 5), "k": torch.randn(2, 3, 6, 5), "torch": torch}
    names |= {"v": torch.randn(2, 3, 6, 5), "F": torch.nn.functional}
    try:
        eval(f"F.scaled_dot_product_attention({arguments})", names)
    except Exception as error:
        return [type(error).__name__, str(error).split("\n")[0]]
    raise AssertionError("nothing was refused")


# --- MultiheadAttention --------------------------------------------------------------------------

MODULES = [
    "8, 2",
    "8, 2, bias=False",
    "8, 2, batch_first=True",
    "8, 2, dropout=0.4",
    "8, 1, add_bias_kv=True",
    "8, 2, add_zero_attn=True",
    "8, 4, add_bias_kv=True, add_zero_attn=True, bias=False",
    "8, 2, kdim=6, vdim=5",
    "8, 2, kdim=6, batch_first=True, bias=False, dropout=0.2",
    "8, 2, dtype=torch.float64",
]
FORWARD = [
    "",
    "need_weights=False",
    "average_attn_weights=False",
    "attn_mask=torch.rand(4, 5) > 0.6",
    "attn_mask=torch.randn(4, 5, dtype=dtype), need_weights=False",
    "attn_mask=torch.randn(2 * heads, 4, 5, dtype=dtype)",
    "attn_mask=torch.randn(2 * heads, 4, 5, dtype=dtype), need_weights=False",
    "key_padding_mask=padding",
    "key_padding_mask=padding, need_weights=False",
    "key_padding_mask=padding, attn_mask=torch.rand(4, 5) > 0.9, need_weights=False",
    "attn_mask=torch.rand(4, 5) > 0.9, is_causal=True, key_padding_mask=padding",
    "attn_mask=torch.ones(4, 5).triu(1).bool(), is_causal=True, need_weights=False",
]


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("options", FORWARD)
@pytest.mark.parametrize("constructor", MODULES)
@same
def test_module(torch, constructor, options, training):
    module = eval(f"torch.nn.MultiheadAttention({constructor})", {"torch": torch})
    module.train(training)
    dtype = module.out_proj.weight.dtype
    widths = (8, module.kdim, module.vdim)
    shapes = [(n, 2, w) for n, w in zip((4, 5, 5), widths, strict=True)]
    leaves = [torch.randn(s, dtype=dtype, requires_grad=True) for s in shapes]
    names: dict[str, Any] = {"torch": torch, "dtype": dtype, "heads": module.num_heads}
    names["padding"] = torch.tensor([[False] * 5, [False, False, False, True, True]])
    given = eval(f"dict({options})", names)
    inputs = [x.transpose(0, 1) if module.batch_first else x for x in leaves]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out, weights = module(*inputs, **given)
    (out * torch.randn(out.shape, dtype=dtype)).sum().backward()
    return [
        repr(module),
        out,
        out.grad_fn,
        out.stride(),
        weights,
        [x.grad for x in leaves],
        gradients(module),
        dict(module.state_dict()),
        torch.rand(2),
    ]


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("shared", ["all", "key and value"])
@same
def test_shared_inputs(torch, shared, batch_first):
    module = torch.nn.MultiheadAttention(8, 2, batch_first=batch_first)
    x, y = (torch.randn(3, 3, 8, requires_grad=True) for _ in range(2))
    seen = []
    for need in (True, False):
        given = (x, x, x) if shared == "all" else (x, y, y)
        out, weights = module(*given, need_weights=need)
        out.square().sum().backward()
        seen += [out, weights]
    return [*seen, x.grad, y.grad, gradients(module)]


@pytest.mark.parametrize("options", ["", "need_weights=False", "key_padding_mask=padding"])
@same
def test_unbatched(torch, options):
    module = torch.nn.MultiheadAttention(8, 2)
    padding = torch.tensor([False, False, True])
    given = eval(f"dict({options})", {"padding": padding})
    x, y = torch.randn(4, 8, requires_grad=True), torch.randn(3, 8, requires_grad=True)
    out, weights = module(x, y, y, **given)
    out.square().sum().backward()
    return [out, weights, x.grad, y.grad, module(x, x, x)[0]]


@same
def test_inference(torch):
    module = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(2, 4, 8)
    padding = torch.tensor([[False] * 4, [False, False, True, True]])
    with torch.no_grad():
        return [
            module(x, x, x),
            module(x, x, x, need_weights=False),
            module(x, x, x, key_padding_mask=padding),
            module(x, x, x, attn_mask=torch.ones(4, 4).triu(1).bool())[0],
        ]


@same
def test_functional(torch):
    q = torch.randn(4, 2, 8)
    w, b = torch.randn(24, 8), torch.randn(24)
    static = torch.randn(4, 3, 4)
    forward = torch.nn.functional.multi_head_attention_forward
    common = (8, 2, w, b, None, None, False, 0.0, torch.randn(8, 8), None)
    return [
        forward(q, q, q, *common),
        forward(q, q, q, *common, static_k=static, static_v=static),
    ]


REFUSED_BY_MODULE = [
    ("0, 2", "x, x, x"), ("8, 3", "x, x, x"), ("8, 0", "x, x, x"),
    ("8, 2", "r(4), x, x"), ("8, 2", "r(4, 8), x, x"), ("8, 2", "x, r(4, 8), x"),
    ("8, 2", "x, x, r(3, 2, 8)"), ("8, 2", "r(4, 2, 6), x, x"),
    ("8, 2", "x, x, x, key_padding_mask=torch.zeros(4, dtype=torch.bool)"),
    ("8, 2", "x, x, x, key_padding_mask=torch.zeros(2, 3, dtype=torch.bool)"),
    ("8, 2", "x, x, x, key_padding_mask=torch.zeros(3, 4, dtype=torch.bool)"),
    ("8, 2", "x, x, x, key_padding_mask=torch.zeros(2, 4, dtype=torch.int64)"),
    ("8, 2", "x, x, x, attn_mask=r(4)"), ("8, 2", "x, x, x, attn_mask=r(3, 4)"),
    ("8, 2", "x, x, x, attn_mask=r(2, 4, 4)"), ("8, 2", "x, x, x, is_causal=True"),
    ("8, 2", "r(4, 8), r(4, 8), r(4, 8), attn_mask=r(3, 4, 4)"),
    ("8, 2, kdim=4", "x, r(5, 2, 4), r(4, 2, 8)"), ("8, 2, kdim=4", "x, x, x"),
]  # fmt: skip


@pytest.mark.parametrize(("constructor", "arguments"), REFUSED_BY_MODULE)
@same
def test_refused_by_the_module(torch, constructor, arguments):
    names = {"torch": torch, "r": torch.randn, "x": torch.randn(4, 2, 8)}
    try:
        eval(f"torch.nn.MultiheadAttention({constructor})({arguments})", names)
    except Exception as error:
        return [type(error).__name__, str(error).split("\n")[0]]
    raise AssertionError("nothing was refused")


@same
def test_masks_of_two_kinds_warn(torch):
    module = torch.nn.MultiheadAttention(8, 2)
    x = torch.randn(4, 2, 8)
    padding = torch.zeros(2, 4, dtype=torch.bool)
    with pytest.warns(UserWarning, match="mismatched key_padding_mask and attn_mask is deprec"):
        return module(x, x, x, attn_mask=torch.randn(4, 4), key_padding_mask=padding)[0]


EMPTY = [(1, 1), (0, 1), (1, 0), (0, 1, 1), (1, 0, 1), (1, 1, 1), (2, 1, 1), (1, 1, 0, 1)]


@pytest.mark.parametrize("query", EMPTY)
@pytest.mark.parametrize("causal", [False, True])
@same
def test_attention_where_something_is_empty(torch, query, causal):
    found = []
    for key in EMPTY:
        for value in EMPTY:
            inputs = [torch.ones(shape, requires_grad=True) for shape in (query, key, value)]
            try:
                out = torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=causal)
                out.sum().backward()
                found += [out, *(x.grad for x in inputs)]
            except RuntimeError as error:
                found.append(type(error).__name__)
    return found
