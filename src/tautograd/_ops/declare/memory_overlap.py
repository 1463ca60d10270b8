"""Writes into memory that is also read, or written twice: refused, as the result is unclear."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..._arrays.strided import address
from ..._tensor.tensor import Tensor
from ..._user_code.sites import warning_level

_SHARED = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
    "single memory location. Please clone() the tensor before performing the operation."
)


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
            raise RuntimeError(_SHARED)


# In-place operations that write at chosen places: what they read may not lie where they write at all.
SCATTERING = frozenset(
    ("index_add", "index_copy", "index_fill", "index_put", "index_reduce", "masked_scatter", "put",
     "scatter", "scatter_add", "scatter_reduce")
)  # fmt: skip
# Functions that read at chosen places: with `out=`, what they read may not lie where they write either.
GATHERING = SCATTERING | {
    "cat", "cross", "gather", "index_select", "linalg_cross", "masked_select", "max", "min", "take",
}  # fmt: skip
# Those that PyTorch still lets write into an expanded tensor, with a warning.
WARNED = {
    "masked_fill": " This also applies to advanced indexing e.g. tensor[mask] = scalar",
    "index_fill": " This also applies to advanced indexing e.g. tensor[mask] = scalar",
    "index_put": " This also applies to advanced indexing e.g. tensor[indices] = tensor",
}


def refuse_any_overlap(target: Tensor, *sources: Any) -> None:
    """Refuse to read from memory that is written at chosen places."""
    box = target._version_box
    for source in sources:
        if (
            isinstance(source, Tensor)
            and source._version_box is box
            and not target._is_inference
            and source._data.size
            and np.may_share_memory(target._data, source._data)
        ):
            raise RuntimeError(_SHARED)


def check_expanded(name: str, array: Any) -> None:
    """Refuse, or with PyTorch only advise against, a write into memory that stands for several elements."""
    if name not in WARNED:
        refuse_overlap(array)
        return
    if array.size and any(
        stride == 0 and extent > 1
        for stride, extent in zip(array.strides, array.shape, strict=True)
    ):
        warnings.warn(
            f"Use of {name}_ on expanded tensors is deprecated. Please clone() the tensor before "
            f"performing this operation.{WARNED[name]}",
            UserWarning,
            stacklevel=warning_level(),
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
