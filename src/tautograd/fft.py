"""Fourier transforms."""

from ._ops.spectral.fft_functions import FFT

globals().update(FFT)

__all__ = sorted(FFT)  # noqa: PLE0605


def __getattr__(name: str) -> object:
    from ._nearest import missing_name

    raise AttributeError(missing_name(__name__, name, globals()), name=name)
