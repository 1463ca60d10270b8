"""Random numbers for a GPU, from a stream of its own: Philox, counted from a seed.

A GPU's generator is a seed and a count of draws. Element i of draw n is the hash of (i, n) with the
seed for a key (Salmon et al., 2011), so every thread finds its own numbers, and a captured graph, which
is told both anew each time, draws new ones. Uniform and normal numbers and coin flips are made by
a kernel; the other distributions are drawn in main memory, from a generator seeded by the same pair,
and brought over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays.cuda import cuda_array
from .._arrays.cuda.cuda_array import CudaArray, wrap
from .continuous import normal, uniform
from .discrete import bernoulli
from .engine import Generator

_C_NAMES = {"f": "float", "d": "double"}
_UNIFORM, _NORMAL, _COINS = range(3)

_SOURCE = r"""
typedef %s T;
typedef long long Int;

__device__ void philox(unsigned key0, unsigned key1, unsigned c[4]) {
  for (int round = 0; round < 10; ++round) {
    unsigned long long a = (unsigned long long)0xD2511F53u * c[0];
    unsigned long long b = (unsigned long long)0xCD9E8D57u * c[2];
    unsigned c0 = (unsigned)(b >> 32) ^ c[1] ^ key0, c2 = (unsigned)(a >> 32) ^ c[3] ^ key1;
    c[0] = c0; c[1] = (unsigned)b; c[2] = c2; c[3] = (unsigned)a;
    key0 += 0x9E3779B9u; key1 += 0xBB67AE85u;
  }
}

// Two words as a number in [0, 1): 24 bits for float, 53 for double.
__device__ T unit(unsigned high, unsigned low) {
  if (sizeof(T) == 4) return (T)(high >> 8) * (T)5.9604644775390625e-8;
  unsigned long long bits = ((unsigned long long)high << 32 | low) >> 11;
  return (T)bits * (T)1.1102230246251565e-16;
}

extern "C" __global__ void draw(
    T* out, Int n, Int seed, Int count, const double* memory, Int kind, double a, double b) {
  Int pair = (Int)blockIdx.x * blockDim.x + threadIdx.x;
  Int i = 2 * pair;
  if (i >= n) return;
  if (memory) {
    count = (Int)memory[0];
    seed = (Int)((unsigned long long)memory[2] << 32 | (unsigned long long)memory[1]);
  }
  unsigned c[4] = {(unsigned)pair, (unsigned)(pair >> 32), (unsigned)count, (unsigned)(count >> 32)};
  philox((unsigned)seed, (unsigned)((unsigned long long)seed >> 32), c);
  T u = unit(c[0], c[1]), v = unit(c[2], c[3]), first, second;
  if (kind == 1) {
    T radius = sqrt((T)-2 * log((T)1 - u)), angle = (T)6.283185307179586 * v;
    first = (T)a + (T)b * radius * cos(angle);
    second = (T)a + (T)b * radius * sin(angle);
  } else if (kind == 2) {
    first = u < (T)a ? (T)1 : (T)0;
    second = v < (T)a ? (T)1 : (T)0;
  } else {
    first = (T)a + ((T)b - (T)a) * u;
    second = (T)a + ((T)b - (T)a) * v;
  }
  out[i] = first;
  if (i + 1 < n) out[i + 1] = second;
}
"""
_compiled: dict[str, Any] = {}


def _drawn(generator: Any, shape: Any, dtype: Any, kind: int, a: float, b: float) -> Any:
    """Numbers from the kernel; half precision is rounded from float32."""
    backend = cuda_array.backend
    wanted = np.dtype(dtype)
    code = "d" if wanted.char == "d" else "f"
    if wanted.char not in "fd" and wanted.itemsize != 2:
        return None
    kernel = _compiled.get(code)
    if kernel is None:
        kernel = _compiled[code] = backend.compile(_SOURCE % _C_NAMES[code], "draw")
    out = backend.empty(shape if isinstance(shape, (tuple, list)) else (shape,), code)
    seed, count = generator.next_draw()
    memory: Any = 0
    if backend.capture is not None:
        memory = backend.capture.constants(
            _told(seed, count), lambda: _told(*generator.next_draw())
        )
    if out.size:
        blocks = ((out.size + 1) // 2 + 255) // 256
        signed = seed - (1 << 64) if seed >> 63 else seed
        arguments = (out, out.size, signed, count, memory, kind, float(a), float(b))
        kernel((blocks,), (256,), arguments)
    return wrap(out if out.dtype == wanted else out.astype(wanted))


def _told(seed: int, count: int) -> list[float]:
    """What a captured graph is told of a draw: numbers that a double holds exactly."""
    return [float(count), float(seed & 0xFFFFFFFF), float(seed >> 32)]


def _uniform(generator: Any, shape: Any, low: Any = 0.0, high: Any = 1.0, dtype: Any = None) -> Any:
    return _drawn(generator, shape, dtype or np.float32, _UNIFORM, low, high)


def _normal(
    generator: Any, shape: Any, mean: Any = 0.0, std: Any = 1.0, dtype: Any = None, **options: Any
) -> Any:
    return _drawn(generator, shape, dtype or np.float32, _NORMAL, mean, std)


def _bernoulli(generator: Any, shape: Any, p: Any = 0.5, dtype: Any = None) -> Any:
    return _drawn(generator, shape, dtype or np.float32, _COINS, p, 0.0)


KERNELS: dict[Any, Callable[..., Any]] = {
    uniform: _uniform,
    normal: _normal,
    bernoulli: _bernoulli,
}


def sampler_on_gpu(sampler: Callable[..., Any]) -> Callable[..., Any]:
    """A sampler of `_random` whose result lies on the GPU of its generator."""

    def drawn(generator: Any, *values: Any, **options: Any) -> Any:
        backend = cuda_array.backend
        kernel = KERNELS.get(sampler) if backend.has_kernels else None
        if kernel is not None:
            found = kernel(generator, *values, **options)
            if found is not None:
                return found
        seed, count = generator.next_draw()
        here = Generator()
        here.manual_seed((seed + count * 0x9E3779B97F4A7C15) % 2**64)
        given = [v.host() if isinstance(v, CudaArray) else v for v in values]
        return wrap(backend.to_device(np.asarray(sampler(here, *given, **options))))

    # Whether numbers of a dtype are drawn by a kernel, which a graph can draw anew at each launch.
    drawn.captures = lambda dtype: sampler in KERNELS and dtype.kind in "fV"  # type: ignore[attr-defined]
    return drawn
