"""`stft` and `istft`: the transform of one stretch of a signal after the other, and the signal back."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import tautograd as torch

from ..._arrays.checks import require_all
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import require_tensor
from ..declare.guarding import by_signature
from .fft_functions import complex_transform, inverse_real, real_transform

__all__ = ["istft", "stft"]


def _window(name: str, window: Any, length: int, n_fft: int, like: Tensor) -> Tensor:
    """The window, in the middle of a stretch."""
    if window is None:
        dtype = like.real.dtype if like.is_complex() else like.dtype
        window = torch.ones(length, dtype=dtype, device=like.device)
    left = (n_fft - length) // 2
    if length < n_fft:
        window = torch.nn.functional.pad(window, (left, n_fft - length - left))
    return window  # type: ignore[no-any-return]


def _given(name: str, input: Tensor, **values: Any) -> str:
    """The call, for error messages."""
    parts = []
    for key, value in values.items():
        if key == "window" and value is not None:
            value = f"{value.type()}{{{list(value.shape)}}}"
        parts.append(f"{key}={int(value) if isinstance(value, bool) else value}")
    kind = input.type() if name == "stft" else f"CPU{_kind(input)}Type"
    return f"{name}({kind}{list(input.shape)}, {', '.join(parts)})"


def _kind(input: Tensor) -> str:
    from ..._arrays.dtypes import LEGACY_NAMES

    return LEGACY_NAMES[input.dtype]


@by_signature
def stft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The frequencies in a signal as time goes on: `(…, frequencies, stretches)`."""
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    require_tensor("stft", input)
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    x = input.unsqueeze(0) if input.dim() == 1 else input
    if center:
        half = n_fft // 2
        x = torch.nn.functional.pad(x.unsqueeze(1), (half, half), mode=pad_mode).squeeze(1)
    half_only = not (x.is_complex() or (window is not None and window.is_complex()))
    shown = x.squeeze(0) if input.dim() == 1 else x
    _check_stft(
        shown, n_fft, hop, length, window, normalized, onesided, return_complex, align_to_window
    )
    if onesided and not half_only:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if align_to_window:  # the first stretch has the first sample where its window begins
        left = (n_fft - length) // 2
        x = torch.nn.functional.pad(x, (left, n_fft - length - left))
    stretches = x.unfold(-1, n_fft, hop)  # (batch, stretches, n_fft)
    if window is not None or length < n_fft:
        stretches = stretches * _window("stft", window, length, n_fft, x)
    scale = n_fft**-0.5 if normalized else 1.0
    dims = (stretches.dim() - 1,)
    if half_only:
        found = real_transform(stretches, dims, scale, onesided is not False)
    else:
        found = complex_transform(stretches + 0j, dims, scale, True)
    found = found.transpose(1, 2)
    found = found.squeeze(0) if input.dim() == 1 else found
    return found if return_complex is not False else torch.view_as_real(found)


def _check_stft(
    x: Tensor,
    n_fft: int,
    hop: int,
    length: int,
    window: Any,
    normalized: bool,
    onesided: Any,
    return_complex: Any,
    align_to_window: Any,
) -> None:
    call = _given(
        "stft",
        x,
        n_fft=n_fft,
        hop_length=hop,
        win_length=length,
        window=window,
        normalized=bool(normalized),
        onesided=onesided,
        return_complex=return_complex,
        align_to_window=align_to_window,
    )
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(f"{call} : expected a tensor of floating point or complex values")
    if x.dim() > 2 or x.dim() < 1:
        raise RuntimeError(f"{call} : expected a 1D or 2D tensor")
    if n_fft <= 0 or n_fft > x.shape[-1]:
        raise RuntimeError(f"{call} : expected 0 < n_fft < {x.shape[-1]}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{call} : expected hop_length > 0, but got hop_length={hop}")
    if length <= 0 or length > n_fft:
        raise RuntimeError(
            f"{call} : expected 0 < win_length <= n_fft, but got win_length={length}"
        )
    if window is not None and tuple(window.shape) != (length,):
        raise RuntimeError(
            f"{call} : expected a 1D window tensor of size equal to win_length={length}, but got "
            f"window with size {list(window.shape)}"
        )
    is_complex = x.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not is_complex:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further "
            "require that return_complex=True in a future PyTorch release."
        )
    if return_complex is False:
        warnings.warn(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will "
            "return complex tensors for all inputs, and return_complex=False will raise an error.\n"
            "Note: you can still call torch.view_as_real on the complex output to recover the old "
            "return format.",
            stacklevel=3,
        )


@by_signature
def istft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose `stft` this is, by least squares: stretches are laid over one another."""
    hop = n_fft // 4 if hop_length is None else hop_length
    wide = n_fft if win_length is None else win_length
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    given = input.unsqueeze(0) if input.dim() == 2 else input
    half = onesided if onesided is not None else given.shape[1] != n_fft
    _check_istft(
        input, n_fft, hop, wide, window, half, center, normalized, onesided, length, return_complex
    )
    weights = _window("istft", window, wide, n_fft, input)
    if window is None:
        warnings.warn(
            "A window was not provided. A rectangular window will be applied."
            "Please provide the same window used by stft to make the inversion lossless."
            "To suppress this warning and use a rectangular window, explicitly set "
            "`window=torch.ones(n_fft, device=<device>)`.",
            stacklevel=2,
        )
    frames = given.transpose(1, 2)  # (batch, stretches, frequencies)
    scale = n_fft**-0.5 if normalized else 1.0 / n_fft
    if return_complex:
        signal = complex_transform(frames, (2,), scale, False)
    else:
        frames = frames if half else frames[..., : n_fft // 2 + 1]
        signal = inverse_real(frames, (2,), scale, n_fft)
    signal = signal * weights
    total = n_fft + hop * (frames.shape[1] - 1)
    laid = _overlaid(signal, total, hop)
    overlap = _overlaid(weights.square().expand(1, frames.shape[1], n_fft), total, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    laid, overlap = laid[:, start:end], overlap[:, start:end]
    require_all(
        overlap._data,
        lambda v: np.abs(v) >= 1e-11,
        lambda _: RuntimeError("istft: window overlap add min: 1\n[ CPUBoolType{} ]"),
        waits=True,
    )
    found = laid / overlap
    if length is not None and length > found.shape[1]:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with "
            "zeros in the tail. Please check your center and hop_length settings",
            stacklevel=2,
        )
        found = torch.nn.functional.pad(found, (0, length - found.shape[1]))
    return found.squeeze(0) if input.dim() == 2 else found


def _overlaid(stretches: Tensor, total: int, hop: int) -> Tensor:
    """Stretches added up where they lie: `(batch, stretches, n)` becomes `(batch, total)`."""
    batch, count, n = stretches.shape
    places = torch.arange(count).unsqueeze(1) * hop + torch.arange(n)
    zeros = torch.zeros(batch, total, dtype=stretches.dtype, device=stretches.device)
    return zeros.index_add(1, places.view(-1), stretches.reshape(batch, count * n))


def _check_istft(
    input: Tensor,
    n_fft: int,
    hop: int,
    wide: int,
    window: Any,
    half: bool,
    center: bool,
    normalized: bool,
    onesided: Any,
    length: Any,
    return_complex: bool,
) -> None:
    call = _given(
        "istft",
        input,
        n_fft=n_fft,
        hop_length=hop,
        win_length=wide,
        window=window,
        center=bool(center),
        normalized=bool(normalized),
        onesided=onesided,
        length=length,
        return_complex=bool(return_complex),
    )
    if not input.numel():
        raise RuntimeError(f"{call} : input tensor cannot be empty.")
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"{call} : expected a tensor with 3 or 4 dimensions, but got {input.dim() + 1}"
        )
    expected = n_fft // 2 + 1 if half else n_fft
    if input.shape[-2] != expected:
        which = "n_fft / 2 + 1" if half else "n_fft"
        raise RuntimeError(
            f"{call} : expected the frequency dimension (3rd to the last) of the input tensor to "
            f"match {which} when onesided={'True' if half else 'False'}, but got {input.shape[-2]}"
        )
    if not 0 < hop <= wide:
        raise RuntimeError(f"{call} : expected 0 < hop_length <= win_length")
    if not 0 < wide <= n_fft:
        raise RuntimeError(f"{call} : expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (wide,):
        raise RuntimeError(
            f"{call} : Invalid window shape. window has to be 1D and length of `win_length`"
        )
    if return_complex and half:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
