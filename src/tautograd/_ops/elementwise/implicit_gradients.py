"""How a gamma or beta number would move with its parameter: implicit reparameterised gradients.

A draw x of a distribution with the cumulative function F(x; α) stays at its quantile when α moves:
dF = 0, so dx/dα = -(∂F/∂α) / (∂F/∂x). For the gamma and the beta distribution ∂F/∂α has no closed
form. PyTorch approximates the quotient by regions (a Taylor series near an end, an expansion about
the saddle point for large parameters, a fitted rational function in between), good to three or
four digits; the regions and the fits here are the same, so the gradients are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..declare.elementwise_calls import no_derivative
from ..declare.record import Op

# The asymptotic series of digamma, highest power first (Bernoulli numbers over their index).
_DIGAMMA_SERIES = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
_DIGAMMA_OF_10 = 2.25175258906672110764

# The fit of log(dx/dα) for a gamma number: p(v) / q(v) in v = log α, with coefficients that are
# quadratic in u = log(x / α). A row for each power of u: four of p, then four of q.
_GAMMA_FIT = np.array(
    [
        [0.16009398, -0.094634809, 0.025146376, -0.0030648343],
        [1, 0.32668115, 0.10406089, 0.0014179084],
        [0.53487893, 0.1298071, 0.065735949, -0.0015649758],
        [0.16639465, 0.020070113, -0.0035938915, -0.00058392623],
        [0.040121004, -0.0065914022, -0.0026286047, -0.0013441777],
        [0.017050642, -0.0021309326, 0.00085092367, -1.5247877e-07],
    ]
).reshape(3, 8)
# The correction of a beta number's gradient: p / q, each a sum over i, j < 3 of u^i a^j c(b), where
# u = log x, a = log α - u, b = log(α + β) - a, and c is a cubic, constant term first.
_BETA_FIT = np.array(
    [
        [
            [
                [1.003668233, -0.01061107488, -0.0657888334, 0.01201642863],
                [0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033],
                [-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013],
            ],
            [
                [0.221950385, -0.3187676331, 0.01799915743, 0.01074823814],
                [-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057],
                [0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05],
            ],
            [
                [-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565],
                [0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181],
                [0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05],
            ],
        ],
        [
            [
                [1, -0.02924021934, -0.04438342661, 0.007285809825],
                [0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521],
                [-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149],
            ],
            [
                [0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273],
                [0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956],
                [-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05],
            ],
            [
                [0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05],
                [0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05],
                [-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06],
            ],
        ],
    ]
)


def _digamma(x: Any) -> Any:
    """digamma of positive numbers, rounded where PyTorch's sampler rounds: steps in the type of x."""
    kind = x.dtype
    total = np.zeros_like(x, dtype=np.float64)
    for _ in range(10):  # ψ(x) = ψ(x + 1) - 1/x, until x is at least 10
        below = x < 10
        total = np.where(below, total - np.astype(1 / x, np.float64), total)
        x = np.where(below, np.astype(x + 1, kind), x)
    z = 1.0 / np.astype(x * x, np.float64)
    series = np.zeros_like(z)
    for term in _DIGAMMA_SERIES:
        series = series * z + term
    tail = np.where(x < 1e17, z * series, 0.0)
    half = np.astype(np.astype(0.5 / x, kind), np.float64)
    at_large = total + np.astype(np.log(x), np.float64) - half - tail
    return np.astype(np.where(x == 10, total + _DIGAMMA_OF_10, at_large), kind)


def _horner(x: Any, terms: Any) -> Any:
    """A polynomial, its constant term first."""
    result = terms[-1]
    for term in terms[-2::-1]:
        result = term + x * result
    return result


def _no_nan(x: Any) -> Any:
    return np.where(np.isnan(x), np.zeros_like(x), x)


# --- gamma ---------------------------------------------------------------------------------------


def gamma_gradient(alpha: Any, x: Any) -> Any:
    """dx/dα of x drawn from Gamma(α), elementwise."""
    kind = alpha.dtype
    alpha, x = np.astype(alpha, np.float64), np.astype(x, np.float64)
    alpha, x = np.broadcast_arrays(alpha, x)
    # The bounds are single-precision constants in PyTorch.
    near_zero = x < np.float64(np.float32(0.8))
    saddle = alpha > 8
    found = np.where(saddle, _gamma_saddle(alpha, x), _gamma_fitted(alpha, x))
    return np.astype(np.where(near_zero, _gamma_series(alpha, x), found), kind)


def _gamma_series(alpha: Any, x: Any) -> Any:
    """By F = x^α Σ (-x)^i / (i! (α + i)), term by term."""
    power, below = np.ones_like(x), alpha
    first, second = power / below, power / (below * below)
    for i in range(1, 6):
        power, below = power * (-x / i), below + 1
        first, second = first + power / below, second + power / (below * below)
    raised = x**alpha
    density = x ** (alpha - 1) * np.exp(-x)
    by_alpha = (np.log(x) - _digamma(alpha)) * (raised * first) - raised * second
    return _no_nan(-by_alpha / density)


def _gamma_saddle(alpha: Any, x: Any) -> Any:
    low, high = np.float64(np.float32(0.9)), np.float64(np.float32(1.1))
    at_mean = (low * alpha <= x) & (x <= high * alpha)
    squared = alpha * alpha
    bracket = 1440 * squared + 6 * x * (53 - 120 * x)
    bracket = bracket - 65 * x * x / alpha + alpha * (107 + 3600 * x)
    near = (1 + 24 * alpha * (1 + 12 * alpha)) * bracket / (1244160 * squared * squared)
    root, apart = np.sqrt(8 * alpha), alpha - x
    bend = (x - alpha - alpha * np.log(x / alpha)) ** -1.5
    slope = root / apart + np.where(x < alpha, -bend, bend)
    slope = np.log(x / alpha) * slope - np.sqrt(2 / alpha) * (alpha + x) / (apart * apart)
    stirling = 1 + 1 / (12 * alpha) * (1 + 1 / (24 * alpha))
    return np.where(at_mean, near, -stirling * (x * slope) / root)


def _gamma_fitted(alpha: Any, x: Any) -> Any:
    u, v = np.log(x / alpha), np.log(alpha)
    terms = [_horner(u, column) for column in _GAMMA_FIT.T]
    return np.exp(_horner(v, terms[:4]) / _horner(v, terms[4:]))


# --- beta, and with it Dirichlet -------------------------------------------------------------------


def beta_gradient(x: Any, alpha: Any, total: Any) -> Any:
    """dx/dα / (1 - x) of x drawn from Beta(α, total - α), elementwise."""
    kind = x.dtype
    x, alpha, total = np.broadcast_arrays(x, alpha, total)
    beta = total - alpha
    edge = total * x * (1 - x)
    x64, alpha64, total64 = (np.astype(array, np.float64) for array in (x, alpha, total))
    large = (alpha > 6) & (beta > 6)
    wide = _beta_fitted(x64, alpha64, total64, kind)
    found = np.astype(np.where(large, _beta_saddle(x64, alpha64, total64), wide), kind)
    at_one = (x >= 0.5) & (edge < 0.75)
    found = np.where(at_one, -_beta_series_by_beta(1 - x, beta, alpha), found)
    at_zero = (x <= 0.5) & (edge < 2.5)
    return np.astype(np.where(at_zero, _beta_series_by_alpha(x, alpha, beta), found), kind)


def _beta_series_by_alpha(x: Any, alpha: Any, beta: Any) -> Any:
    factor = _digamma(alpha) - _digamma(alpha + beta) - np.log(x)
    power = np.ones_like(x)
    series = power / alpha * (factor + 1 / alpha)
    for i in range(1, 11):
        power = power * ((i - beta) * x / i)
        below = alpha + i
        series = series + power / below * (factor + 1 / below)
    return _no_nan(x * (1 - x) ** -beta * series)


def _beta_series_by_beta(x: Any, alpha: Any, beta: Any) -> Any:
    factor = _digamma(alpha + beta) - _digamma(beta)
    power = np.ones_like(x)
    product, by_beta = np.ones_like(x), np.zeros_like(x)  # Π (β - i), and its derivative
    series = factor / alpha
    for i in range(1, 9):
        power = power * (-x / i)
        by_beta = by_beta * (beta - i) + product
        product = product * (beta - i)
        series = series + power / (alpha + i) * (by_beta + factor * product)
    return _no_nan(-((1 - x) ** (1 - beta)) * series)


def _beta_saddle(x: Any, alpha: Any, total: Any) -> Any:
    beta = total - alpha
    mean = alpha / total
    tenth = 0.1 * (np.sqrt(alpha * beta / (total + 1)) / total)
    at_mean = (mean - tenth <= x) & (x <= mean + tenth)
    return np.where(
        at_mean, _beta_at_mean(x, alpha, beta), _beta_off_mean(x, alpha, beta, x < mean)
    )


def _beta_at_mean(x: Any, alpha: Any, beta: Any) -> Any:
    """The limit there, where the expansion itself is nought over nought."""
    total, square = alpha + beta, beta * beta
    terms = [
        47 * x * square * square,
        (43 + 20 * (16 + 27 * beta) * x) * square * beta,
        3 * (59 + 180 * beta - 90 * x) * square,
        (453 + 1620 * beta * (1 - x) - 455 * x) * beta,
        8 * (1 - x) * (135 * beta - 11),
    ]
    above = (1 + 12 * alpha) * (1 + 12 * beta) / (total * total)
    below = 12960 * alpha * alpha * alpha * beta * beta * (1 + 12 * total)
    return above / (1 - x) * _horner(alpha, terms) / below


def _beta_off_mean(x: Any, alpha: Any, beta: Any, left: Any) -> Any:
    total = alpha + beta
    stirling = _stirling(alpha) * _stirling(beta) / _stirling(total)
    above = 2 * (alpha * alpha) * (x - 1) + alpha * beta * (x - 1) - x * (beta * beta)
    apart = alpha * (x - 1) + beta * x
    first = above / (np.sqrt(2 * alpha / beta) * total**1.5 * apart * apart)
    half_log = 0.5 * np.log(alpha / (total * x))
    slope = np.sqrt(8 * alpha * beta / total) / (beta * x + alpha * (x - 1))
    distance = beta * np.log(beta / (total * (1 - x))) + alpha * np.log(alpha / (total * x))
    bend = distance**-1.5
    whole = first + half_log * (slope + np.where(left, bend, -bend))
    return stirling * (-x / np.sqrt(2 * alpha * beta / total)) * whole


def _stirling(x: Any) -> Any:
    return 1 + 1 / (12 * x) + 1 / (288 * x * x)


def _beta_fitted(x: Any, alpha: Any, total: Any, kind: Any) -> Any:
    u = np.log(x)
    a = np.log(alpha) - u
    b = np.log(total) - a
    above = below = np.zeros_like(x)
    for i, of_u in enumerate((np.ones_like(u), u, u * u)):
        for j, of_a in enumerate((np.ones_like(a), a, a * a)):
            product = of_u * of_a
            above = above + product * _horner(b, _BETA_FIT[0, i, j])
            below = below + product * _horner(b, _BETA_FIT[1, i, j])
    # The difference of two numbers of the array's type is one, too.
    psi = np.astype(_digamma(np.astype(total, kind)) - _digamma(np.astype(alpha, kind)), np.float64)
    return above / below * (x * psi / (total - alpha))


# --- the records ---------------------------------------------------------------------------------


def _no_second(name: str, *inputs: str) -> dict[str, Any]:
    """The rules of an approximation: it is a derivative, and has none of its own."""

    def refuse(g: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    def refuse_forward(t: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return {"vjp": dict.fromkeys(inputs, refuse), "jvp": dict.fromkeys(inputs, refuse_forward)}


gamma_gradient_op = Op(
    "_standard_gamma_grad",
    gamma_gradient,
    ("alpha", "x"),
    **_no_second("_standard_gamma_grad", "alpha", "x"),
    opmath=False,
    internal=True,
)
beta_gradient_op = Op(
    "_dirichlet_grad",
    beta_gradient,
    ("x", "alpha", "total"),
    **_no_second("_dirichlet_grad", "x", "alpha", "total"),
    opmath=False,
    internal=True,
)
# The numbers are drawn first; the operation says where they came from, and how they would move.
standard_gamma_op = Op(
    "_standard_gamma",
    lambda alpha, drawn: drawn,
    ("alpha",),
    vjp={"alpha": lambda g, alpha, out: g * gamma_gradient_op(alpha, out)},
    jvp={"alpha": lambda t, alpha, out: t * gamma_gradient_op(alpha, out)},
    node="StandardGammaBackward0",
    opmath=False,
    internal=True,
)
sample_dirichlet_op = Op(
    "_sample_dirichlet",
    lambda alpha, drawn: drawn,
    ("alpha",),
    **no_derivative("_sample_dirichlet", "alpha"),
    node="torch::autograd::NotImplemented",
    opmath=False,
    internal=True,
)
