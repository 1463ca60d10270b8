"""Windows, `stft` and `istft`, beside PyTorch's."""

from __future__ import annotations

import importlib

import pytest

from tests.both import same

WINDOWS = {
    "bartlett": [{}],
    "blackman": [{}],
    "cosine": [{}],
    "exponential": [{}, {"tau": 3.0}, {"center": 1.0, "sym": False}],
    "gaussian": [{}, {"std": 0.4}],
    "general_cosine": [{"a": [0.46, 0.23, 0.31]}],
    "general_hamming": [{}, {"alpha": 0.6}],
    "hamming": [{}],
    "hann": [{}],
    "kaiser": [{}, {"beta": 3.0}],
    "nuttall": [{}],
}
WRONG = [
    "hann(-1)",
    "hann(3, dtype=torch.int32)",
    "gaussian(3, std=0)",
    "exponential(3, tau=-1)",
    "exponential(3, center=2.0)",
    "kaiser(3, beta=-1)",
    "general_cosine(3, a=3)",
    "general_cosine(3, a=[])",
]


@pytest.mark.parametrize("name", WINDOWS)
@same
def test_windows(torch, name):
    windows = importlib.import_module(f"{torch.__name__}.signal.windows")
    found = []
    for options in WINDOWS[name]:
        for m in (0, 1, 2, 5, 8):
            for sym in (True, False):
                if "center" in options and sym:
                    continue
                for dtype in (torch.float32, torch.float64):
                    given = {"sym": sym, "dtype": dtype, **options}
                    found.append(getattr(windows, name)(m, **given))
    return found


@pytest.mark.parametrize("call", WRONG)
@same
def test_wrong_windows(torch, call):
    windows = importlib.import_module(f"{torch.__name__}.signal.windows")
    with pytest.raises((ValueError, TypeError)) as error:
        eval(f"windows.{call}", {"windows": windows, "torch": torch})
    return [type(error.value).__name__, str(error.value)]


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
@same
def test_older_windows(torch, name):
    make = getattr(torch, f"{name}_window")
    found = [
        1
        + make(n, periodic, dtype=torch.float64)  # where terms cancel, only their rounding is left
        for n in (0, 1, 2, 7)
        for periodic in (True, False)
    ]
    with pytest.raises(RuntimeError):
        make(-1)
    extra = [torch.hamming_window(5, True, 0.6, 0.4), torch.kaiser_window(6, False, 4.0)]
    return [found, make(4, requires_grad=True), extra]


CALLS = [
    {"n_fft": 16},
    {"n_fft": 16, "hop_length": 5, "center": False},
    {"n_fft": 16, "win_length": 10, "window": 10},
    {"n_fft": 15, "window": 15, "normalized": True},
    {"n_fft": 16, "onesided": False, "pad_mode": "constant"},
]


@pytest.mark.parametrize("options", CALLS, ids=str)
@pytest.mark.parametrize("shape", [(60,), (2, 60)])
@pytest.mark.filterwarnings("ignore:A window was not provided")
@same
def test_there_and_back(torch, shape, options):
    x = torch.randn(*shape, dtype=torch.float64, requires_grad=True)
    given = dict(options)
    if "window" in given:
        given["window"] = torch.hamming_window(given["window"], dtype=torch.float64)
    spectrum = torch.stft(x, return_complex=True, **given)
    (grad,) = torch.autograd.grad(spectrum.abs().square().sum(), x, retain_graph=True)
    given.pop("pad_mode", None)
    back = torch.istft(spectrum, length=None, **given)
    (way_back,) = torch.autograd.grad(back.sin().sum(), x)
    return [spectrum, spectrum.stride(), grad, back, way_back]


@pytest.mark.filterwarnings("ignore:stft with return_complex=False")
@same
def test_other_forms(torch):
    x = torch.randn(40)
    window = torch.hann_window(8)
    pairs = torch.stft(x, 8, window=window, return_complex=False)
    full = torch.stft(x + 0j, 8, window=window)
    cut = torch.istft(
        torch.stft(x, 8, window=window, return_complex=True), 8, window=window, length=30
    )
    whole = torch.istft(full, 8, window=window, onesided=False, return_complex=True)
    return [pairs, full, cut, whole]


REFUSED = [
    "torch.stft(x, 16)",
    "torch.stft(x, 16, hop_length=0, return_complex=True)",
    "torch.stft(x, 16, win_length=20, return_complex=True)",
    "torch.stft(x, 16, window=torch.ones(8), return_complex=True)",
    "torch.stft(x.cfloat(), 16, return_complex=True, onesided=True)",
    "torch.stft(x, 16, align_to_window=True, return_complex=True)",
    "torch.stft(x, 900, window=torch.ones(900), center=False, align_to_window=True, return_complex=True)",
    "torch.stft(x.long(), 16, center=False, return_complex=True)",
    "torch.istft(torch.ones(9, 3), 16)",
    "torch.istft(z(9, 0), 16)",
    "torch.istft(z(2, 2, 9, 3), 16)",
    "torch.istft(z(9, 3), 16, hop_length=20)",
    "torch.istft(z(9, 3), 16, win_length=17)",
    "torch.istft(z(9, 3), 16, window=torch.ones(3))",
    "torch.istft(z(9, 3), 16, return_complex=True)",
]


@pytest.mark.parametrize("call", REFUSED)
@same
def test_refusals(torch, call):
    names = {"torch": torch, "x": torch.ones(100)}
    names["z"] = lambda *size: torch.zeros(*size, dtype=torch.cfloat)
    with pytest.raises(RuntimeError) as error:
        eval(call, names)
    return str(error.value)


@pytest.mark.parametrize("length", [1, 2, 3, 4])
@pytest.mark.parametrize("hop", [1, 2, 3])
@same
def test_stretches_that_begin_where_the_window_does(torch, hop, length):
    # Of windows that are shorter by an odd number PyTorch asks for a sample beyond the last.
    n_fft = 6 if length % 2 == 0 else 5
    x = torch.arange(22.0, dtype=torch.float64).reshape(2, 11).sin()
    window = torch.arange(1.0, length + 1, dtype=torch.float64)
    given = {"center": False, "return_complex": True}
    return [
        torch.stft(x, n_fft, hop, length, window, align_to_window=align, **given)
        for align in (True, False, None)
    ]
