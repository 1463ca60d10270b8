"""Normal numbers: two ways to turn uniform numbers into pairs by the Box-Muller formula.

PyTorch has two. A contiguous target of at least 16 elements is filled in blocks of 16: eight radii
from the first half of the block, eight angles from the second. Anything else goes one value at a
time in double precision; each pair yields a value now and one that the generator keeps for the
next call, whatever that call fills.

The block path in single precision uses polynomials for log, sine and cosine (the Cephes ones, in
eight vector lanes with fused multiply-adds). `_log` and `_sin_cos` evaluate the same polynomials;
every step is computed in double and rounded to single, which is the fused operation, except about
once in 2**29 steps, where the double rounding shows as one unit in the last place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._arrays.kernels import BLOCK as KERNEL_BLOCK
from .._arrays.kernels import kernel_for_work
from . import arithmetic
from .arithmetic import Doubles
from .engine import Generator, floats_of, unit_doubles

if TYPE_CHECKING:
    import numpy.typing as npt

Floats: TypeAlias = "npt.NDArray[np.float32]"

BLOCK = 16
_HALF = BLOCK // 2
# Pairs treated at a time: the working arrays of a chunk stay in the processor's cache.
_CHUNK_BLOCKS = 1024
_FLOAT32 = np.dtype(np.float32)


def _singles(*constants: float) -> tuple[float, ...]:
    return tuple(float(np.float32(constant)) for constant in constants)


LOG_TERMS = _singles(
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
LN2_LOW, LN2_HIGH, SQRT_HALF = _singles(-2.12194440e-4, 0.693359375, 0.707106781186547524)
SIN_TERMS = _singles(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COS_TERMS = _singles(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
QUARTER_PI_PARTS = _singles(0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)
(FOUR_OVER_PI,) = _singles(1.27323954473516)
TWO_PI = np.float32(2.0 * math.pi)


def _round(values: Doubles, scratch: Floats) -> Doubles:
    """Round to single precision, in place."""
    np.copyto(scratch, values, casting="same_kind")
    np.copyto(values, scratch)
    return values


def _horner(values: Doubles, terms: tuple[float, ...], scratch: Floats) -> Doubles:
    """The polynomial with `terms`, highest power first, one fused step per power."""
    result = values * terms[0]
    result += terms[1]
    _round(result, scratch)
    for term in terms[2:]:
        result *= values
        result += term
        _round(result, scratch)
    return result


def _log(values: Floats) -> Doubles:
    """The single-precision logarithm of values in (0, 1], held in doubles."""
    scratch = np.empty_like(values)
    mantissa, exponent = np.frexp(values)
    below = mantissa < SQRT_HALF
    power = (exponent - below).astype(np.float64)
    x = mantissa.astype(np.float64)
    x += np.where(below, x, 0.0)
    x -= 1.0
    square = _round(x * x, scratch)
    result = _horner(x, LOG_TERMS, scratch)
    result *= x
    _round(result, scratch)
    result *= square
    result += _round(power * LN2_LOW, scratch)
    _round(result, scratch)
    square *= 0.5
    result -= square
    _round(result, scratch)
    result += x
    _round(result, scratch)
    power *= LN2_HIGH
    result += power
    return _round(result, scratch)


def _sin_cos(angles: Floats) -> tuple[Doubles, Doubles]:
    """Single-precision sine and cosine of angles in [0, 2 pi], held in doubles."""
    scratch = np.empty_like(angles)
    x = angles.astype(np.float64)
    octant = (_round(x * FOUR_OVER_PI, scratch).astype(np.int32) + 1) & ~1
    nearest = octant.astype(np.float64)
    for part in QUARTER_PI_PARTS:
        x -= nearest * part
        _round(x, scratch)
    square = _round(x * x, scratch)

    cosine = _horner(square, COS_TERMS, scratch)
    cosine *= square
    _round(cosine, scratch)
    cosine *= square
    cosine -= 0.5 * square
    _round(cosine, scratch)
    cosine += 1.0
    _round(cosine, scratch)

    sine = _horner(square, SIN_TERMS, scratch)
    sine *= square
    _round(sine, scratch)
    sine *= x
    sine += x
    _round(sine, scratch)

    upright = (octant & 2) == 0
    sine, cosine = np.where(upright, sine, cosine), np.where(upright, cosine, sine)
    np.negative(sine, out=sine, where=(octant & 4) != 0)
    np.negative(cosine, out=cosine, where=((octant - 2) & 4) == 0)
    return sine, cosine


def _float_blocks(words: npt.NDArray[np.uint32], mean: float, std: float) -> Floats:
    """Whole blocks of single-precision normals from as many random words."""
    run = kernel_for_work("random_normals", _FLOAT32, len(words))
    if run is not None:
        made = np.empty(len(words), np.float32)
        run(
            -(-len(words) // KERNEL_BLOCK),
            len(words) << 3,
            words,
            made,
            len(words) // BLOCK,
            mean,
            std,
        )
        return made
    result = np.empty(len(words), np.float32).reshape(-1, 2, _HALF)
    blocks = floats_of(words).reshape(-1, 2, _HALF)
    scale, shift = float(np.float32(std)), float(np.float32(mean))
    scratch = np.empty((min(len(blocks), _CHUNK_BLOCKS), _HALF), np.float32)
    for start in range(0, len(blocks), _CHUNK_BLOCKS):
        chunk = blocks[start : start + _CHUNK_BLOCKS]
        # 1 - u is never zero, so the logarithm is finite.
        log = _log(np.float32(1.0) - chunk[:, 0])
        log *= -2.0
        radius = np.sqrt(log.astype(np.float32)).astype(np.float64)
        sine, cosine = _sin_cos(TWO_PI * chunk[:, 1])
        for half, direction in enumerate((cosine, sine)):
            direction *= radius
            _round(direction, scratch[: len(chunk)])
            direction *= scale
            direction += shift
            result[start : start + len(chunk), half] = direction
    return result.reshape(-1)


def _double_blocks(uniform: Doubles, mean: float, std: float) -> Doubles:
    """Whole blocks of double-precision normals from as many uniforms."""
    blocks = uniform.reshape(-1, 2, _HALF)
    radius = np.sqrt(-2.0 * arithmetic.log(1.0 - blocks[:, 0].ravel()))
    sine, cosine = arithmetic.sin_cos(2.0 * math.pi * blocks[:, 1].ravel())
    halves = [(radius * side).reshape(-1, 1, _HALF) for side in (cosine, sine)]
    return arithmetic.fma64(np.concatenate(halves, axis=1).ravel(), std, mean)


def block_normals(
    generator: Generator, count: int, mean: float, std: float, dtype: np.dtype
) -> npt.NDArray[Any]:
    """At least 16 normals by blocks.

    When `count` is no multiple of 16 the last 16 values are drawn anew. In single and double
    precision the uniforms of the whole array are drawn first, the incomplete block's among them,
    and thrown away; the 16-bit types draw block by block and waste none.
    """
    double = dtype == np.float64
    wide = dtype in (np.float64, np.float32)
    remainder = count % BLOCK
    whole = count - remainder
    extra = BLOCK + (remainder if wide else 0) if remainder else 0
    if double:
        doubles = unit_doubles(generator, whole + extra)
        used = np.concatenate([doubles[:whole], doubles[-BLOCK:]]) if remainder else doubles
        values: npt.NDArray[Any] = _double_blocks(used, mean, std)
    else:
        words = generator.random32(whole + extra)
        used32 = np.concatenate([words[:whole], words[-BLOCK:]]) if remainder else words
        values = _float_blocks(used32, mean, std)
    if remainder:
        # The new last block overlaps the one before it.
        values = np.concatenate([values[: count - BLOCK], values[-BLOCK:]])
    return arithmetic.narrow(values, dtype)


def serial_normals(generator: Generator, count: int, mean: float, std: float) -> Doubles:
    """`count` doubles by the one-at-a-time path, all at once.

    The value kept from an earlier call comes first, then pairs (cosine, sine); the sine of an
    unfinished last pair is kept for the next call. It is kept unscaled: mean and std are applied
    when a value is handed out.
    """
    if count == 0:
        return np.empty(0)
    standard = np.empty(count)
    first = 0
    if generator.next_double_normal is not None:
        standard[0] = generator.next_double_normal
        generator.next_double_normal = None
        first = 1
    pairs = (count - first + 1) // 2
    if pairs:
        uniform = unit_doubles(generator, 2 * pairs)
        sine, cosine = arithmetic.sin_cos(2.0 * math.pi * uniform[0::2])
        radius = np.sqrt(-2.0 * arithmetic.c_library(math.log1p, -uniform[1::2]))
        standard[first::2] = radius * cosine
        kept = radius * sine
        odd = (count - first) % 2
        standard[first + 1 :: 2] = kept[: pairs - odd]
        if odd:
            generator.next_double_normal = float(kept[-1])
    return arithmetic.fma64(standard, std, mean)
