"""Special functions, for type checkers.

Written by tools/make_stubs.py from what the package offers: not to be edited.
"""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import type as _type
from collections.abc import Callable, Iterator, Sequence
from types import EllipsisType
from typing import Any, Literal, overload

import numpy as np

from . import return_types
from ._arrays.devices import device as _device
from ._arrays.dtypes import dtype as _dtype
from ._arrays.formats import layout as _layout
from ._arrays.formats import memory_format as _memory_format
from ._autograd.hooks import RemovableHandle
from ._tensor.random_state import Generator
from ._tensor.storages import TypedStorage, UntypedStorage
from ._tensor.tensor import Size, Tensor
from ._types import DeviceLike, Dims, Ints, Number, TensorOrNumber, Tensors

def airy_ai(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The Airy function Ai."""

def bessel_j0(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The Bessel function of the first kind, of order 0."""

def bessel_j1(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The Bessel function of the first kind, of order 1."""

def bessel_y0(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The Bessel function of the second kind, of order 0."""

def bessel_y1(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The Bessel function of the second kind, of order 1."""

def chebyshev_polynomial_t(input: TensorOrNumber, n: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The polynomial of degree `n` at `input`: Chebyshev, first kind."""

def chebyshev_polynomial_u(input: TensorOrNumber, n: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The polynomial of degree `n` at `input`: Chebyshev, second kind."""

def chebyshev_polynomial_v(input: TensorOrNumber, n: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The polynomial of degree `n` at `input`: Chebyshev, third kind."""

def chebyshev_polynomial_w(input: TensorOrNumber, n: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The polynomial of degree `n` at `input`: Chebyshev, fourth kind."""

def digamma(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The derivative of `lgamma`."""

def entr(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`-x * log(x)`."""

def erf(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The error function."""

def erfc(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """One minus the error function."""

def erfcx(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`exp(x²) * erfc(x)`."""

def erfinv(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The inverse of `erf`."""

def exp2(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """2 to the power of each element."""

def expit(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`1 / (1 + exp(-x))`."""

def expm1(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`exp(x) - 1`, exact near 0."""

def gammainc(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The lower incomplete gamma function of order `input`, divided by its limit."""

def gammaincc(input: Tensor, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """One minus `igamma`."""

def gammaln(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""

def hermite_polynomial_h(input: TensorOrNumber, n: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The polynomial of degree `n` at `input`: Hermite, the physicists'."""

def hermite_polynomial_he(input: TensorOrNumber, n: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The polynomial of degree `n` at `input`: Hermite, the probabilists'."""

def i0(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""

def i0e(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`i0` scaled by `exp(-|x|)`."""

def i1(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The modified Bessel function of the first kind, of order 1."""

def i1e(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`i1` scaled by `exp(-|x|)`."""

def laguerre_polynomial_l(input: TensorOrNumber, n: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The polynomial of degree `n` at `input`: Laguerre."""

def legendre_polynomial_p(input: TensorOrNumber, n: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The polynomial of degree `n` at `input`: Legendre."""

def log1p(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`log(1 + x)`, exact near 0."""

def log_ndtr(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The logarithm of `ndtr`."""

def log_softmax(input: Tensor, dim: _int, dtype: _dtype | None=None, *, out: Tensor | None=None) -> Tensor:
    """The logarithm of `softmax`, without its rounding."""

def logit(input: Tensor, eps: _float | None=None, *, out: Tensor | None=None) -> Tensor:
    """`log(x / (1 - x))`, with x kept between eps and 1 - eps if eps is given."""

def logsumexp(input: Tensor, dim: Dims, keepdim: _bool=False, *, out: Tensor | None=None) -> Tensor:
    """`log(sum(exp(input)))` over `dim`, without overflow."""

def modified_bessel_i0(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""

def modified_bessel_i1(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The modified Bessel function of the first kind, of order 1."""

def modified_bessel_k0(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The modified Bessel function of the second kind, of order 0."""

def modified_bessel_k1(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The modified Bessel function of the second kind, of order 1."""

def multigammaln(input: Tensor, p: _int, *, out: Tensor | None=None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""

def ndtr(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The area under the normal density up to x."""

def ndtri(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The inverse of `ndtr`."""

def polygamma(n: _int, input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The n-th derivative of `digamma`."""

def psi(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The derivative of `lgamma`."""

def round(input: Tensor, *, decimals: _int=0, out: Tensor | None=None) -> Tensor:
    """Each element to the nearest integer (or decimal), halves to the even one."""

def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`modified_bessel_k0` scaled by `exp(x)`."""

def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`modified_bessel_k1` scaled by `exp(x)`."""

def shifted_chebyshev_polynomial_t(input: TensorOrNumber, n: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The polynomial of degree `n` at `input`: T(2x - 1)."""

def shifted_chebyshev_polynomial_u(input: TensorOrNumber, n: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The polynomial of degree `n` at `input`: U(2x - 1)."""

def shifted_chebyshev_polynomial_v(input: TensorOrNumber, n: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The polynomial of degree `n` at `input`: V(2x - 1)."""

def shifted_chebyshev_polynomial_w(input: TensorOrNumber, n: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The polynomial of degree `n` at `input`: W(2x - 1)."""

def sinc(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """`sin(πx) / (πx)`, which is 1 at 0."""

def softmax(input: Tensor, dim: _int, dtype: _dtype | None=None, *, out: Tensor | None=None) -> Tensor:
    """`exp(x) / sum(exp(x))` along a dimension."""

def spherical_bessel_j0(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """The spherical Bessel function of the first kind, of order 0."""

def xlog1py(input: TensorOrNumber, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`input * log(1 + other)`, which is 0 where input is 0."""

def xlogy(input: TensorOrNumber, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """`input * log(other)`, which is 0 where input is 0."""

def zeta(input: TensorOrNumber, other: TensorOrNumber, *, out: Tensor | None=None) -> Tensor:
    """The Hurwitz zeta function: the sum of `(other + k) ** -input` over k = 0, 1, …"""
