"""Older names of products: `torch.spmm` is `torch.mm`, for matrices of any layout."""

from __future__ import annotations

from ..linalg.products.addmm import addmm as saddmm
from ..linalg.products.blas import mm as dsmm
from ..linalg.products.blas import mm as spmm
from .products import hspmm as hsmm

__all__ = ["dsmm", "hsmm", "saddmm", "spmm"]
