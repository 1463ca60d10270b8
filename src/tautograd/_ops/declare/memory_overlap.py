"""Writes into memory that is also read, or written twice: refused, as the result is unclear."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.strided import address
from ..._tensor.tensor import Tensor


def refuse_overlap(array: Any) -> None:
    """Refuse to write different values into one memory location."""
    if not array.size:
        return
    for stride, extent in zip(array.strides, array.shape, strict=True):
        if stride == 0 and extent > 1:
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a "
                "single memory location. Please clone() the tensor before performing the operation."
            )


def refuse_partial_overlap(target: Tensor, *sources: Any) -> None:
    """Refuse to write into memory that a source shows differently.

    Tensors over one memory share its version counter, which is quick to see.
    """
    box = target._version_box
    for source in sources:
        if (
            isinstance(source, Tensor)
            and source is not target
            and source._version_box is box
            and not target._is_inference
            and _partly_the_same(target._data, source._data)
        ):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to "
                "tensor refer to a single memory location. Please clone() the tensor before "
                "performing the operation."
            )


def _partly_the_same(a: Any, b: Any) -> bool:
    """Whether two arrays share memory but show it differently; PyTorch asks dense ones only."""
    if type(a) is not np.ndarray or type(b) is not np.ndarray:
        return False
    if not a.size or not b.size or not _dense(a) or not _dense(b):
        return False
    first, second = address(a), address(b)
    if first == second and a.nbytes == b.nbytes:
        return bool(a.strides != b.strides)
    return bool(first < second + b.nbytes and second < first + a.nbytes)


def _dense(array: Any) -> bool:
    """Whether the elements fill a block of memory, in any order."""
    step = array.dtype.itemsize
    for stride, extent in sorted(zip(array.strides, array.shape, strict=True)):
        if extent != 1:
            if stride != step:
                return False
            step *= extent
    return True
