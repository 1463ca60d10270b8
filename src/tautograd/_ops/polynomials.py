"""Orthogonal polynomials of `torch.special`: of degree n at x, without gradients (as in PyTorch)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays.result_layout import as_iterated
from .._autograd.apply import apply
from .._tensor.tensor import Tensor
from .elementwise import check_broadcast, refuse, require_operand, require_tensor
from .promotion import compute_dtype, number_as
from .public import SPECIAL, public
from .record import Op
from .refusals import no_kernel
from .samples import Sample, T
from .special_functions import scipy_function


def _degree(n: Any) -> Any:
    return np.astype(n, np.int64)


def _plain(name: str) -> Any:
    function = scipy_function(name)

    def polynomial(x: Any, n: Any) -> Any:
        degree = _degree(n)
        value = function(np.maximum(degree, 0), x)
        return np.astype(np.where(degree < 0, 0, value), x.dtype)

    return polynomial


def _third_and_fourth(name: str, sign: int) -> Any:
    """V = U_n - U_(n-1) and W = U_n + U_(n-1), where U_(-1) is 0."""
    function = scipy_function(name)

    def polynomial(x: Any, n: Any) -> Any:
        degree = _degree(n)
        last = np.where(degree < 1, 0, function(np.maximum(degree - 1, 0), x))
        value = function(np.maximum(degree, 0), x) + sign * last
        return np.astype(np.where(degree < 0, 0, value), x.dtype)

    return polynomial


def _samples() -> list[Sample]:
    def degrees(*shape: int) -> T:
        return T(*shape, dtype="int64", low=0, high=6, grad=False)

    return [
        Sample(T(2, 3, low=-0.9, high=0.9, grad=False), degrees(2, 3)),
        Sample(T(2, 1, low=-0.9, high=0.9, grad=False), degrees(3)),
        Sample(T(low=-0.9, high=0.9, grad=False), degrees(4)),
        Sample(T(0, 2, grad=False), degrees(2)),
        Sample(T(2, 3, low=-0.9, high=0.9, grad=False), 3),
    ]


# name, forward, what it is
_POLYNOMIALS = (
    ("chebyshev_polynomial_t", _plain("eval_chebyt"), "Chebyshev, first kind"),
    ("chebyshev_polynomial_u", _plain("eval_chebyu"), "Chebyshev, second kind"),
    ("chebyshev_polynomial_v", _third_and_fourth("eval_chebyu", -1), "Chebyshev, third kind"),
    ("chebyshev_polynomial_w", _third_and_fourth("eval_chebyu", 1), "Chebyshev, fourth kind"),
    ("shifted_chebyshev_polynomial_t", _plain("eval_sh_chebyt"), "T(2x - 1)"),
    ("shifted_chebyshev_polynomial_u", _plain("eval_sh_chebyu"), "U(2x - 1)"),
    ("shifted_chebyshev_polynomial_v", _third_and_fourth("eval_sh_chebyu", -1), "V(2x - 1)"),
    ("shifted_chebyshev_polynomial_w", _third_and_fourth("eval_sh_chebyu", 1), "W(2x - 1)"),
    ("hermite_polynomial_h", _plain("eval_hermite"), "Hermite, the physicists'"),
    ("hermite_polynomial_he", _plain("eval_hermitenorm"), "Hermite, the probabilists'"),
    ("laguerre_polynomial_l", _plain("eval_laguerre"), "Laguerre"),
    ("legendre_polynomial_p", _plain("eval_legendre"), "Legendre"),
)


def _declare(name: str, forward: Any, doc: str) -> None:
    op = Op(
        f"special_{name}",
        forward,
        ("x", "n"),
        layout=as_iterated,
        public=f"special.{name}",
        refuses=no_kernel(f"{name}_cpu", "hc"),
        samples=_samples,
    )
    label = f"special_{name}"

    def call(input: Any, n: Any) -> Tensor:
        if not isinstance(n, Tensor):
            require_tensor(label, input)
        require_operand(label, input, "input", 1)
        require_operand(label, n, "n", 2)
        compute = compute_dtype((input, n), "float")
        refuse(op, compute)
        operands = tuple(v if isinstance(v, Tensor) else number_as(v, compute) for v in (input, n))
        check_broadcast(*(v._data.shape for v in operands if isinstance(v, Tensor)))
        return apply(op, operands, {}, compute)  # type: ignore[no-any-return]

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The polynomial of degree `n` at `input`: {doc}."
    public(namespace=SPECIAL, method=False)(call)


for _name, _forward, _doc in _POLYNOMIALS:
    _declare(_name, _forward, _doc)
