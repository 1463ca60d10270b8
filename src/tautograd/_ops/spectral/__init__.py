"""Fourier transforms: loaded when a program first names `torch.fft` or `stft`."""
