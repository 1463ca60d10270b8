"""PyTorch's several implementations of one function, where they contradict each other.

What PyTorch gives for the same call can depend on the CPU. Most functions have a vectorised loop, a
scalar loop for the last elements of a row, and some a third implementation in oneDNN, which is chosen
by dtype, size and instruction set. Where these disagree (the sign of a zero, the gradient at NaN)
none of them is the specification: a result is right if one of them gives it, exactly.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

import torch

# How often a value is repeated to be met by the vectorised loop, whatever the width of vectors.
REPEATS = 64
NO_KERNEL = "could not create a primitive"
"""What PyTorch says where it chose oneDNN, and oneDNN has no kernel for this CPU."""


@contextlib.contextmanager
def without_onednn() -> Iterator[None]:
    """PyTorch's own kernels only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a word about TF32 when the flags are put back
        with torch.backends.mkldnn.flags(enabled=False):
            yield


def onednn_has_bfloat16() -> bool:
    """Whether PyTorch hands bfloat16 to oneDNN on this CPU."""
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
