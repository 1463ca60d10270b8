"""Fourier transforms."""

from ._lazy import named_later as _named_later
from ._ops.spectral.fft_functions import FFT

globals().update(FFT)

__all__ = sorted(FFT)  # noqa: PLE0605

__getattr__, __dir__ = _named_later(__name__)
