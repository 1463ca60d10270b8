"""Right gradients of ill-conditioned functions: cancellation, near-singular matrices, zeros in products."""

from __future__ import annotations

from typing import Any

import numpy as np

from .case import Check, draw, right, tensor


def _hilbert(n: int) -> Any:
    i = np.arange(n)
    return 1 / (i[:, None] + i[None, :] + 1.0)


@right("ill-conditioned")
def inverse_of_a_hilbert_matrix(torch: Any) -> Check:
    """The inverse of the 5×5 Hilbert matrix, of condition 5e5."""
    return Check(torch.linalg.inv, tensor(torch, _hilbert(5)))


@right("ill-conditioned")
def solve_with_a_hilbert_matrix(torch: Any) -> Check:
    """A system whose condition is 1.5e10."""
    return Check(torch.linalg.solve, tensor(torch, _hilbert(8)), draw(torch, 8))


@right("ill-conditioned")
def determinant_near_zero(torch: Any) -> Check:
    """A determinant of 1e-9 and its logarithm."""
    a = tensor(torch, [[1.0, 2.0], [3.0, 6.0 + 1e-9]])
    return Check(lambda a: (torch.linalg.det(a), torch.linalg.slogdet(a)[1]), a)


@right("ill-conditioned")
def cancellation_in_log1p(torch: Any) -> Check:
    """log1p and expm1 of 1e-12."""
    return Check(lambda x: torch.expm1(x) - torch.log1p(x), tensor(torch, [1e-12, -1e-9, 1e-3]))


@right("ill-conditioned")
def cancellation_written_out(torch: Any) -> Check:
    """(1 - cos x)/x² at 1e-4 has lost half of its digits: the function is noisy, its rule right."""
    return Check(lambda x: (1 - x.cos()) / x**2, tensor(torch, [1e-4, 3e-4, 0.5]))


@right("ill-conditioned")
def noise_of_a_large_sum(torch: Any) -> Check:
    """1e4 is added and taken away: what is left has noise of 1e-12."""
    return Check(lambda x: (x.sin() + 1e4) - 1e4, draw(torch, 4))


@right("ill-conditioned")
def variance_by_squares(torch: Any) -> Check:
    """E[x²] - E[x]² of numbers around 1,000."""
    return Check(lambda x: (x * x).mean() - x.mean() ** 2, draw(torch, 6, low=999, high=1001))


@right("ill-conditioned")
def close_eigenvalues(torch: Any) -> Check:
    """Eigenvalues 1e-4 apart; the vectors' gradient goes as 1/gap, their projector's sum does not."""

    def spectrum(a):
        a = (a + a.mT) / 2
        values, vectors = torch.linalg.eigh(a)
        return values, (vectors[:, :2] @ vectors[:, :2].mT)

    base = np.diag([1.0, 1.0001, 3.0]) + 1e-5 * np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0]])
    return Check(spectrum, tensor(torch, base))


@right("ill-conditioned")
def cholesky_near_the_border(torch: Any) -> Check:
    """A covariance with a smallest eigenvalue of 1e-6."""

    def factor(a):
        return torch.linalg.cholesky((a + a.mT) / 2)

    return Check(factor, tensor(torch, [[1.0, 0.999999], [0.999999, 1.0]]))


@right("ill-conditioned")
def pseudo_inverse(torch: Any) -> Check:
    """The pseudo-inverse of a tall matrix of condition 1e4."""
    a = np.random.default_rng(3).normal(size=(5, 3)) @ np.diag([1.0, 1e-2, 1e-4])
    return Check(torch.linalg.pinv, tensor(torch, a))


@right("ill-conditioned")
def least_squares_by_qr(torch: Any) -> Check:
    """A regression by QR."""

    def fit(x, y):
        q, r = torch.linalg.qr(x)
        return torch.linalg.solve_triangular(r, (q.mT @ y), upper=True)

    return Check(fit, draw(torch, 5, 3), draw(torch, 5, 1))


@right("ill-conditioned")
def singular_values(torch: Any) -> Check:
    """The nuclear norm, over singular values from 1 to 1e-5."""
    a = np.random.default_rng(4).normal(size=(3, 3)) @ np.diag([1.0, 1e-2, 1e-5])
    return Check(lambda a: torch.linalg.svdvals(a).sum(), tensor(torch, a))


@right("ill-conditioned", found_in={"torch": "very large (1e+20)"})
def matrix_exponential(torch: Any) -> Check:
    """The exponential of a matrix that is far from normal."""
    return Check(torch.linalg.matrix_exp, tensor(torch, [[0.1, 30.0], [0.0, -0.2]]))


@right("zeros in a product")
def product_with_one_zero(torch: Any) -> Check:
    """A product of which one factor is 0."""
    return Check(lambda x: x.prod(), tensor(torch, [2.0, 0.0, -3.0, 1.5]))


@right("zeros in a product")
def product_with_two_zeros(torch: Any) -> Check:
    """With two zeros the gradient is 0 everywhere."""
    return Check(lambda x: x.prod(-1), tensor(torch, [[2.0, 0.0, 0.0], [1.0, 2.0, 0.0]]))


@right("zeros in a product")
def running_product_with_zeros(torch: Any) -> Check:
    """cumprod with zeros inside."""
    return Check(
        lambda x: x.cumprod(-1), tensor(torch, [[2.0, 0.0, 3.0, 0.0], [1.0, 2.0, 3.0, 4.0]])
    )


@right("zeros in a product")
def powers_of_zero(torch: Any) -> Check:
    """0², 0¹ and 0⁰."""
    return Check(lambda x: x**2 + x**1 + x**0, tensor(torch, [0.0, 1.0, -2.0]))


@right("guarded")
def guarded_root(torch: Any) -> Check:
    """A root whose argument is made safe before where() picks."""

    def distance(x):
        ok = x > 0
        return torch.where(ok, torch.where(ok, x, torch.ones_like(x)).sqrt(), torch.zeros_like(x))

    return Check(distance, tensor(torch, [4.0, -1.0, 1.0]))


@right("guarded")
def root_with_an_epsilon(torch: Any) -> Check:
    """√(x² + 1e-12) at 0 is smooth, and sharply bent."""
    return Check(lambda x: (x * x + 1e-12).sqrt(), tensor(torch, [0.0, 1e-6, 1.0]))


@right("guarded")
def divided_where_it_can_be(torch: Any) -> Check:
    """sin(x)/x with its limit at 0."""

    def sinc(x):
        safe = torch.where(x == 0, torch.ones_like(x), x)
        return torch.where(x.abs() < 1e-3, 1 - x * x / 6, safe.sin() / safe)

    return Check(sinc, tensor(torch, [0.0, 0.5, -2.0]))


@right("guarded")
def masked_loss(torch: Any) -> Check:
    """Padding is masked out of a loss; what it holds gets no gradient."""
    mask = torch.tensor([[True, True, False], [True, False, False]])

    def loss(predicted, target):
        return ((predicted - target) ** 2).masked_fill(~mask, 0.0).sum() / mask.sum()

    return Check(loss, draw(torch, 2, 3), draw(torch, 2, 3, seed=1))


@right("guarded")
def scores_masked_with_minus_infinity(torch: Any) -> Check:
    """Causal attention: masked scores are -inf, their gradients 0."""

    def attention(q, k, v):
        blocked = torch.triu(torch.ones(3, 3, dtype=torch.bool), 1)
        return (q @ k.mT).masked_fill(blocked, float("-inf")).softmax(-1) @ v

    return Check(attention, *(draw(torch, 3, 2, seed=i) for i in range(3)))
