"""Switches of PyTorch's libraries, kept for programs that set them: none changes anything here."""

from . import cuda, cudnn, mkl, mkldnn, mps, openmp

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]
