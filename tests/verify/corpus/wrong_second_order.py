"""Gradients that are right, whose own gradient is wrong: what a gradient penalty needs."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, wrong


@wrong("second order", "Cosine")
def derivative_kept_as_a_constant(torch: Any) -> Check:
    """The slope is computed in the forward, where nothing is recorded, and kept on the context."""

    class Cosine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.slope = -x.sin()
            return x.cos()

        @staticmethod
        def backward(ctx, g):
            return g * ctx.slope

    def wave(x, w):
        return Cosine.apply(x * w)  # wrong: here

    return Check(wave, draw(torch, 3), draw(torch, 3, seed=1), order=2)


@wrong("second order", "Cube")
def saved_and_detached(torch: Any) -> Check:
    """The backward detaches what it saved."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * g * x.detach() ** 2

    def potential(q):
        return Cube.apply(q).sum() + (q**4).sum()  # wrong: here

    return Check(potential, draw(torch, 3), order=2)


@wrong("second order", "Softplus", "Sigmoid")
def backward_of_the_backward(torch: Any) -> Check:
    """The backward is a Function of its own, and that one's rule lacks a factor."""

    class Sigmoid(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            s = x.sigmoid()
            ctx.save_for_backward(s)
            return s

        @staticmethod
        def backward(ctx, g):
            (s,) = ctx.saved_tensors
            return g * s

    class Softplus(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.log1p(x.exp())

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * Sigmoid.apply(x)  # wrong: or here

    def critic(x, w):
        return Softplus.apply(x @ w).sum(-1)  # wrong: here

    return Check(critic, draw(torch, 2, 3), draw(torch, 3, 2), order=2)


@wrong("second order", "Square")
def backward_under_no_grad(torch: Any) -> Check:
    """The backward saves memory with no_grad."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with torch.no_grad():
                slope = 2 * x
            return g * slope

    def energy(x, k):
        return (k * Square.apply(x)).sum()  # wrong: here

    return Check(energy, draw(torch, 3), draw(torch, 3, seed=1), order=2)


@wrong("second order", "Tanh")
def output_kept_without_its_graph(torch: Any) -> Check:
    """The output is kept on the context instead of being saved: it has no graph there."""

    class Tanh(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.tanh()
            ctx.y = y.detach()
            return y

        @staticmethod
        def backward(ctx, g):
            return g * (1 - ctx.y**2)

    def network(x, w):
        return Tanh.apply(x @ w).sum(-1)  # wrong: here

    return Check(network, draw(torch, 2, 3), draw(torch, 3, 2), order=2)


@wrong("second order", "Logistic")
def slope_through_numpy(torch: Any) -> Check:
    """The backward is written in NumPy."""
    import numpy as np

    class Logistic(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.sigmoid(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            s = 1 / (1 + np.exp(-x.detach().numpy()))
            return g * torch.from_numpy(s * (1 - s))

    def growth(x):
        return Logistic.apply(x) * x  # wrong: here

    return Check(growth, draw(torch, 4), order=2)


@wrong("second order", "Norm")
def gradient_penalty(torch: Any) -> Check:
    """A penalty on the length of a gradient: the critic's norm keeps its length as a constant."""

    class Norm(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            length = x.pow(2).sum(-1, keepdim=True).sqrt()
            ctx.save_for_backward(x)
            ctx.length = length
            return length.squeeze(-1)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g.unsqueeze(-1) * x / ctx.length

    def critic(x):
        return Norm.apply(x).pow(2)  # wrong: here

    def penalty(x):
        x = x * 1.0
        (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
        return (slope.norm(dim=-1) - 1).pow(2).mean()

    return Check(penalty, draw(torch, 2, 3).detach().requires_grad_())


@wrong("second order", "Gaussian", "GaussianSlope")
def sign_in_the_second_rule(torch: Any) -> Check:
    """The rule of the slope has the sign of x² - 1 the wrong way round."""

    class GaussianSlope(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return -x * torch.exp(-x * x / 2)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (1 - x * x) * torch.exp(-x * x / 2)

    class Gaussian(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.exp(-x * x / 2)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * GaussianSlope.apply(x)  # wrong: or here

    def density(x):
        return Gaussian.apply(x).sum()  # wrong: here

    return Check(density, draw(torch, 4), order=2)


@wrong("second order", "Matmul")
def one_factor_detached_going_back(torch: Any) -> Check:
    """Of a product's backward one factor is detached, so mixed derivatives are lost."""

    class Matmul(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g @ b.t().detach(), a.t() @ g

    def bilinear(a, b):
        return Matmul.apply(a, b).diagonal()  # wrong: here

    return Check(bilinear, draw(torch, 2, 3), draw(torch, 3, 2), order=2)
