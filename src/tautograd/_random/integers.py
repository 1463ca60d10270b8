"""Integers in a range: remainders of random words.

PyTorch reduces a random word modulo the range: a 32-bit word while the range is below 2**28, a
64-bit word from there on, which keeps the bias of the remainder small.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from . import names
from .arithmetic import bfloat16, narrow
from .engine import Generator
from .shapes import Shape, as_shape, count

if TYPE_CHECKING:
    import numpy.typing as npt

Array: TypeAlias = "npt.NDArray[Any]"

_INT64_LOWEST, _INT64_HIGHEST = -(2**63), 2**63 - 1
_WIDE_RANGE = 2**28
_FULL_RANGE_KINDS = {np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.float32), bfloat16}


def _integer_limits(kind: np.dtype) -> tuple[int, int]:
    if kind == np.bool_:
        return 0, 1
    limits = np.iinfo(kind)
    return int(limits.min), int(limits.max)


def _is_real(kind: np.dtype) -> bool:
    return kind in names.FLOATING or kind.kind in "iub"


def _as_kind(value: int, kind: np.dtype) -> int:
    """`value` cast to the floating-point `kind` and back; what does not fit gives the lowest."""
    cast = float(narrow(np.array([value], np.int64), kind)[0])
    return int(cast) if abs(cast) < 2.0**63 else _INT64_LOWEST


def _spacing(value: int, kind: np.dtype) -> int:
    return 1 << (abs(value).bit_length() - names.significand_digits(kind))


def _inward(low: int, high: int | None, kind: np.dtype) -> tuple[int, int | None]:
    """Move bounds that `kind` cannot hold to the next values inside that it can.

    Otherwise the cast of an integer just inside could land on a bound that is excluded.
    """
    above_low = _as_kind(low + 1, kind)
    if above_low < low:
        low = above_low + _spacing(low + 1, kind)
    if high is not None:
        below_high = _as_kind(high - 1, kind)
        if below_high >= high:
            high = below_high - _spacing(high - 1, kind)
    return low, high


def _check_bounds(low: int, last: int, kind: np.dtype) -> None:
    bounds = (("from", low), ("to - 1", last))
    if kind in names.FLOATING:
        lowest, highest = names.float_limits(kind)
    elif kind == np.uint64:
        lowest, highest = 0, _INT64_HIGHEST
    else:
        lowest, highest = _integer_limits(kind)
    for label, bound in bounds:
        if not lowest <= bound <= highest:
            raise RuntimeError(f"{label} is out of bounds for {names.cpp_name(kind)}")
    if kind in names.FLOATING:
        digits = names.significand_digits(kind)
        for label, bound in bounds:
            if abs(bound) > 2**digits:
                warnings.warn(
                    f"{label} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision "
                    f"limitations {names.cpp_name(kind)} can support discrete uniform "
                    "distribution only within this range. This warning will become an error in "
                    "version 1.7 release, please fix the code in advance",
                    UserWarning,
                    stacklevel=4,
                )


def _remainders(generator: Generator, total: int, span: int, base: int, kind: np.dtype) -> Array:
    if span < _WIDE_RANGE:
        offsets = (generator.random32(total) % np.uint32(span)).astype(np.uint64)
    else:
        offsets = generator.random64(total) % np.uint64(span)
    # Unsigned addition wraps around, which is what a negative base needs.
    return narrow((offsets + np.uint64(base % 2**64)).view(np.int64), kind)


def _full_range(generator: Generator, sizes: tuple[int, ...], kind: np.dtype) -> Array:
    if kind not in _FULL_RANGE_KINDS:
        kernel = "random_full_64_bits_range_kernel_cpu"
        if kind.kind not in "iu" or kind in names.BAREBONES_UNSIGNED:
            raise names.not_implemented(kernel, kind)
        raise RuntimeError(f"{kernel} handles only int64, double, float and bfloat16")
    return narrow(generator.random64(count(sizes)).view(np.int64), kind).reshape(sizes)


def randint(
    generator: Generator,
    shape: Shape,
    low: int,
    high: int | None,
    dtype: npt.DTypeLike = np.int64,
) -> Array:
    """Integers in [low, high): `torch.randint` and `Tensor.random_(low, high)`.

    With `high=None` the range ends at the largest value of the type (of a floating-point type:
    the largest up to which all integers are exact), as `random_(low, None)` has it.
    """
    sizes, kind = as_shape(shape), names.known(dtype)
    if high is None and low == _INT64_LOWEST:
        return _full_range(generator, sizes, kind)
    if high is not None and low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    if not _is_real(kind):
        caller = "random_from_to_impl" if high is None else "check_random_bounds"
        raise RuntimeError(f"{caller} handles only integral, floating-point and boolean types")
    if kind in names.FLOATING:
        low, high = _inward(low, high, kind)
        if high is not None and low >= high:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                f"but got from={low} >= to={high}"
            )
    if high is not None:
        last = high - 1
    elif kind in names.FLOATING:
        last = 2 ** names.significand_digits(kind)
        if low >= last:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' "
                f"casted to dtype, but got from={low} > to_inc={last}"
            )
    else:
        # torch converts the limit of uint64 to a signed integer here, so that it rejects the call.
        last = -1 if kind == np.uint64 else _integer_limits(kind)[1]
    _check_bounds(low, last, kind)
    return _remainders(generator, count(sizes), last - low + 1, low, kind).reshape(sizes)


def random(generator: Generator, shape: Shape, dtype: npt.DTypeLike = np.float32) -> Array:
    """`Tensor.random_()` without bounds: from zero to the type's largest exact integer."""
    sizes, kind = as_shape(shape), names.known(dtype)
    if not _is_real(kind) or kind in names.BAREBONES_UNSIGNED:
        raise names.not_implemented("random_kernel_cpu", kind)
    if kind in names.FLOATING:
        span = 2 ** names.significand_digits(kind) + 1
    else:
        span = _integer_limits(kind)[1] + 1
    total = count(sizes)
    # Here the width of the word follows the type, not the range.
    wide = kind in (np.int64, np.float64)
    words = generator.random64(total) if wide else generator.random32(total).astype(np.uint64)
    return narrow((words % np.uint64(span)).view(np.int64), kind).reshape(sizes)
