"""What every module of kernels begins with: half precision, the functions that C lacks, and reductions.

A reduction is over `T` threads side by side (`along`), or over the rows of a block that is 32 threads wide
(`across`), always in the same order: results are the same from run to run.
"""

from __future__ import annotations

PRELUDE = r"""
#define INLINE __device__ __forceinline__
#ifndef WITHOUT_END
#define WITHOUT_END __int_as_float(0x7f800000)
#define NOT_A_NUMBER __int_as_float(0x7fc00000)
INLINE float wide_h(unsigned short x) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x)); return r; }
INLINE unsigned short narrow_h(float x) {
  unsigned short r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r;
}
INLINE unsigned short narrow_d(double x) {
  unsigned short r; asm("cvt.rn.f16.f64 %0, %1;" : "=h"(r) : "d"(x)); return r;
}
INLINE unsigned bits_of(float x) { return __float_as_uint(x); }
INLINE float of_bits(unsigned x) { return __uint_as_float(x); }
#endif
INLINE float wide_b(unsigned short x) { return of_bits((unsigned)x << 16); }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
INLINE unsigned short narrow_b(float x) {
  unsigned short r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r;
}
#else
INLINE unsigned short narrow_b(float x) {
  unsigned u = bits_of(x);
  if (x != x) return (unsigned short)(u >> 16 | 0x40);
  return (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
#endif
// Neighbours in memory that are read and written at once.
template <class V, int N> struct alignas(sizeof(V) * N < 16 ? sizeof(V) * N : 16) Pack { V at[N]; };

template <class V> INLINE V modulo(V a, V b) {
  V rest = fmod(a, b);
  if (b == (V)0) return rest;
  if (rest == (V)0) return copysign((V)0, b);
  return (b < (V)0) != (rest < (V)0) ? rest + b : rest;
}
template <class V> INLINE V floored(V a, V b) {
  if (b == (V)0) return a / b;
  V rest = fmod(a, b), whole = (a - rest) / b;
  if (rest != (V)0 && (b < (V)0) != (rest < (V)0)) whole -= (V)1;
  if (whole == (V)0) return copysign((V)0, a / b);
  V down = floor(whole);
  return whole - down > (V)0.5 ? down + (V)1 : down;
}
template <class V> INLINE V c_rest(V a, V b) {
  return b == (V)0 || (b < (V)0 && (V)(b + (V)1) == (V)0) ? (V)0 : (V)(a % b);
}
template <class V> INLINE V whole_rest(V a, V b) {
  V rest = c_rest(a, b);
  return rest != (V)0 && (rest < (V)0) != (b < (V)0) ? (V)(rest + b) : rest;
}
template <class V> INLINE V whole_quotient(V a, V b) {
  if (b == (V)0) return (V)0;
  if (b < (V)0 && (V)(b + (V)1) == (V)0) return (V)((V)0 - a);
  V q = (V)(a / b), rest = (V)(a % b);
  return rest != (V)0 && (rest < (V)0) != (b < (V)0) ? (V)(q - (V)1) : q;
}
template <class V> INLINE V whole_power(V a, V b) {
  V result = (V)1;
  for (; b > (V)0; b = (V)(b >> 1)) {
    if (b & (V)1) result = (V)(result * a);
    a = (V)(a * a);
  }
  return result;
}
template <class V> INLINE bool is_shift(V n) { return n >= (V)0 && (unsigned long long)n < 8 * sizeof(V); }
template <class V> INLINE V shifted_left(V a, V n) { return is_shift(n) ? (V)(a << n) : (V)0; }
template <class V> INLINE V shifted_right(V a, V n) {
  return (V)(is_shift(n) ? a >> n : a < (V)0 ? (V)-1 : (V)0);
}
template <class V> INLINE V added_exponents(V a, V b) {
  if (a == b) return a + (V)0.693147180559945309417;
  V d = a - b;
  if (d > (V)0) return a + log1p(exp(-d));
  return d <= (V)0 ? b + log1p(exp(d)) : d;
}

struct Add { template <class V> static INLINE V of(V a, V b) { return a + b; } };
struct Multiply { template <class V> static INLINE V of(V a, V b) { return a * b; } };
struct Maximum { template <class V> static INLINE V of(V a, V b) { return (a != a || a > b) ? a : b; } };
struct Minimum { template <class V> static INLINE V of(V a, V b) { return (a != a || a < b) ? a : b; } };
struct All { template <class V> static INLINE V of(V a, V b) { return a && b; } };
struct Any { template <class V> static INLINE V of(V a, V b) { return a || b; } };

template <class F, int T, class V> INLINE V along(V v) {
  for (int k = (T < 32 ? T : 32) / 2; k; k >>= 1) v = F::of(v, __shfl_xor_sync(0xffffffffu, v, k));
  if (T <= 32) return v;
  __shared__ V parts[32];
  __syncthreads();
  if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = v;
  __syncthreads();
  v = parts[0];
  for (int w = 1; w < T / 32; ++w) v = F::of(v, parts[w]);
  return v;
}
template <class F, int T, class V> INLINE V across(V v) {
  if (T == 1) return v;
  __shared__ V parts[T][33];
  int t = threadIdx.x >> 5, lane = threadIdx.x & 31;
  __syncthreads();
  parts[t][lane] = v;
  __syncthreads();
  for (int k = T / 2; k; k >>= 1) {
    if (t < k) parts[t][lane] = F::of(parts[t][lane], parts[t + k][lane]);
    __syncthreads();
  }
  return parts[0][lane];
}
"""
