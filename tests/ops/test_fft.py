"""`torch.fft`: values, gradients to the second order, layouts and refusals, beside PyTorch's."""

from __future__ import annotations

import math

import pytest

import tautograd as torch
from tests.both import same

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = [f"{name}{end}" for name in ONE for end in ("2", "n")]
REAL_ONLY = ("rfft", "ihfft")


def _input(torch, name, kind, *shape):
    dtype = torch.float64 if kind == "real" or name.startswith(REAL_ONLY) else torch.complex128
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


def _orders(torch, x, fn):
    """The result, its gradient, and the gradient of that gradient's square."""
    out = fn(x)
    weights = torch.randn(out.shape, dtype=out.dtype)
    loss = (out * weights).abs().square().sum() + torch.view_as_real(out + 0j).sin().sum()
    (grad,) = torch.autograd.grad(loss, x, create_graph=True)
    (second,) = torch.autograd.grad(grad.abs().square().sum(), x)
    return [out, out.stride(), out.grad_fn, grad, second]


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("norm", [None, "ortho", "forward", "backward"])
@same
def test_one_dimension(torch, name, kind, norm):
    found = []
    for options in ({}, {"n": 3}, {"n": 6}, {"n": 7, "dim": 0}, {"dim": 1}):
        x = _input(torch, name, kind, 4, 3, 5)
        found.append(
            _orders(
                torch,
                x,
                lambda x, options=options: getattr(torch.fft, name)(x, norm=norm, **options),
            )
        )
    return found


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("name", SEVERAL)
@same
def test_several_dimensions(torch, name, kind):
    found = []
    cases = [{}, {"s": (3, 6)}, {"s": (-1, 5), "norm": "ortho"}, {"dim": (0, 2), "norm": "forward"}]
    cases += [{"dim": (2, 1)}, {"dim": (-1,)}] if name.endswith("n") else []
    for options in cases:
        x = _input(torch, name, kind, 2, 4, 5)
        found.append(
            _orders(torch, x, lambda x, options=options: getattr(torch.fft, name)(x, **options))
        )
    return found


@pytest.mark.parametrize("name", ["fft", "ifft", "irfft"])
@same
def test_inverses(torch, name):
    x = torch.randn(3, 6)
    f = torch.fft
    pairs = [(f.fft, f.ifft), (f.rfft, f.irfft), (f.fftn, f.ifftn), (f.rfft2, f.irfft2)]
    for there, back in pairs:
        assert torch.allclose(back(there(x)).real, x, atol=1e-5)
    return [str(getattr(f, name)(x).dtype), str(getattr(f, name)(x.double()).dtype)]


@pytest.mark.parametrize("dtype", ["int32", "bool", "float32", "complex64", "uint8"])
@same
def test_dtypes(torch, dtype):
    x = (torch.arange(6) % 4).to(getattr(torch, dtype))
    return [torch.fft.fft(x), torch.fft.irfft(x), torch.fft.fftn(x)]


WRONG = [
    "fft(x, dim=2)",
    "fft(x, n=0)",
    "rfft(x.cfloat())",
    "ihfft(x.cfloat())",
    "ihfftn(x.cfloat())",
    "irfft(x[:, :1])",
    "fft(x, norm='x')",
    "fft2(x[0])",
    "fftn(x, s=(1, 2, 3))",
    "fftn(x, s=(1, 2), dim=(0,))",
    "fftn(x, dim=(0, 0))",
    "fftn(x, s=(0, 2))",
    "fft(x.half())",
    "fft(x.bfloat16())",
    "fft(torch.tensor(1.0))",
    "fft(torch.ones(0))",
    "irfft(x, n=0)",
    "rfftn(x, dim=())",
    "irfftn(x, dim=())",
    "fftfreq(4, dtype=torch.int32)",
    "fft(3)",
]


@pytest.mark.parametrize("call", WRONG)
@same
def test_refusals(torch, call):
    with pytest.raises((RuntimeError, IndexError, TypeError)) as error:
        eval(f"torch.fft.{call}", {"torch": torch, "x": torch.ones(4, 3)})
    return [type(error.value).__name__, str(error.value).split("\n")[0]]


@same
def test_frequencies(torch):
    f, x = torch.fft, torch.arange(12).view(3, 4)
    freqs = [g(n, d) for g in (f.fftfreq, f.rfftfreq) for n in (1, 4, 5, 0) for d in (1.0, 0.25)]
    shifts = [g(x, dim) for g in (f.fftshift, f.ifftshift) for dim in (None, 0, (1,), (0, 1))]
    more = [f.fftfreq(3, dtype=torch.float64, requires_grad=True), f.fftshift(torch.arange(5))]
    return [freqs, shifts, more]


@same
def test_out_and_batches(torch):
    x = torch.randn(2, 4)
    out = torch.empty(0, dtype=torch.complex64)
    assert torch.fft.fft(x, out=out) is out
    batched = torch.func.vmap(lambda row: torch.fft.rfft(row).abs().sum())(x)
    tangent = torch.func.jvp(torch.fft.fft, (x,), (torch.ones_like(x),))
    return [out, batched, tangent]


@same
def test_short_time_transforms_are_methods(torch):
    signal, window = torch.arange(32.0), torch.ones(8)
    found = signal.stft(8, window=window, return_complex=True)
    with pytest.raises(
        RuntimeError, match="rfftn expects a real-valued input tensor, but got ComplexFloat"
    ):
        torch.fft.rfft2(torch.ones(2, 2, dtype=torch.complex64))
    return found, found.istft(8, window=window)


LARGE = {
    "fft": (300, 98),
    "ifft": (300, 98),
    "rfft": (70, 250),
    "irfft": (70, 250),
    "hfft": (70, 250),
    "ihfft": (70, 250),
    "fft2": (2, 96, 100),
    "irfft2": (2, 96, 100),
    "rfftn": (20, 30, 40),
}


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("name", sorted(LARGE))
def test_large_transforms_in_single_precision(name, norm):
    """They are computed in it, so they are as far from the exact result as the theory of the FFT allows: in the mean
    square a rounding for each of the log2(n) stages, and the largest of n errors within six of that."""
    torch.manual_seed(0)
    x = torch.randn(LARGE[name])
    run = getattr(torch.fft, name)
    found, exact = run(x, norm=norm), run(x.double(), norm=norm)
    assert found.dtype == (torch.complex64 if exact.is_complex() else torch.float32)
    assert found.shape == exact.shape
    size = exact.abs().square().mean().sqrt().item()
    bound = 6 * 2**-24 * math.log2(x.numel()) * size
    assert (found - exact).abs().max().item() < bound
