"""What `verify` finds wrong in PyTorch itself: each held against exact arithmetic, and found by `verify`.

The list with its words is `docs/pytorch_findings.md`. If one of these fails after PyTorch was changed, it has
been mended there, and its line goes.
"""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
import torch

import tautograd

# PyTorch's own forward rules are scripted when they are first used, and it warns of that.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def doubles(values):
    return torch.tensor(values, dtype=torch.float64)


def pushed(function, x, v):
    return torch.func.jvp(function, (x,), (v,))[1]


def said(function, *inputs):
    given = tuple(x.detach().clone().requires_grad_() for x in inputs)
    return tautograd.verify(function, given, confirm=False)


def test_forward_mode_of_cholesky_inverse():
    # Of L = [[a, 0], [1/2, 2]]: L Lᵀ = [[a², a/2], [a/2, 17/4]], its inverse [[17/(16 a²), -1/(8 a)], [., 1/4]].
    a = Fraction(1)
    exact = [[-2 * Fraction(17, 16) / a**3, Fraction(1, 8) / a**2], [Fraction(1, 8) / a**2, 0]]
    factor, v = doubles([[1.0, 0.0], [0.5, 2.0]]), doubles([[1.0, 0.0], [0.0, 0.0]])
    expected = doubles([[float(e) for e in row] for row in exact])
    assert torch.func.vjp(lambda a: torch.cholesky_inverse(factor + a * v)[0, 0], doubles(0.0))[1](
        doubles(1.0)
    )[0] == pytest.approx(float(exact[0][0]))
    assert not torch.allclose(pushed(torch.cholesky_inverse, factor, v), expected, atol=1e-2)
    report = said(lambda x: torch.cholesky_inverse(x.tril()), factor)
    assert [c.reference for c in report.checks if not c.ok] == ["forward mode"]


def test_forward_mode_of_scatter_reduce_by_products():
    def product(x):
        return torch.ones(2, dtype=x.dtype).scatter_reduce(0, torch.tensor([0, 0, 1]), x, "prod")

    x, v = doubles([2.0, 3.0, 5.0]), doubles([1.0, 0.0, 0.0])
    exact = Fraction(1) * 3  # of 1 · x₀ · x₁ by x₀
    assert float(pushed(product, x, v)[0]) == 0.0 != float(exact)
    assert said(product, x).verdict == "wrong"


def test_forward_mode_of_linear_cross_entropy_in_chunks():
    from torch.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions

    def loss(x):
        return torch.nn.functional.linear_cross_entropy(
            x, doubles([[1.0, 0.0], [0.0, 1.0]]), torch.tensor(0),
            options=LinearCrossEntropyOptions(batch_chunk_size=2, allow_retain_graph=True),
        )  # fmt: skip

    exact = Fraction(1, 2) - 1  # softmax less one
    assert float(pushed(loss, doubles([0.0, 0.0]), doubles([1.0, 0.0]))) == 0.0 != float(exact)
    report = said(loss, doubles([0.3, -0.2]))
    assert [c.reference for c in report.checks if not c.ok] == ["forward mode"]


def test_as_strided_scatter_of_a_single_number():
    def written(x, number):
        return torch.as_strided_scatter(x, number, (), (), 0)

    x, number = doubles([7.0]).requires_grad_(), doubles(2.0)
    assert written(x, number).tolist() == [2.0]  # nothing of x is left
    assert torch.autograd.grad(written(x, number).sum(), x)[0].tolist() == [1.0]
    assert said(written, x, number).verdict == "wrong"


def test_matrix_exp_for_very_large_incoming_gradients():
    x = doubles([[1.0]]).requires_grad_()
    found = torch.autograd.grad(torch.linalg.matrix_exp(x), x, doubles([[1e20]]))[0] / 1e20
    assert float(found) == 1.0
    assert abs(float(found) - float(mpmath.e)) > 1.7
    report = said(torch.linalg.matrix_exp, doubles([[1.0, 0.5], [0.25, 2.0]]))
    assert [c.reference for c in report.checks if not c.ok] == ["incoming gradients"]


def test_determinant_of_a_singular_matrix():
    # The derivative of ad - bc is [[d, -c], [-b, a]], whatever the determinant is.
    x = doubles([[1.0, 2.0], [2.0, 4.0]]).requires_grad_()
    assert not torch.autograd.grad(torch.linalg.det(x), x)[0].any()
    recorded = torch.autograd.grad(torch.linalg.det(x), x, create_graph=True)[0]
    assert torch.allclose(recorded, doubles([[4.0, -2.0], [-2.0, 1.0]]))
    assert said(torch.linalg.det, x).verdict == "wrong"


def test_forward_mode_of_a_registered_operator():
    def squared(x: torch.Tensor) -> torch.Tensor:
        return x * x

    made = torch.library.custom_op("found_in_pytorch::squared", squared, mutates_args=())
    made.register_autograd(
        lambda ctx, g: 2 * g * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    ad = torch.autograd.forward_ad
    x = doubles([3.0])
    with ad.dual_level():
        assert ad.unpack_dual(made(ad.make_dual(x, doubles([1.0])))).tangent is None  # not 6
    report = said(made, x)
    assert report.verdict == "correct"
    assert "no forward rule" in next(c.note for c in report.checks if c.reference == "forward mode")


def test_normal_of_a_mean():
    # A draw is mean + deviation · noise, with a slope of 1 by the mean.
    mean = doubles([0.0, 1.0]).requires_grad_()
    drawn = torch.normal(mean, torch.ones(2, dtype=torch.float64))
    assert drawn.requires_grad
    assert torch.autograd.grad(drawn.sum(), mean)[0].tolist() == [0.0, 0.0]
    assert said(lambda m: torch.normal(m, torch.ones_like(m)), mean).verdict != "correct"


def test_ctc_loss_of_what_is_not_normalised():
    # One step, one label: the loss is -log_probs[0, 0, 1].
    def loss(x):
        return torch.nn.functional.ctc_loss(
            x, torch.tensor([[1]]), torch.tensor([1]), torch.tensor([1]), reduction="sum"
        )

    x = doubles([[[0.0, 0.0]]]).requires_grad_()
    assert torch.autograd.grad(loss(x), x)[0].tolist() == [[[1.0, 0.0]]]  # not [[[0, -1]]]
    assert said(loss, doubles([[[0.2, -0.4]]])).verdict == "wrong"


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("one_thread")  # with several, one now and then overtakes another
def test_writes_to_the_same_place():
    def unpooled(x):
        return torch.nn.functional.max_unpool1d(x, torch.tensor([[[0, 0]]]), 2, 2)

    x = doubles([[[1.0, 2.0]]]).requires_grad_()
    assert unpooled(x).reshape(-1).tolist() == [2.0, 0.0, 0.0, 0.0]
    assert torch.autograd.grad(unpooled(x).sum(), x)[0].tolist() == [
        [[1.0, 1.0]]
    ]  # one of them is 0
    assert said(unpooled, x).verdict == "wrong"


def test_group_norm_drops_the_gradient_of_its_mean_alone():
    x = doubles([[[1.0, 2.0, 4.0]]]).requires_grad_()
    _, mean, rstd = torch.native_group_norm(x, None, None, 1, 1, 3, 1, 0.0)
    exact = Fraction(1, 3)  # of (x₀ + x₁ + x₂)/3 by each
    assert mean.requires_grad
    (alone,) = torch.autograd.grad(
        mean, x, torch.ones_like(mean), retain_graph=True, allow_unused=True
    )
    assert alone is None
    sent = torch.ones_like(mean), torch.zeros_like(rstd)
    (beside,) = torch.autograd.grad((mean, rstd), x, sent, retain_graph=True, allow_unused=True)
    assert torch.allclose(beside, torch.full_like(x, float(exact)))  # with zeros beside it is right
    report = said(lambda x: torch.native_group_norm(x, None, None, 1, 1, 3, 1, 0.0), x)
    assert report.verdict == "wrong"
    assert "none at all, but for output 1" in report.suspects[0].note


@pytest.mark.parametrize(("dtype", "place"), [(torch.float64, 1e-9), (torch.float32, 1e-6)])
def test_digits_of_sinc_beside_zero(dtype, place):
    x = torch.tensor(place, dtype=dtype, requires_grad=True)
    at = mpmath.mpf(float(x))
    exact = mpmath.diff(mpmath.sincpi, at)
    assert float(exact) == pytest.approx(-(mpmath.pi**2) * at / 3, rel=1e-9)
    (found,) = torch.autograd.grad(torch.sinc(x), x)
    assert abs(float(found) - float(exact)) > 0.5 * abs(float(exact))
    assert said(torch.sinc, torch.tensor([place, 0.3], dtype=dtype)).verdict == "wrong"
    own = tautograd.tensor(place, dtype=getattr(tautograd, str(dtype)[6:]), requires_grad=True)
    (mended,) = tautograd.autograd.grad(tautograd.sinc(own), own)
    assert float(mended) == pytest.approx(float(exact), rel=1e-6)
