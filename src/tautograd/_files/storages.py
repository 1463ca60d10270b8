"""PyTorch's names for the kinds of memory a tensor lies in, as its files have them."""

from __future__ import annotations

from typing import Any

from .._arrays import dtypes

# `torch.<name>` in a file: the dtype of the elements.
STORAGE_DTYPES: dict[str, Any] = {
    "FloatStorage": dtypes.float32,
    "DoubleStorage": dtypes.float64,
    "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.bfloat16,
    "LongStorage": dtypes.int64,
    "IntStorage": dtypes.int32,
    "ShortStorage": dtypes.int16,
    "CharStorage": dtypes.int8,
    "ByteStorage": dtypes.uint8,
    "BoolStorage": dtypes.bool_,
    "ComplexFloatStorage": dtypes.complex64,
    "ComplexDoubleStorage": dtypes.complex128,
}
STORAGE_NAMES = {dtype: name for name, dtype in STORAGE_DTYPES.items()}
