"""What a tensor held at one moment, in a few figures; small tensors whole, as many as memory allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._verify.subject.engines import as_numpy

MOST_KEPT = 1 << 22  # total entries of tensors that are kept whole
_CONVERTED = frozenset(("float32", "float16"))  # converted to float64 for NumPy
SHOWN = 8  # entries written out in a row


@dataclass(frozen=True)
class Value:
    """Shape and dtype, and the numbers themselves if there are few."""

    shape: tuple[int, ...]
    dtype: str
    array: Any = None  # float64, complex128 or integers, or None if it was not kept
    norm: float = math.nan
    low: float = math.nan
    high: float = math.nan
    strange: int = 0  # count of infinite or NaN entries

    @property
    def is_single(self) -> bool:
        return math.prod(self.shape) == 1

    @property
    def is_few(self) -> bool:
        """Whether it can be written out."""
        return self.array is not None and self.array.size <= SHOWN and self.array.ndim <= 2

    @property
    def text(self) -> str:
        """The numbers if there are few, else their range."""
        if self.is_few:
            return _nested(self.array)
        if self.shape and 0 in self.shape:
            return "empty"
        if math.isnan(self.low) and not self.strange:
            return ""
        reach = f"{number(self.low)} … {number(self.high)}"
        return f"{reach}, {self.strange} not finite" if self.strange else reach

    @property
    def size_text(self) -> str:
        """One figure for its size: the number itself, or the norm."""
        if self.array is not None and self.array.size == 1:
            return number(self.array.reshape(-1)[0])
        return f"‖·‖ = {number(self.norm)}"

    @property
    def gradient_text(self) -> str:
        """As displayed for a gradient: its numbers if there are few, else the norm."""
        return self.text if self.is_few else self.size_text

    @property
    def shape_text(self) -> str:
        if len(self.shape) == 1:
            return f"{self.shape[0]} {'entry' if self.shape[0] == 1 else 'entries'}"
        return "×".join(map(str, self.shape)) if self.shape else "number"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; the numbers only if there are few."""
        found: dict[str, Any] = {
            "shape": list(self.shape),
            "dtype": self.dtype,
            "norm": plain_number(self.norm),
            "low": plain_number(self.low),
            "high": plain_number(self.high),
            "not_finite": self.strange,
        }
        if self.array is not None and self.array.size <= 64:
            listed = self.array.tolist()
            found["values"] = _plain_tree(listed)
        return found


class Memory:
    """Inspects tensors, and keeps small ones whole until its budget is used up."""

    def __init__(self, most_bytes: int = 256 << 20) -> None:
        self.left = most_bytes

    def look(self, tensor: Any) -> Value:
        """The current contents of a tensor."""
        shape = tuple(int(n) for n in tensor.shape)
        dtype = str(tensor.dtype).rpartition(".")[2]
        try:
            array = as_numpy(tensor)
            if dtype not in _CONVERTED:  # otherwise it is already a copy
                array = np.array(array)
        except (RuntimeError, TypeError, NotImplementedError, ValueError):  # sparse, meta, batched
            return Value(shape, dtype)
        return self.of_array(array, dtype)

    def of_array(self, array: Any, dtype: str) -> Value:
        """The same for an array that nobody else writes to."""
        keeps = array.size <= MOST_KEPT and array.nbytes <= self.left
        if keeps and array.size > SHOWN:
            self.left -= array.nbytes
        shape = tuple(array.shape)
        if not array.size:
            return Value(shape, dtype, array, 0.0)
        if array.dtype.kind not in "fciub":
            return Value(shape, dtype)
        if array.size == 1 and array.dtype.kind == "f":  # the bulk of a scalar program
            one = array.item()
            if math.isfinite(one):
                return Value(shape, dtype, array, abs(one), one, one)
            return Value(shape, dtype, array, abs(one), strange=1)
        if array.dtype.kind == "f":
            flat = array.reshape(-1)
            low = float(np.minimum.reduce(flat))  # propagates NaN
            high = float(np.maximum.reduce(flat))
            largest = max(abs(low), abs(high))
            if low == high == 0.0:
                return Value(shape, dtype, array if keeps else None, 0.0, low, high)
            if math.isfinite(low) and 1e-100 < largest < 1e100:  # its squares fit
                norm = math.sqrt(float(flat @ flat))
                return Value(shape, dtype, array if keeps else None, norm, low, high)
        reals = np.abs(array) if array.dtype.kind == "c" else array
        finite = np.isfinite(reals)
        strange = int(array.size - np.count_nonzero(finite))
        sound = reals[finite] if strange else reals
        with np.errstate(all="ignore"):
            largest = float(np.max(np.abs(sound))) if sound.size else 0.0
            if strange:
                norm = math.nan if np.isnan(reals).any() else math.inf
            elif largest in (0.0, math.inf):
                norm = largest
            else:  # scaled, so that squares neither overflow nor underflow
                norm = largest * math.sqrt(float(np.sum((sound / largest) ** 2)))
        low = float(np.min(sound)) if sound.size else math.nan
        high = float(np.max(sound)) if sound.size else math.nan
        return Value(shape, dtype, array if keeps else None, norm, low, high, strange)


def number(value: Any) -> str:
    """A number in four digits, as short as possible."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (complex, np.complexfloating)):
        return f"{value:.4g}"
    value = float(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.4g}"
    mantissa, e, power = text.partition("e")
    if e:
        text = f"{mantissa}e{int(power)}"
    return text.replace("-", "−", 1) if text.startswith("-") else text


def plain_number(value: float) -> Any:
    """For JSON, which has no NaN and no infinity."""
    return float(f"{value:.6g}") if math.isfinite(value) else str(value)


def _plain_tree(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain_tree(part) for part in value]
    if isinstance(value, float):
        return plain_number(value)
    return str(value) if isinstance(value, complex) else value


def _nested(array: Any) -> str:
    if array.ndim == 0:
        return number(array[()])
    return f"[{', '.join(_nested(part) for part in array)}]"


def summed_to(array: Any, shape: tuple[int, ...]) -> Any:
    """The sum over broadcast dimensions, so that the result has this shape."""
    if array.shape == shape:
        return array
    extra = array.ndim - len(shape)
    if extra > 0:
        array = array.sum(axis=tuple(range(extra)))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and array.shape[i] != 1)
    return array.sum(axis=axes, keepdims=True) if axes else array
