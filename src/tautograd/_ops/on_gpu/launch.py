"""Kernels in CUDA C: compiled when first needed, one for each element type, and launched.

A source is written for elements that are computed with as `T` and lie in memory as `S`: the same type, except in
half precision, whose `T` is float. An `S` is read as a number and written by assigning one. Numbers arrive
as `long long` and `double`. Every kernel of a block per row adds up with `block_sum` and finds the largest with
`block_max`, always in the same order: results are the same from run to run.
"""

from __future__ import annotations

from struct import Struct
from typing import Any

import numpy as np

from ..._arrays.cuda import cuda_array
from ..._arrays.cuda.cuda_array import CudaArray, new, wrap

_C_NAMES = {"f": "float", "d": "double", "e": "float", "E": "float"}
THREADS = 256
_FLOAT32 = np.dtype(np.float32)

# Half precision in memory; the emulation that tests run kernels by has the conversions under the same names.
_HALF = r"""
#ifndef WITHOUT_END
__device__ __forceinline__ float wide_h(unsigned short x) {
  float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x)); return r;
}
__device__ __forceinline__ unsigned short narrow_h(float x) {
  unsigned short r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r;
}
__device__ __forceinline__ unsigned bits_of(float x) { return __float_as_uint(x); }
__device__ __forceinline__ float of_bits(unsigned x) { return __uint_as_float(x); }
#endif
__device__ __forceinline__ float wide_b(unsigned short x) { return of_bits((unsigned)x << 16); }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
__device__ __forceinline__ unsigned short narrow_b(float x) {
  unsigned short r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r;
}
#else
__device__ __forceinline__ unsigned short narrow_b(float x) {
  unsigned u = bits_of(x);
  if (x != x) return (unsigned short)(u >> 16 | 0x40);
  return (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
#endif
struct S {
  unsigned short bits;
  __device__ __forceinline__ operator float() const { return WIDE(bits); }
  __device__ __forceinline__ S& operator=(float x) { bits = NARROW(x); return *this; }
};
"""
# Elements of one thread that are read and written at once.
_PACK = r"""
#define EACH (16 / (Int)sizeof(S))
struct alignas(16) Pack { S at[16 / sizeof(S)]; };
"""
# An exponential to within a few roundings of float32, which is exact enough where elements are half precision.
_QUICK = "#undef EXPONENTIAL\n#define EXPONENTIAL(x) __expf(x)\n"
_STORED = {
    "f": "typedef T S;\n#undef EXPONENTIAL\n#define EXPONENTIAL(x) exp(x)\n",
    "d": "typedef T S;\n#undef EXPONENTIAL\n#define EXPONENTIAL(x) exp(x)\n",
    "e": "#define WIDE wide_h\n#define NARROW narrow_h\n",
    "E": "#define WIDE wide_b\n#define NARROW narrow_b\n",
}

for _code in "eE":
    _STORED[_code] = "#undef WIDE\n#undef NARROW\n" + _STORED[_code] + _QUICK + _HALF

_PRELUDE = r"""
typedef %s T;
typedef long long Int;
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif

__device__ __forceinline__ T warp_sum(T v) {
  for (int k = 16; k; k >>= 1) v += __shfl_xor_sync(0xffffffffu, v, k);
  return v;
}

__device__ __forceinline__ T larger(T a, T b) { return (a != a || a > b) ? a : b; }

__device__ __forceinline__ T warp_max(T v) {
  for (int k = 16; k; k >>= 1) v = larger(v, __shfl_xor_sync(0xffffffffu, v, k));
  return v;
}

// The sum over a block, given to all of its threads. Blocks are of whole warps, at most 32.
__device__ T block_sum(T v) {
  __shared__ T parts[32];
  v = warp_sum(v);
  int warps = blockDim.x >> 5;
  if (warps == 1) return v;
  __syncthreads();
  if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = v;
  __syncthreads();
  T total = parts[0];
  for (int w = 1; w < warps; ++w) total += parts[w];
  return total;
}

__device__ T block_max(T v) {
  __shared__ T parts[32];
  v = warp_max(v);
  int warps = blockDim.x >> 5;
  if (warps == 1) return v;
  __syncthreads();
  if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = v;
  __syncthreads();
  T best = parts[0];
  for (int w = 1; w < warps; ++w) best = larger(best, parts[w]);
  return best;
}
"""


class Kernel:
    """One `__global__` function, for each element type.

    What it takes (pointers and whole numbers, or doubles; eight bytes each) is read from its text.
    """

    define = ""  # what the source goes by, besides the element type
    codes = "fdeE"

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.source = source
        self._compiled: dict[str, Any] = {}
        given = source[1 : source.index(")")].split(",")
        kinds = ["d" if "double " in p and "*" not in p else "q" for p in given]
        self._pack = Struct("".join(kinds)).pack_into

    def text(self, code: str) -> str:
        """The source for an element type, by NumPy's code of it."""
        head = self.define + _PRELUDE % _C_NAMES[code] + _STORED[code] + _PACK
        return head + f'extern "C" __global__ void {self.name}' + self.source

    def __call__(self, code: str, blocks: int, threads: int, *values: Any, shared: int = 0) -> None:
        """Start it; arrays are given by their addresses."""
        backend = cuda_array.backend
        found = self._compiled.get(code)
        if found is None:
            found = self._compiled[code] = backend.compile(self.text(code), self.name)
        backend.launch(found, blocks, threads, shared, self._pack, values)


KERNELS: list[Kernel] = []


def kernel(name: str, source: str, codes: str = "fdeE") -> Kernel:
    """Declare a kernel: `source` is its parameters and body, `codes` are the dtypes that it is for."""
    found = Kernel(name, source)
    found.codes = codes
    KERNELS.append(found)
    return found


def threads_for(width: int) -> int:
    """Threads for a row: whole warps, no more than can have something to do."""
    if width <= 512:
        return 32 if width <= 64 else 64 if width <= 128 else 128
    return 256 if width <= 4096 else 512 if width <= 16384 else 1024


def blocks_for(size: int) -> int:
    """Blocks of `THREADS` for one element each."""
    return (size + THREADS - 1) // THREADS


def pointwise(name: str, inputs: str, body: str) -> Kernel:
    """Declare a kernel of one element each, sixteen bytes of which a thread does at once.

    `inputs` are the arrays' names; `body` sets `v` from an element of each, which has the name in capitals.
    """
    given = ", ".join(f"const S* {x}" for x in inputs)
    packs = " ".join(f"Pack pack_{x} = *(const Pack*)({x} + i);" for x in inputs)
    inner = " ".join(f"T {x.upper()} = pack_{x}.at[k];" for x in inputs)
    outer = " ".join(f"T {x.upper()} = {x}[j];" for x in inputs)
    return kernel(
        name,
        f"""({given}, S* r, Int n, Int wide) {{
  Int i = ((Int)blockIdx.x * blockDim.x + threadIdx.x) * EACH;
  if (wide && i + EACH <= n) {{
    {packs} Pack found;
    for (int k = 0; k < EACH; ++k) {{ {inner} T v; {body} found.at[k] = v; }}
    *(Pack*)(r + i) = found;
  }} else for (Int j = i; j < n && j < i + EACH; ++j) {{ {outer} T v; {body} r[j] = v; }}
}}""",
    )


def run_pointwise(found: Kernel, out: Any, *inputs: Any) -> Any:
    """Run a `pointwise` kernel on arrays of one shape and dtype."""
    code, n = out.dtype.char, out.size
    addresses = [x.ptr for x in inputs]
    wide = out.ptr % 16 == 0 and not any(a % 16 for a in addresses)
    each = 16 // int(out.dtype.itemsize)
    found(code, (n + THREADS * each - 1) // (THREADS * each), THREADS, *addresses, out.ptr, n, wide)
    return out


def fit(first: Any, *others: Any) -> bool:
    """Whether all are on the GPU, dense, by rows, of one of float32 and float64, and not empty."""
    return type(first) is CudaArray and first.dtype.char in "fd" and fit_any(first, *others)


def fit_any(first: Any, *others: Any) -> bool:
    """The same of half precision too, for kernels that read their elements as `S`."""
    if type(first) is not CudaArray:
        return False
    dtype = first.dtype
    if dtype.char not in _C_NAMES or not first.dense or not first.size:
        return False
    for array in others:
        if type(array) is not CudaArray or array.dtype != dtype or not array.dense:
            return False
        if not array.size:
            return False
    return True


def sums_dtype(dtype: Any) -> Any:
    """The dtype that sums of elements are kept in."""
    return dtype if dtype.char in "fd" else _FLOAT32


# Elements from anywhere to where they lie by rows; a thread has as many of the last dimension as `Unit` holds.
GATHERED = kernel(
    "gathered",
    r"""(const char* a, char* r, Int n, Int x, Int y, Int z, Int sw, Int sx, Int sy, Int sz, Int unit) {
  Int i = (Int)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Int rest = i;
  Int at = rest % z * sz; rest /= z;
  at += rest % y * sy; rest /= y;
  at += rest % x * sx + rest / x * sw;
  struct alignas(16) Sixteen { Int at[2]; };
  if (unit == 16) *(Sixteen*)(r + i * 16) = *(const Sixteen*)(a + at);
  else if (unit == 8) *(Int*)(r + i * 8) = *(const Int*)(a + at);
  else if (unit == 4) *(int*)(r + i * 4) = *(const int*)(a + at);
  else *(short*)(r + i * 2) = *(const short*)(a + at);
}""",
    "f",
)


def dense(array: Any) -> Any:
    """A GPU's array by rows, copied if need be."""
    if type(array) is not CudaArray or array.dense:
        return array
    shape, strides, size = array.shape, array.strides, array.dtype.itemsize
    if not 2 <= len(shape) <= 4 or not array.size or size not in (2, 4, 8):
        return wrap(cuda_array.backend.cupy.ascontiguousarray(array.raw))
    out = new(shape, array.dtype)
    unit, last = size, shape[-1]
    even = not (last * size % 16 or array.ptr % 16 or any(s % 16 for s in strides[:-1]))
    if even and strides[-1] == size:
        unit, last = 16, last * size // 16
    lead = 4 - len(shape)
    sizes = (*(1,) * lead, *shape[:-1], last)
    steps = (*(0,) * lead, *strides[:-1], 16 if unit == 16 else strides[-1])
    n = array.size * size // unit
    GATHERED("f", blocks_for(n), THREADS, array.ptr, out.ptr, n, *sizes[1:], *steps, unit)
    return out


def address_of(array: Any) -> int:
    """Where an array lies, zero for none."""
    return 0 if array is None else int(array.ptr)
