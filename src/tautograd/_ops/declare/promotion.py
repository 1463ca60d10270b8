"""From operands to the dtype an operation computes in."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.dtypes import (
    BOOL,
    FLOAT,
    combine_dtypes,
    dtype,
    float32,
    from_numpy_dtype,
    get_default_dtype,
    number_of,
    scalar_dtype,
)
from ..._tensor.arguments import as_element
from ..._tensor.tensor import Tensor
from .wrong_argument import WrongArgument


def common_dtype(operands: Any) -> dtype:
    """The promoted dtype of tensors and Python numbers together."""
    if type(operands) is tuple and len(operands) == 2 and isinstance(operands[0], Tensor):
        found = _of_first(*operands)
        if found is not None:
            return found
    dimensioned, zero_dim, scalars = [], [], []
    large = False
    for x in operands:
        if isinstance(x, Tensor):
            kind = from_numpy_dtype(x._data.dtype)
            if getattr(x, "_is_wrapped_number", False):
                scalars.append(kind)
            elif x._data.shape:
                dimensioned.append(kind)
            else:
                zero_dim.append(kind)
        elif x is not None:
            scalars.append(scalar_dtype(as_number(x)))
            large = large or (isinstance(x, int) and x >= 2**63)
    found = combine_dtypes(dimensioned, zero_dim, scalars)
    if large and all(kind.category == BOOL for kind in (*dimensioned, *zero_dim)):
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote Bool "
            "and UInt64"
        )
    return found


def _of_first(x: Tensor, y: Any) -> dtype | None:
    """The dtype of a tensor that a second operand leaves as it is, as most do; None where that takes a closer look."""
    kind = x._data.dtype
    if isinstance(y, Tensor):
        return from_numpy_dtype(kind) if y._data.dtype is kind else None
    if type(y) is float:
        stays = kind.kind in "fc"
    else:
        stays = type(y) is int and kind.kind in "fciu" and -(2**63) <= y < 2**63
    if not stays or getattr(x, "_is_wrapped_number", False):
        return None
    return from_numpy_dtype(kind)


def as_number(value: Any) -> Any:
    """A NumPy scalar as PyTorch reads it: what is no Python number is asked for its float."""
    if isinstance(value, np.generic):
        if isinstance(value, (np.bool_, np.complex64)):
            return float(value.real)
        return value.item()
    return value


def is_number(value: Any) -> bool:
    """Whether PyTorch reads this as a number: Python's, NumPy's, or a 0-dim tensor without a gradient."""
    if isinstance(value, Tensor):
        return not value._data.ndim and not value.requires_grad
    return isinstance(value, (int, float, complex, np.generic))


def plain_number(value: Any) -> Any:
    """Python's number for what PyTorch reads as one: a NumPy scalar, or a 0-dim tensor.

    For parameters with which arrays are computed: there NumPy's scalars would have their own dtype.
    """
    if isinstance(value, Tensor):
        if not is_number(value):
            raise TypeError("expected a number, not a Tensor with dimensions or a gradient")
        return value.item()
    if not isinstance(value, (float, int)) and hasattr(value, "__len__"):
        raise WrongArgument(f"expected a number, not {type(value).__name__}")
    return as_number(value)


def real_number(value: Any) -> Any:
    """`plain_number` for a parameter that shapes a real function: a complex one must be real, too."""
    number = plain_number(value)
    if not isinstance(number, complex):
        return number
    if number.imag:
        raise RuntimeError("value cannot be converted to type float without overflow")
    return number.real


def compute_dtype(operands: Any, promotion: str | None) -> Any:
    """The NumPy dtype to compute in; None where tensors of one dtype need no cast."""
    if promotion is None:
        return None
    found = common_dtype(operands)
    if promotion == "float" and found.category < FLOAT:
        found = get_default_dtype()
    elif promotion == "integer" and found.category == BOOL:
        found = from_numpy_dtype(np.dtype(np.int64))
    return found.numpy


def require_fit(operands: tuple[Any, ...], *numbers: Any, opmath: bool = False) -> None:
    """Refuse parameters that do not fit the dtype of a result: unlike an operand, they never wrap round.

    `opmath`: those of half precision need only fit float32, which it is computed in.
    """
    for number in numbers:
        if not (isinstance(number, (int, float)) and 0 <= number <= 127):  # which fits them all
            kind = common_dtype(operands)
            as_element(as_number(number), float32 if opmath and kind.is_half else kind)


def number_as(value: Any, numpy_dtype: Any, then: Any = None) -> Any:
    """A Python number as a NumPy scalar of this dtype, wrapping round as PyTorch does.

    `then`: the dtype that it is computed in, once it is rounded to the first.
    """
    value = as_number(value)
    if numpy_dtype.kind in "iu" and isinstance(value, int):
        bits = 8 * numpy_dtype.itemsize
        wrapped = value & ((1 << bits) - 1)
        if numpy_dtype.kind == "i" and wrapped >> (bits - 1):
            wrapped -= 1 << bits
        return numpy_dtype.type(wrapped)
    return number_of(value, numpy_dtype, then)


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The dtype an arithmetic operation on these operands gives."""
    return common_dtype((tensor1, tensor2))
