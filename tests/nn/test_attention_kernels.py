"""`nn.attention`: kernels that may be used, and `flex_attention` beside attention as it is defined."""

from __future__ import annotations

import importlib
import warnings

import pytest

import tautograd
from tests.both import same


@same
def test_kernels(torch):
    attention = importlib.import_module(f"{torch.__name__}.nn.attention")
    kind, cuda = attention.SDPBackend, torch.backends.cuda
    q = torch.randn(1, 2, 4, 8)
    with attention.sdpa_kernel(kind.MATH):
        inside = [cuda.flash_sdp_enabled(), cuda.math_sdp_enabled(), cuda.cudnn_sdp_enabled()]
        out = torch.nn.functional.scaled_dot_product_attention(q, q, q)
    with attention.sdpa_kernel([kind.FLASH_ATTENTION, kind.MATH], set_priority=True):
        order = [str(k) for k in attention._cur_sdpa_kernel_backends(with_priority=True)]
    with pytest.raises(AssertionError, match="Backend must be an instance") as error:
        attention.sdpa_kernel("flash").__enter__()
    with pytest.raises(ZeroDivisionError), attention.sdpa_kernel(kind.MATH):
        1 / 0
    after = [cuda.flash_sdp_enabled(), str(kind.MATH), repr(kind.ERROR), kind.MATH.name]
    return [inside, out, order, str(error.value), after]


def _flex(torch):
    return importlib.import_module(f"{torch.__name__}.nn.attention.flex_attention")


def _causal(b, h, q, k):
    return q >= k


def _window(b, h, q, k):
    return (q - k).abs() <= 2


def _distance(score, b, h, q, k):
    return score - 0.1 * (q - k).abs() * (h + 1)


@same
def test_masks(torch):
    f = _flex(torch)
    masks = [_causal, _window, f.and_masks(_causal, _window), f.or_masks(_causal, _window)]
    dense = [f.create_mask(mask, 1, 2, 5, 6, device="cpu") for mask in masks]
    blocks = f.create_block_mask(_causal, 2, None, 10, 12, device="cpu", BLOCK_SIZE=4)
    seen = [blocks.shape, blocks.numel(), blocks.sparsity(), blocks.to_dense(), blocks.BLOCK_SIZE]
    with pytest.raises(AssertionError, match="requires a mask_mod function"):
        f.create_block_mask(_distance, 1, 1, 2, 2, device="cpu")
    return [dense, seen, blocks.kv_num_blocks, blocks.full_kv_num_blocks]


@pytest.mark.parametrize("masked", [False, True])
def test_is_attention_with_other_scores(masked):
    torch = tautograd
    f = torch.nn.attention.flex_attention
    q, k, v = (torch.randn(2, 3, 5, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    blocks = f.create_block_mask(_causal, None, None, 5, 5) if masked else None
    out, aux = f.flex_attention(
        q, k, v, _distance, blocks, return_aux=f.AuxRequest(lse=True, max_scores=True)
    )
    i, j = torch.arange(5).view(5, 1), torch.arange(5)
    heads = torch.arange(1, 4).view(3, 1, 1)
    scores = q @ k.transpose(-1, -2) / 2 - 0.1 * (i - j).abs() * heads
    if masked:
        scores = scores.masked_fill(i < j, float("-inf"))
    expected = scores.softmax(-1) @ v
    assert torch.allclose(out, expected)
    assert torch.allclose(aux.lse, scores.logsumexp(-1))
    assert torch.allclose(aux.max_scores, scores.max(-1).values)
    ours = torch.autograd.grad(out.sin().sum(), (q, k, v))
    theirs = torch.autograd.grad(expected.sin().sum(), (q, k, v))
    for one, other in zip(ours, theirs, strict=True):
        assert torch.allclose(one, other)


def test_a_query_that_may_look_at_nothing():
    f = tautograd.nn.attention.flex_attention
    q = tautograd.ones(1, 1, 2, 2, requires_grad=True)
    blocks = f.create_block_mask(lambda b, h, i, j: i > 0, None, None, 2, 2)
    out = f.flex_attention(q, q, q, block_mask=blocks)
    out.sum().backward()
    assert out[0, 0].tolist() == [[0.0, 0.0], [1.0, 1.0]]
    assert tautograd.isfinite(q.grad).all()


@same
def test_shared_keys_and_refusals(torch):
    f = _flex(torch)
    q, k = torch.randn(1, 4, 3, 2), torch.randn(1, 2, 3, 2)
    said = []
    for call in (
        lambda: f.flex_attention(q, k, k),
        lambda: f.flex_attention(q[:, :3], k, k, enable_gqa=True),
        lambda: f.flex_attention(q, q[..., :1], q),
        lambda: f.flex_attention(q[0], q[0], q[0]),
    ):
        with pytest.raises((ValueError, NotImplementedError)) as error:
            call()
        said.append([type(error.value).__name__, str(error.value)])
    return said


def test_shared_keys():
    torch, f = tautograd, tautograd.nn.attention.flex_attention
    q, k = torch.randn(1, 4, 3, 2), torch.randn(1, 2, 3, 2)
    found = f.flex_attention(q, k, k, enable_gqa=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = k.repeat_interleave(2, 1)
        expected = torch.nn.functional.scaled_dot_product_attention(q, whole, whole)
    assert torch.allclose(found, expected, atol=1e-6)
