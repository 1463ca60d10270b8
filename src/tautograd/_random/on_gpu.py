"""Random numbers for a GPU: PyTorch's own there, for the same seed.

A sampler of `_random` is drawn by Philox (`philox`) if PyTorch's kernel for it computes one value per
element: uniform and normal numbers, Bernoulli draws, dropout's masks, integers, permutations. Rejection samplers
(gamma, Poisson, binomial) and those whose kernel has another form are drawn in main memory,
from a generator seeded by seed and offset, and copied over.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from struct import Struct
from typing import Any

import numpy as np

from .._arrays.cuda import cuda_array
from .._arrays.cuda.cuda_array import CudaArray, wrap
from . import names, philox
from .continuous import cauchy, exponential, log_normal, normal, uniform
from .discrete import (
    NO_PROBABILITY,
    bernoulli,
    bernoulli_from,
    check_coins,
    dropout_mask,
    geometric,
    multinomial,
)
from .engine import Generator
from .integers import randint, random
from .permutation import check_size, permutations

_FLOAT32 = np.dtype(np.float32)


def _reals(
    generator: Any, shape: Any, dtype: Any, distribution: philox.Distribution, *numbers: float
) -> Any:
    """Numbers from a kernel in float or double; other element types are converted from float."""
    wanted = np.dtype(dtype)
    out = cuda_array.backend.empty(_sizes(shape), "d" if wanted.char == "d" else "f")
    philox.fill(generator, out, distribution, *map(float, numbers))
    found = wrap(out)
    return found if found.dtype == wanted else found.astype(wanted)


def _sizes(shape: Any) -> tuple[int, ...]:
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


def _uniform(generator: Any, shape: Any, low: Any = 0.0, high: Any = 1.0, dtype: Any = None) -> Any:
    kind = np.dtype(dtype or _FLOAT32)
    ends = np.array([low, high]).astype(kind)
    start, end = float(ends[0]), float(ends[1])
    found = _reals(generator, shape, kind, philox.UNIFORM, start, float(ends[1] - ends[0]), end)
    if kind.itemsize == 2:  # which may have been rounded up to the bound
        found = np.where(found == ends[1], ends[0], found)
    return found


def _normal(
    generator: Any, shape: Any, mean: Any = 0.0, std: Any = 1.0, dtype: Any = None, **options: Any
) -> Any:
    return _reals(generator, shape, dtype or _FLOAT32, philox.NORMAL, mean, std)


def _log_normal(
    generator: Any, shape: Any, mean: Any = 1.0, std: Any = 2.0, dtype: Any = None
) -> Any:
    return _reals(generator, shape, dtype or _FLOAT32, philox.LOG_NORMAL, mean, std)


def _exponential(generator: Any, shape: Any, rate: Any = 1.0, dtype: Any = None) -> Any:
    return _reals(generator, shape, dtype or _FLOAT32, philox.EXPONENTIAL, rate)


def _cauchy(
    generator: Any, shape: Any, median: Any = 0.0, sigma: Any = 1.0, dtype: Any = None
) -> Any:
    return _reals(generator, shape, dtype or _FLOAT32, philox.CAUCHY, median, sigma)


def _geometric(generator: Any, shape: Any, p: Any, dtype: Any = None) -> Any:
    return _reals(generator, shape, dtype or _FLOAT32, philox.GEOMETRIC, p)


def _bernoulli(generator: Any, shape: Any, p: Any = 0.5, dtype: Any = None) -> Any:
    return _reals(generator, shape, dtype or _FLOAT32, philox.COINS, p)


def _dropout_mask(
    generator: Any, shape: Any, keep: float, dtype: Any = None, alignment: int = 16
) -> Any:
    """Bernoulli draws as in PyTorch's dropout: in float, and in runs as long as its loads and stores."""
    kind = np.dtype(dtype or _FLOAT32)
    n, run = math.prod(_sizes(shape)), 16 // max(kind.itemsize, 2)
    while run > 1 and (alignment < run * kind.itemsize or n % run):
        run //= 2
    limit = np.float32(keep)
    if kind.char == "d" and float(limit) < keep:  # a float is compared with the double itself
        limit = np.nextafter(limit, np.float32(1))
    out = cuda_array.backend.empty(_sizes(shape), "f")
    found = wrap(philox.fill(generator, out, philox.COINS, float(limit), vector=run))
    return found if found.dtype == kind else found.astype(kind)


class _Words:
    """A GPU's generator as a source of words for samplers that are arithmetic on words."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def random32(self, count: int) -> Any:
        return self._drawn(count, "I")

    def random64(self, count: int) -> Any:
        return self._drawn(count, "L")

    def _drawn(self, count: int, code: str) -> Any:
        out = cuda_array.backend.empty((count,), code)
        return wrap(philox.fill(self._generator, out, philox.WORD))


def _of_words(sampler: Any) -> Any:
    return lambda generator, *values, **options: sampler(_Words(generator), *values, **options)


def _bernoulli_from(generator: Any, p: Any, dtype: Any = None, shape: Any = None) -> Any:
    """Bernoulli draws with individual probabilities: four neighbours share a call, in one launch over all of them."""
    kind = check_coins(p, dtype)
    sizes = p.shape if shape is None else _sizes(shape)
    n = math.prod(sizes)
    blocks = -(-n // (philox.WORDS * philox.BLOCK))
    out = cuda_array.backend.empty(sizes, "f")
    philox.fill(generator, out, philox.UNIT, vector=philox.WORDS, blocks=blocks, words=10)
    limit = p.astype(np.float64 if kind.char == "d" else np.float32)
    if n and not bool(((limit >= 0) & (limit <= 1)).all()):
        raise RuntimeError(NO_PROBABILITY)
    return (wrap(out) <= limit).astype(kind)


def _multinomial(generator: Any, probs: Any, num_samples: int, replacement: bool = False) -> Any:
    if replacement and num_samples > 1:
        return None
    return multinomial(generator, probs, num_samples, replacement, exponentials=_exponential)


# Where keys of a permutation are equal, the first of them shuffles their shared positions.
_TIES = r"""
extern "C" __global__ void ties(const Word* keys, Int* order, Int n, Int seed, Int offset) {
  Int first = (Int)blockIdx.x * blockDim.x + threadIdx.x, size = 1;
  if (first >= n - 1 || keys[first] != keys[first + 1]) return;
  if (first && keys[first] == keys[first - 1]) return;
  while (first + size < n && keys[first + size] == keys[first]) ++size;
  unsigned w[4], used = 4;
  Word call = (Word)offset / 4;
  for (Int i = size - 1; i > 0; --i) {
    if (used == 4) {
      philox((unsigned)seed, (unsigned)((Word)seed >> 32), call++, first, w);
      used = 0;
    }
    Int r = w[used++] % (unsigned)(i + 1), kept = order[first + i];
    order[first + i] = order[first + r];
    order[first + r] = kept;
  }
}
"""
_PACK = Struct("5q").pack_into
_compiled: list[Any] = []


def _permutation(generator: Any, n: int, dtype: Any) -> Any:
    """The indices that sort random keys; equal keys are shuffled once more."""
    kind = names.known(dtype)
    check_size(n, kind)
    backend = cuda_array.backend
    if n == 0:
        return wrap(backend.empty((0,), kind))
    # Enough bits that all keys differ with a probability of nine in ten.
    bits = min(64, math.ceil(math.log2(n - (6 * n * n + 1) / (12 * math.log(0.9)))))
    # PyTorch draws signed numbers below the largest one; their lowest bits are those of the remainder.
    most = 2**32 - 1 if bits <= 32 else 2**64 - 1
    keys = _Words(generator).random64(n) % np.uint64(most) & np.uint64(2**bits - 1)
    order: Any = np.argsort(keys, kind="stable").astype(np.int64)
    if not _compiled:
        _compiled.append(backend.compile(philox.HASH + _TIES, "ties"))
    seed, offset = philox.next_draw(generator, n)
    sorted_keys = keys[order]
    at = sorted_keys.address, order.address, n, seed, offset
    backend.launch(_compiled[0], -(-n // philox.BLOCK), philox.BLOCK, 0, _PACK, at)
    return order.astype(kind)


def _permutations(generator: Any, shape: Any, dtype: Any) -> Any:
    *batch, n = shape
    rows = [_permutation(generator, n, dtype) for _ in range(math.prod(batch))]
    return np.reshape(np.stack(rows), shape) if batch else rows[0]


KERNELS: dict[Any, Callable[..., Any]] = {
    bernoulli: _bernoulli,
    bernoulli_from: _bernoulli_from,
    cauchy: _cauchy,
    dropout_mask: _dropout_mask,
    exponential: _exponential,
    geometric: _geometric,
    log_normal: _log_normal,
    multinomial: _multinomial,
    normal: _normal,
    permutations: _permutations,
    randint: _of_words(randint),
    random: _of_words(random),
    uniform: _uniform,
}
# Samplers that a graph can redraw at each launch: a kernel that gets seed and offset, and conversions.
_CAPTURED = {bernoulli, cauchy, dropout_mask, exponential, log_normal, normal, uniform}


def sampler_on_gpu(sampler: Callable[..., Any]) -> Callable[..., Any]:
    """A sampler of `_random` whose result is on its generator's GPU."""
    function = getattr(sampler, "sampler", sampler)
    given: dict[str, Any] = getattr(sampler, "options", {})

    def drawn(generator: Any, *values: Any, **options: Any) -> Any:
        backend = cuda_array.backend
        kernel = KERNELS.get(function) if backend.has_kernels else None
        if kernel is not None:
            found = kernel(generator, *values, **given, **options)
            if found is not None:
                return found
        seed, offset = generator.next_draw(philox.WORDS)
        here = Generator()
        here.manual_seed((seed + offset * 0x9E3779B97F4A7C15) % 2**64)
        on_host = [v.host() if isinstance(v, CudaArray) else v for v in values]
        return wrap(backend.to_device(np.asarray(sampler(here, *on_host, **options))))

    drawn.__name__ = sampler.__name__
    drawn.captures = lambda dtype: function in _CAPTURED and dtype.kind in "fV"  # type: ignore[attr-defined]
    return drawn
