"""`gradcheck` and `gradgradcheck`: right gradients pass, and wrong ones are shown."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
import torch as pytorch

import tautograd
from tests.both import same


def _x(torch, *shape, dtype=None):
    torch.manual_seed(0)
    return torch.randn(*shape, dtype=dtype or torch.float64).requires_grad_()


def _wrong(torch, backward, forward=lambda x: x * 2):
    """A function whose gradient is whatever `backward` says."""

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, grad):
            return backward(grad, *ctx.saved_tensors)

    return Wrong.apply


# --- right gradients -----------------------------------------------------------------------------


@same
@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sin() * x,
        lambda x: (x @ x.t()).exp().sum(),
        lambda x: (x.sum(0), x.prod()),
        lambda x: x[0] * 2,
        lambda x: x.reshape(-1).cumsum(0),
        lambda x: (x, (x > 0).sum()),
    ],
)
def test_right_gradients_pass(torch, function, fast_mode):
    x = _x(torch, 2, 3)
    check = torch.autograd.gradcheck
    found = [check(function, (x,), fast_mode=fast_mode)]
    if function(x) is not None and fast_mode is False:
        found.append(torch.autograd.gradcheck(function, x, check_undefined_grad=False))
    return found


@same
def test_several_inputs(torch):
    x, y = _x(torch, 3), _x(torch, 2, 3)
    constant = torch.ones(3, dtype=torch.float64)

    def f(x, n, y, c):
        return (x * y * n).sum(1) * c.sum(), (x * x).sum()

    return [
        torch.autograd.gradcheck(f, (x, 3, y, constant), fast_mode=fast) for fast in (False, True)
    ]


@same
@pytest.mark.parametrize("fast_mode", [False, True])
def test_complex(torch, fast_mode):
    z = _x(torch, 2, 2, dtype=torch.complex128)
    x = _x(torch, 2)
    check = torch.autograd.gradcheck
    return (
        check(lambda z: z * z.conj(), z, fast_mode=fast_mode),
        check(lambda z: z.abs(), z, fast_mode=fast_mode),
        check(lambda z: (z @ z).sum(), z, fast_mode=fast_mode),
        check(lambda x: torch.complex(x, x * 2), x, fast_mode=fast_mode),
        check(lambda z: z.real * z.imag, z, fast_mode=fast_mode),
    )


@same
def test_forward_mode(torch):
    x = _x(torch, 2, 3)
    check = torch.autograd.gradcheck
    options = {"check_forward_ad": True, "check_batched_forward_grad": True}
    return (
        check(lambda x: x.sin() * x, x, **options),
        check(lambda x: x.exp(), x, check_forward_ad=True, check_backward_ad=False),
        check(lambda x: x.tanh(), x, check_forward_ad=True, fast_mode=True),
    )


@same
def test_batched_gradients(torch):
    x = _x(torch, 2, 3)
    return torch.autograd.gradcheck(lambda x: (x * x).sum(1), x, check_batched_grad=True)


@same
@pytest.mark.parametrize("fast_mode", [False, True])
def test_second_order(torch, fast_mode):
    x, y = _x(torch, 3), _x(torch, 3)
    check = torch.autograd.gradgradcheck
    return (
        check(lambda x, y: x**3 * y, (x, y), fast_mode=fast_mode),
        check(lambda x: x.exp().sum(), x, fast_mode=fast_mode),
        check(lambda x, y: x * y, (x, y), grad_outputs=torch.ones(3, dtype=torch.float64)),
        check(lambda x: x**3, x, gen_non_contig_grad_outputs=True),
        check(lambda x: x**3, x, check_fwd_over_rev=True),
        check(lambda x: x**3, x, check_fwd_over_rev=True, check_rev_over_rev=False,
              check_undefined_grad=False),
    )  # fmt: skip


@same
def test_inputs_are_left_as_they_were(torch):
    x = _x(torch, 2, 2)
    before = x.detach().clone()
    torch.autograd.gradcheck(lambda x: x * x, x)
    return bool((x == before).all()), x.grad, x.requires_grad


# --- wrong gradients -----------------------------------------------------------------------------


@same
@pytest.mark.parametrize("fast_mode", [False, True])
def test_wrong_gradient(torch, fast_mode):
    x = _x(torch, 2)
    wrong = _wrong(torch, lambda g, x: g * 3)
    error = torch.autograd.gradcheck.GradcheckError if hasattr(
        torch.autograd.gradcheck, "GradcheckError"
    ) else RuntimeError  # fmt: skip
    phrase = "Jacobian mismatch for output 0 with respect to input 0"
    with pytest.raises(error, match=phrase) as caught:
        torch.autograd.gradcheck(wrong, x, fast_mode=fast_mode)
    quiet = torch.autograd.gradcheck(wrong, x, fast_mode=fast_mode, raise_exception=False)
    text = str(caught.value)
    return quiet, "numerical:" in text, "analytical:" in text, type(caught.value).__name__


@same
@pytest.mark.parametrize("size", [2, 40])
def test_one_wrong_entry_is_found(torch, size):
    def backward(grad, x):
        out = grad * 2
        out[..., -1] = out[..., -1] * 1.01
        return out

    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(_wrong(torch, backward), _x(torch, size))


@same
def test_wrong_second_input_is_named(torch):
    wrong = _wrong(torch, lambda g, x: g * 3)
    x, y = _x(torch, 2), _x(torch, 2)
    with pytest.raises(RuntimeError, match="for output 1 with respect to input 1"):
        torch.autograd.gradcheck(lambda x, y: (x * y, wrong(y)), (x, y))


@same
def test_wrong_complex_gradient(torch):
    wrong = _wrong(torch, lambda g, x: g * 2j)
    with pytest.raises(RuntimeError, match="part of complex outputs only, Jacobian mismatch"):
        torch.autograd.gradcheck(wrong, _x(torch, 2, dtype=torch.complex128))


@same
def test_random_backward(torch):
    wrong = _wrong(torch, lambda g, x: g * 2 * (1 + 1e-7 * torch.rand(2, dtype=torch.float64)))
    x = _x(torch, 2)
    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        torch.autograd.gradcheck(wrong, x)
    return torch.autograd.gradcheck(wrong, x, nondet_tol=1e-5)


@same
def test_backward_that_ignores_its_gradient(torch):
    wrong = _wrong(torch, lambda g, x: torch.full_like(g, 2.0))
    with pytest.raises(
        RuntimeError, match=r"backward not multiplied by grad_output|Jacobian mismatch"
    ):
        torch.autograd.gradcheck(wrong, _x(torch, 1))


@same
def test_gradient_of_the_wrong_dtype(torch):
    wrong = _wrong(torch, lambda g, x: (g * 2).float())
    x = _x(torch, 2)
    return [
        torch.autograd.gradcheck(wrong, x, atol=1e-3, raise_exception=False, check_grad_dtypes=flag)
        for flag in (False, True)
    ]


@same
def test_backward_that_cannot_take_missing_gradients(torch):
    class NeedsAll(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            if a is None or b is None:
                raise RuntimeError("I need them all")
            return a * 2 + b * 3

    x = _x(torch, 2)
    with warnings.catch_warnings(), pytest.raises(RuntimeError):
        warnings.simplefilter("ignore")
        torch.autograd.gradcheck(NeedsAll.apply, x)


@same
def test_gradient_cut_off_by_mistake(torch):
    x = _x(torch, 2)
    with pytest.raises(RuntimeError, match="Numerical gradient for function expected to be zero"):
        torch.autograd.gradcheck(lambda x: x.detach() * 2, x)


@same
def test_wrong_second_order(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * x.detach() ** 2

    x = _x(torch, 2)
    first = torch.autograd.gradcheck(Cube.apply, x)
    second = torch.autograd.gradgradcheck(Cube.apply, x, raise_exception=False)
    return first, second


@same
def test_wrong_jvp(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 3

    x = _x(torch, 2)
    with pytest.raises(RuntimeError, match="Jacobian computed with forward mode mismatch"):
        torch.autograd.gradcheck(Double.apply, x, check_forward_ad=True)


# --- arguments -----------------------------------------------------------------------------------


@same
def test_single_precision_warns(torch):
    x = _x(torch, 2, dtype=torch.float32)
    with pytest.warns(UserWarning, match="not a double precision floating point"):
        return torch.autograd.gradcheck(lambda x: x * 2, x, atol=1e-1, eps=1e-2)


@same
def test_nothing_to_check(torch):
    phrase = "gradcheck expects at least one input tensor to require gradient"
    with pytest.raises(ValueError, match=phrase):
        torch.autograd.gradcheck(lambda x: x, torch.ones(2, dtype=torch.float64))


@same
def test_overlapping_memory_is_refused(torch):
    x = torch.ones(1, dtype=torch.float64).expand(3).requires_grad_()
    with pytest.raises(RuntimeError, match="has a dimension with stride 0"):
        torch.autograd.gradcheck(lambda x: x * 2, x)


@same
@pytest.mark.parametrize(
    ("options", "phrase"),
    [
        ({"check_backward_ad": False}, "at least one of check_forward_ad or check_backward_ad"),
        (
            {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
            "requires check_backward_ad to be True",
        ),
        ({"check_batched_forward_grad": True}, "requires check_forward_ad to be True"),
    ],
)
def test_options_that_do_not_go_together(torch, options, phrase):
    with pytest.raises(AssertionError, match=phrase):
        torch.autograd.gradcheck(lambda x: x, _x(torch, 2), **options)


@same
def test_function_that_changes_its_shape(torch):
    calls = []

    def f(x):
        calls.append(1)
        return x[: 1 + len(calls) % 2]

    with pytest.raises((AssertionError, RuntimeError)):
        torch.autograd.gradcheck(f, _x(torch, 3))


@same
def test_signatures_are_pytorchs(torch):
    import inspect

    def spoken(fn):
        return [(p.name, str(p.kind), p.default if p.default is not p.empty else "required")
                for p in inspect.signature(fn).parameters.values()]  # fmt: skip

    return spoken(torch.autograd.gradcheck), spoken(torch.autograd.gradgradcheck)


# --- all columns at once -------------------------------------------------------------------------


def _lookup(x):
    """A function that looks at values, so it cannot be run on a batch."""
    return x * 2 if x.sum().item() > -1e9 else x


@pytest.mark.parametrize(
    "function",
    [
        _lookup,
        lambda x: x.detach().numpy().sum() * x,
        lambda x: x.clone().mul_(x),
        lambda x: x.sort()[0] * x,
        lambda x: tautograd.stack([a * 2 for a in x]),
    ],
)
def test_functions_that_cannot_be_run_on_a_batch_are_checked_all_the_same(function):
    x = tautograd.tensor([0.3, -1.2, 2.0], dtype=tautograd.float64, requires_grad=True)
    if function(x).requires_grad and "numpy" not in function.__code__.co_names:
        assert tautograd.autograd.gradcheck(function, x)
    else:
        assert not tautograd.autograd.gradcheck(function, x, raise_exception=False)


def test_message_says_where_and_by_how_much():
    def backward(grad, x):
        out = grad * 2
        out[1, 0] = out[1, 0] * 1.5
        return out

    x = _x(tautograd, 2, 2)
    with pytest.raises(RuntimeError) as caught:
        tautograd.autograd.gradcheck(_wrong(tautograd, backward), x)
    assert "input[1, 0]" in str(caught.value)
    assert "1 of 16 entries differ" in str(caught.value)


def _model(torch):
    """The loss of a small network as a function of its 512 parameters."""
    torch.manual_seed(0)
    weights = torch.randn(512, dtype=torch.float64).requires_grad_()
    data = torch.randn(8, 16, dtype=torch.float64)

    def loss(w):
        hidden = (data @ w[:256].reshape(16, 16)).tanh()
        return ((hidden @ w[256:].reshape(16, 16)).tanh() ** 2).sum()

    return loss, weights


@pytest.mark.slow
def test_full_check_of_512_parameters_takes_a_fifth_of_pytorchs_time():
    pytorch.set_num_threads(1)
    shares = []
    programs = [(engine, *_model(engine)) for engine in (pytorch, tautograd)]
    for engine, function, weights in programs:  # warm
        engine.autograd.gradcheck(function, weights, fast_mode=True)
    for _ in range(3):
        seconds = []
        for engine, function, weights in programs:
            start = time.perf_counter()
            assert engine.autograd.gradcheck(function, weights)
            seconds.append(time.perf_counter() - start)
        shares.append(seconds[1] / seconds[0])
    assert np.median(shares) <= 0.2, f"of PyTorch's time: {shares}"


@same
def test_functions_that_write_in_place(torch):
    x = _x(torch, 3)

    def f(x):
        y = x.clone()
        y[1] = x[0] * 2
        y.mul_(x)
        return y

    return (
        torch.autograd.gradcheck(f, x),
        torch.autograd.gradgradcheck(f, x),
        torch.autograd.gradcheck(f, x, check_forward_ad=True),
    )


@same
def test_empty_scalar_and_strided_inputs(torch):
    inputs = _x(torch, 0, 3), _x(torch, ()), _x(torch, 3, 2).detach().t().requires_grad_()
    return [torch.autograd.gradcheck(lambda x: (x * x).sum(), x) for x in inputs]


@same
@pytest.mark.parametrize("fast_mode", [False, True])
def test_tolerances(torch, fast_mode):
    wrong = _wrong(torch, lambda g, x: g * 2.001)
    x = torch.ones(5, dtype=torch.float64, requires_grad=True)
    return [
        torch.autograd.gradcheck(
            wrong, x, fast_mode=fast_mode, atol=atol, rtol=rtol, raise_exception=False
        )
        for atol, rtol in ((1e-5, 1e-3), (1e-2, 1e-3), (1e-6, 1e-5))
    ]


@same
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.filterwarnings("ignore:Input #. requires gradient and is not a double")
def test_low_precision_with_steps_that_it_can_tell(torch, dtype):
    x = torch.tensor([0.5, 1.0, 1.5], dtype=getattr(torch, dtype), requires_grad=True)
    loose = {"eps": 0.125, "atol": 0.1, "rtol": 0.1}
    checks = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    return [check(lambda x: x * x, (x,), **loose) for check in checks]
