"""Philox on a GPU, with PyTorch's counters: the same seed gives PyTorch's numbers there, too.

A GPU's generator is a seed and an offset. Word k of thread t is the hash of (offset / 4 + k / 4, t) with the
seed as the key (Salmon et al., 2011), four words per call, so every thread computes its own numbers. Which thread's
word an element gets depends on how PyTorch launches its kernels, and so on the GPU: `Launch` is that rule.

- *grid*: as many threads as elements, up to what the GPU holds at once; then each continues with
  the element one whole grid further, using the next value of the same call.
- *vector*: neighbours share a call. Dropout draws this way, in runs as long as its loads and stores.

A draw advances the offset by the words that a thread may have used; a captured graph is passed seed and
offset again at each launch.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, NamedTuple

from .._arrays.cuda import cuda_array

BLOCK = 256  # threads
WORDS = 4  # per call

HASH = r"""
typedef long long Int;
typedef unsigned long long Word;

__device__ void philox(unsigned key0, unsigned key1, Word call, Word thread, unsigned c[4]) {
  c[0] = (unsigned)call; c[1] = (unsigned)(call >> 32);
  c[2] = (unsigned)thread; c[3] = (unsigned)(thread >> 32);
  for (int round = 0; round < 10; ++round) {
    Word a = (Word)0xD2511F53u * c[0], b = (Word)0xCD9E8D57u * c[2];
    unsigned c0 = (unsigned)(b >> 32) ^ c[1] ^ key0, c2 = (unsigned)(a >> 32) ^ c[3] ^ key1;
    c[0] = c0; c[1] = (unsigned)b; c[2] = c2; c[3] = (unsigned)a;
    key0 += 0x9E3779B9u; key1 += 0xBB67AE85u;
  }
}
"""
_TYPES = r"""
typedef %(kind)s T;
#define WIDE %(wide)d
#define EACH %(each)d
"""

# Uniform in (0, 1]: one word for float, 53 bits of two for double. Normal: Box-Muller pairs. In float the
# functions are the fast ones, as in PyTorch.
_REALS = r"""
__device__ float unit(unsigned x) { return x * 2.3283064e-10f + (2.3283064e-10f / 2.0f); }
__device__ double unit(unsigned x, unsigned y) {
  Word z = (Word)x ^ ((Word)y << 21);
  return z * 1.1102230246251565e-16 + (1.1102230246251565e-16 / 2.0);
}

__device__ void uniforms(const unsigned w[4], T r[4]) {
#if WIDE
  r[0] = unit(w[0], w[1]); r[1] = unit(w[2], w[3]);
#else
  for (int i = 0; i < 4; ++i) r[i] = unit(w[i]);
#endif
}

__device__ void normals(const unsigned w[4], T r[4]) {
#if WIDE
  Word z = (Word)w[2] ^ ((Word)w[3] << 21);
  double v = z * (1.1102230246251565e-16 * 2.0) + 1.1102230246251565e-16;
  double s = sqrt(-2.0 * log(unit(w[0], w[1]))), sine, cosine;
  sincospi(v, &sine, &cosine);
  r[0] = sine * s; r[1] = cosine * s;
#else
  const float turn = 2.3283064e-10f * 6.2831855f;
  for (int i = 0; i < 4; i += 2) {
    float v = w[i + 1] * turn + (turn / 2);
    float s = sqrtf(-2.0f * logf(unit(w[i]))), sine, cosine;
    __sincosf(v, &sine, &cosine);
    r[i] = sine * s; r[i + 1] = cosine * s;
  }
#endif
}

#if WIDE
#define LOG log
#define LOG1P log1p
#define EXP exp
#define TAN tan
#define EPSILON 2.220446049250313e-16
#else
#define LOG __logf
#define LOG1P(x) __logf(1.0f + (x))
#define EXP __expf
#define TAN __tanf
#define EPSILON 1.1920928955078125e-07f
#endif
"""

# Words, whose remainders give the integers: of 32 bits, or two joined.
_WORDS = r"""
__device__ void words(const unsigned w[4], T r[4]) {
#if WIDE
  r[0] = (Word)w[0] << 32 | w[1]; r[1] = (Word)w[2] << 32 | w[3];
#else
  for (int i = 0; i < 4; ++i) r[i] = w[i];
#endif
}
"""

_KERNEL = r"""
__device__ T value(T r, T a, T b, T c) { %(value)s }

extern "C" __global__ void draw(
    T* out, Int n, Int seed, Int offset, const double* memory, Int vector, double a0, double b0, double c0) {
  if (memory) {
    offset = (Int)memory[0];
    seed = (Int)((Word)memory[2] << 32 | (Word)memory[1]);
  }
  unsigned key0 = (unsigned)seed, key1 = (unsigned)((Word)seed >> 32), w[4];
  Int threads = (Int)gridDim.x * blockDim.x, thread = (Int)blockIdx.x * blockDim.x + threadIdx.x;
  Word call = (Word)offset / 4;
  T a = (T)a0, b = (T)b0, c = (T)c0, r[4];
  if (vector > 1) {
    for (Int start = thread * vector; start < n; start += threads * vector) {
      for (Int k = 0; k < vector; k += 4) {
        philox(key0, key1, call++, thread, w);
        %(words)s(w, r);
        for (Int i = 0; i < 4 && k + i < vector; ++i)
          if (start + k + i < n) out[start + k + i] = value(r[i], a, b, c);
      }
    }
    return;
  }
  for (Int start = thread; start < n; start += threads * EACH) {
    philox(key0, key1, call++, thread, w);
    %(words)s(w, r);
    for (Int i = 0; i < EACH; ++i)
      if (start + threads * i < n) out[start + threads * i] = value(r[i], a, b, c);
  }
}
"""
_PACK = Struct("6q3d").pack_into  # the arguments of `draw`
_KINDS = {"f": "float", "d": "double", "I": "unsigned", "L": "Word"}


class Distribution(NamedTuple):
    """How words become values: `words` gives the values of a call, `value` the element for one of them."""

    words: str
    value: str


UNIFORM = Distribution("uniforms", "T v = r * b + a; return v == c ? a : v;")
NORMAL = Distribution("normals", "return r * b + a;")
LOG_NORMAL = Distribution("normals", "return EXP(r * b + a);")
COINS = Distribution("uniforms", "return r < a ? (T)1 : (T)0;")
# A word of all ones gives one, whose logarithm is zero; an exponential number never is.
EXPONENTIAL = Distribution(
    "uniforms", "T l = r >= (T)1 - EPSILON / 2 ? -EPSILON / 2 : LOG(r); return (T)-1 / a * l;"
)
CAUCHY = Distribution(
    "uniforms",
    "\n#if !WIDE\nr = r > 1 - EPSILON ? 1 - EPSILON : r; r = r < EPSILON ? EPSILON : r;\n#endif\n"
    "return a + b * TAN((T)3.14159265358979323846 * (r - (T)0.5));",
)
GEOMETRIC = Distribution("uniforms", "return ceil(LOG(r) / LOG1P(-a));")
UNIT = Distribution("uniforms", "return r;")
WORD = Distribution("words", "return r;")

_compiled: dict[Any, Any] = {}


def text(distribution: Distribution, code: str) -> str:
    """The kernel's source, by NumPy's code of the element type."""
    wide = code in "dL"
    types = _TYPES % {"kind": _KINDS[code], "wide": wide, "each": 2 if wide else WORDS}
    values = _WORDS if code in "IL" else _REALS
    kernel = _KERNEL % {"words": distribution.words, "value": distribution.value}
    return HASH + types + values + kernel


def fill(
    generator: Any,
    out: Any,
    distribution: Distribution,
    *numbers: float,
    vector: int = 1,
    blocks: int = 0,
    words: int = 0,
) -> Any:
    """Fill one of the library's arrays with numbers, in memory order.

    `vector` is the length of runs of elements that share a call; `blocks` and `words` are for kernels whose launch
    size, or word count, does not follow the rule.
    """
    if not out.size:
        return out
    backend = cuda_array.backend
    code = out.dtype.char
    kernel = _compiled.get((distribution, code))
    if kernel is None:
        kernel = backend.compile(text(distribution, code), "draw")
        _compiled[distribution, code] = kernel
    blocks = blocks or min(-(-out.size // BLOCK), backend.resident_threads() // BLOCK)
    each = 2 if code in "dL" and vector == 1 else WORDS
    words = words or WORDS * -(-out.size // (blocks * BLOCK * each))
    seed, offset = next_draw(generator, words)
    memory = 0
    if backend.capture is not None:
        room = backend.capture.constants(
            _told(seed, offset), lambda: _told(*next_draw(generator, words))
        )
        memory = backend.address(room)
    a, b, c = (*numbers, 0.0, 0.0, 0.0)[:3]
    at = backend.address(out), out.size, seed, offset, memory, vector, a, b, c
    backend.launch(kernel, blocks, BLOCK, 0, _PACK, at)
    return out


def next_draw(generator: Any, words: int) -> tuple[int, int]:
    """The seed, as a C signed number, and the offset of a draw in which no thread uses more words."""
    seed, offset = generator.next_draw(words)
    return seed - (1 << 64) if seed >> 63 else seed, offset


def _told(seed: int, offset: int) -> list[float]:
    """A draw's parameters for a captured graph: numbers that a double represents exactly."""
    return [float(offset), float(seed & 0xFFFFFFFF), float(seed >> 32 & 0xFFFFFFFF)]
