"""Custom operations under grad, jvp and vmap of `torch.func`, and in forward mode."""

from __future__ import annotations

import pytest

from tests.both import same

from .custom_squares import square, square_with_setup


@same
def test_in_func_grad(torch):
    square = square_with_setup(torch)
    x = torch.tensor(3.0)

    def f(x):
        return square.apply(x) * x

    return torch.func.grad(f)(x), torch.func.grad(torch.func.grad(f))(x)


@same
def test_in_func_jvp(torch):
    square = square_with_setup(torch)
    x = torch.tensor([1.0, 2.0])
    return torch.func.jvp(square.apply, (x,), (torch.ones(2),))


@same
def test_generated_vmap_rule(torch):
    class Cube(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * x**2

    x = torch.arange(6.0).reshape(2, 3)
    per_sample = torch.vmap(torch.func.grad(lambda x: Cube.apply(x).sum()))(x)
    return torch.vmap(Cube.apply)(x), torch.vmap(Cube.apply, in_dims=1)(x), per_sample


@same
def test_own_vmap_rule(torch):
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * 2 + y

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, grad

        @staticmethod
        def vmap(info, in_dims, x, y):
            seen.append((info.batch_size, info.randomness, in_dims))
            return Double.apply(x.movedim(in_dims[0], 0), y), 0

    x = torch.arange(6.0).reshape(2, 3)
    return torch.vmap(Double.apply, in_dims=(0, None))(x, torch.ones(3)), seen


@same
def test_missing_tangents_are_zeros(torch):
    seen = []

    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(x, y, scale):
            return x + y * scale

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.scale = inputs[2]

        @staticmethod
        def jvp(ctx, tx, ty, ts):
            seen.append([tx is None, ty is None, ts is None])
            return tx + ty * ctx.scale

    x, y = torch.ones(2), torch.ones(2)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.tensor([3.0, 4.0]))
        out = Sum.apply(dual, y, 2.0)
        return torch.autograd.forward_ad.unpack_dual(out).tangent.clone(), seen


@same
def test_forward_mode(torch):
    fwd = torch.autograd.forward_ad
    with fwd.dual_level():
        x = fwd.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
        return tuple(fwd.unpack_dual(square_with_setup(torch).apply(x)))


@same
def test_forward_mode_without_a_jvp(torch):
    fwd = torch.autograd.forward_ad
    with fwd.dual_level():
        x = fwd.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
            square(torch).apply(x)
