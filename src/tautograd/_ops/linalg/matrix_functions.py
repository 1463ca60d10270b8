"""Powers and the exponential of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.result_layout import as_first, in_c_order
from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import require_tensor
from ..declare.public import FUNCTIONS, LINALG, attach, public
from ..declare.record import Op
from ..declare.samples import Sample, T
from .matrices import adjoint, identity, values_of
from .matrix_checks import check_float, check_square
from .products.matmul import matmul
from .solvers.inverses import inv

# --- powers --------------------------------------------------------------------------------------


@public(method=False, namespace=LINALG)
def matrix_power(input: Any, n: int) -> Any:
    """The n-th power of square matrices, by squaring; negative powers are those of the inverse."""
    require_tensor("linalg_matrix_power", input, "A")
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        raise TypeError(
            f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}"
        )
    check_square("linalg.matrix_power", input)
    if n == 0:
        one = input.new_ones(()).expand(input._data.shape[:-1]).diag_embed()
        return input.clone().copy_(one) if input.requires_grad else one
    if n < 0:
        input, n = inv(input), -n
        if n == 1:
            return input
    if n == 1:
        return input.clone()
    if n == 3:
        return matmul(matmul(input, input), input)
    result = square = None
    while n:
        square = input if square is None else matmul(square, square)
        n, odd = divmod(n, 2)
        if odd:
            result = square if result is None else matmul(result, square)
    return result


def _old_power(input: Any, n: int) -> Any:
    """The n-th power of square matrices: `linalg.matrix_power`."""
    return matrix_power(input, n)


public("matrix_power")(_old_power)

# --- the exponential -----------------------------------------------------------------------------

# The diagonal Padé approximant of exp of degree 13, good to double precision up to this norm.
_RADIUS = 5.371920351148152
_NUMERATOR = [
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0,
    960960.0, 16380.0, 182.0, 1.0,
]  # fmt: skip
# The first is 1, so that the exponential of 0 is the identity and nothing else.
_PADE = [c / _NUMERATOR[0] for c in _NUMERATOR]
_MOST_SQUARINGS = 1100  # what the largest number needs


def _exponential(x: Any) -> Any:
    """exp(A) = exp(A / 2^s)^(2^s), with s such that the approximant is good."""
    if not x.shape[-1]:
        return np.copy(x)
    norm = np.max(np.sum(np.abs(x), axis=-2), axis=-1)
    squarings = np.maximum(np.ceil(np.log2(norm / _RADIUS)), 0)
    squarings = np.expand_dims(np.where(np.isfinite(squarings), squarings, 0), (-1, -2))
    result = _approximant(x * np.astype(2.0**-squarings, norm.dtype))
    values = values_of(squarings)
    most = _MOST_SQUARINGS if values is None else int(np.max(values, initial=0))
    for step in range(most):
        result = np.where(squarings > step, np.matmul(result, result), result)
    return result


def _approximant(x: Any) -> Any:
    """(V - U)^-1 (V + U) with the odd powers in U and the even ones in V."""
    c = _PADE
    one = identity(x)
    x2 = np.matmul(x, x)
    x4 = np.matmul(x2, x2)
    x6 = np.matmul(x4, x2)
    odd = np.matmul(x6, c[13] * x6 + c[11] * x4 + c[9] * x2)
    odd = np.matmul(x, odd + c[7] * x6 + c[5] * x4 + c[3] * x2 + c[1] * one)
    even = np.matmul(x6, c[12] * x6 + c[10] * x4 + c[8] * x2)
    even = even + c[6] * x6 + c[4] * x4 + c[2] * x2 + c[0] * one
    return np.linalg.solve(even - odd, even + odd)


def _along(x: Any, e: Any) -> Any:
    """The derivative of exp at A along E: the upper right block of exp([[A, E], [0, A]]).

    It is linear in E, which is brought to a size of about 1 first: a large one would take all digits.
    """
    n = x.shape[-1]
    if not n:
        return np.copy(e)
    size = np.expand_dims(np.max(np.sum(np.abs(e), axis=-2), axis=-1), (-1, -2))
    power = np.where(
        (size > 0) & np.isfinite(size), np.ceil(np.log2(np.where(size > 0, size, 1))), 0
    )
    scale = np.astype(2.0 ** np.minimum(np.maximum(power, -120), 120), size.dtype)
    top = np.concatenate((x, e / scale), axis=-1)
    bottom = np.concatenate((np.zeros_like(e), x), axis=-1)
    return matrix_exp_op(np.concatenate((top, bottom), axis=-2))[..., :n, n:] * scale


matrix_exp_op: Op = Op(
    "linalg_matrix_exp",
    _exponential,
    ("x",),
    layout=lambda data, of: (as_first if data.shape[-1] == 1 else in_c_order)(data, of),
    vjp={"x": lambda g, x: _along(adjoint(x), g)},
    jvp={"x": lambda t, x: _along(x, t)},
    public="linalg.matrix_exp",
    samples=lambda: [
        Sample(T(3, 3)),
        Sample(T(2, 2, 2, layout="transposed")),
        Sample(T(3, 3, low=-0.1, high=0.1)),
        Sample(T(1, 1)),
        Sample(T(0, 0)),
        Sample(T(0, 2, 2)),
    ],
)


@public(method=False, namespace=LINALG)
def matrix_exp(input: Any) -> Tensor:
    """The exponential of square matrices: the sum of A^k / k!."""
    require_tensor("linalg_matrix_exp", input, "A")
    check_square("linalg.matrix_exp", input)
    check_float("linalg.matrix_exp", input)
    result: Tensor = apply(matrix_exp_op, (input,))
    return result


FUNCTIONS["matrix_exp"] = matrix_exp
attach("matrix_exp", matrix_exp)
