"""Batch normalisation folded into the layer before it, and weights in another memory format."""

from __future__ import annotations

import pytest

from tests.both import same


def _seasoned(torch, bn):
    """A normalisation that has seen data."""
    bn.running_mean.normal_()
    bn.running_var.uniform_(0.5, 2.0)
    if bn.affine:
        with torch.no_grad():
            bn.weight.normal_()
            bn.bias.normal_()
    return bn.eval()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("kind", ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d"])
@same
def test_convolutions(torch, kind, affine, bias):
    rank = int(kind[-2])
    conv = getattr(torch.nn, kind)(3, 4, 2, bias=bias).eval()
    bn = _seasoned(torch, getattr(torch.nn, f"BatchNorm{rank}d")(4, affine=affine))
    fused = torch.nn.utils.fuse_conv_bn_eval(conv, bn, transpose="Transpose" in kind)
    x = torch.randn(2, 3, *(4,) * rank)
    assert torch.allclose(fused(x), bn(conv(x)), atol=1e-5)
    assert fused is not conv
    wants = [fused.weight.requires_grad, fused.bias.requires_grad]
    return [fused.weight, fused.bias, wants, type(fused.bias).__name__, conv.weight]


@pytest.mark.parametrize("features", [4, 1])
@pytest.mark.parametrize("bias", [True, False])
@same
def test_linear(torch, bias, features):
    linear = torch.nn.Linear(3, 4, bias=bias).eval()
    bn = _seasoned(torch, torch.nn.BatchNorm1d(features))
    fused = torch.nn.utils.fuse_linear_bn_eval(linear, bn)
    return [fused.weight, fused.bias, fused(torch.ones(2, 3))]


@same
def test_refusals(torch):
    utils, nn = torch.nn.utils, torch.nn
    attempts = [
        lambda: utils.fuse_conv_bn_eval(nn.Conv1d(1, 1, 1), nn.BatchNorm1d(1).eval()),
        lambda: utils.fuse_linear_bn_eval(nn.Linear(1, 1).eval(), nn.BatchNorm1d(1)),
        lambda: utils.fuse_linear_bn_eval(nn.Linear(1, 4).eval(), nn.BatchNorm1d(2).eval()),
        lambda: utils.fuse_conv_bn_eval(
            nn.Conv1d(1, 1, 1).eval(), nn.BatchNorm1d(1, track_running_stats=False).eval()
        ),
    ]
    said = []
    for attempt in attempts:
        with pytest.raises(AssertionError) as error:
            attempt()
        said.append(str(error.value))
    return said


@same
def test_half_weights_keep_their_dtype(torch):
    utils = torch.nn.utils
    w, b = torch.randn(2, 3, 1, 1).half(), torch.randn(2)
    rm, rv = torch.randn(2), torch.rand(2) + 0.5
    fused = utils.fuse_conv_bn_weights(w, None, rm, rv, 1e-5, None, None)
    others = utils.fuse_linear_bn_weights(w[..., 0, 0], None, rm, rv, 1e-5, b, b)
    return [[str(t.dtype) for t in (*fused, *others)], *fused, *others]


@same
def test_memory_formats(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(2, 3, 2), nn.Sequential(nn.ConvTranspose2d(2, 3, 2)))
    found = nn.utils.convert_conv2d_weight_memory_format(model, torch.channels_last)
    assert found is model
    cube = nn.utils.convert_conv3d_weight_memory_format(nn.Conv3d(2, 3, 2), torch.channels_last_3d)
    return [[p.stride() for p in model.parameters()], cube.weight.stride(), cube.weight]
