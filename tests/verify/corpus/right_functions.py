"""Right gradients of custom Functions and hooks, and of gradients themselves."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, right, tensor


@right("custom Function")
def right_function_with_double_backward(torch: Any) -> Check:
    """A swish by hand that is right, to second order."""

    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x.sigmoid()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            s = x.sigmoid()
            return g * s * (1 + x * (1 - s))

    return Check(lambda x, w: Swish.apply(x @ w), draw(torch, 2, 3), draw(torch, 3, 2), order=2)


@right("custom Function")
def right_function_with_forward_mode(torch: Any) -> Check:
    """A quotient by hand with a backward and a jvp, both right."""

    class Ratio(torch.autograd.Function):
        @staticmethod
        def forward(a, b):
            return a / b

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g / b, -g * a / b**2

        @staticmethod
        def jvp(ctx, ta, tb):
            a, b = ctx.saved_tensors
            return ta / b - tb * a / b**2

    return Check(lambda a, b: Ratio.apply(a, 1 + b * b), draw(torch, 3), draw(torch, 3, seed=1))


@right("custom Function")
def right_function_with_several_outputs(torch: Any) -> Check:
    """Value and norm at once, of which one is used."""

    class Split(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2, x.pow(2).sum()

        @staticmethod
        def backward(ctx, g_double, g_norm):
            (x,) = ctx.saved_tensors
            return 2 * g_double + 2 * x * g_norm

    return Check(lambda x: Split.apply(x)[1].log(), draw(torch, 3))


@right("custom Function")
def right_function_in_place(torch: Any) -> Check:
    """A Function that changes its input and says so."""

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    return Check(lambda x: Double.apply(x * 1).sin(), draw(torch, 3))


@right("hook")
def hook_that_only_looks(torch: Any) -> Check:
    """A hook that logs and returns nothing changes nothing."""
    seen: list[float] = []

    def network(x):
        hidden = x.tanh()
        if hidden.requires_grad:
            hidden.register_hook(lambda g: seen.append(float(g.sum())))
        return hidden * 2

    return Check(network, draw(torch, 3))


@right("second order")
def gradient_penalty_done_right(torch: Any) -> Check:
    """A loss with a gradient inside."""

    def penalty(x, w):
        x = x * 1.0
        score = torch.nn.functional.softplus(x @ w).sum()
        (slope,) = torch.autograd.grad(score, x, create_graph=True)
        return (slope.norm(dim=-1) - 1).pow(2).mean()

    return Check(penalty, draw(torch, 2, 3), draw(torch, 3, 2))


@right("second order")
def smooth_to_second_order(torch: Any) -> Check:
    """Products, powers, exponentials: the whole Hessian."""
    return Check(
        lambda x, y: (x * y).sin() * y.exp() + x**3, draw(torch, 3), draw(torch, 3, seed=1), order=2
    )


@right("second order")
def kink_of_the_second_derivative(torch: Any) -> Check:
    """relu(x)² has a continuous gradient and a jump in its second derivative, at 0 here."""
    return Check(lambda x: torch.relu(x) ** 2, tensor(torch, [0.0, 1.0, -1.0]), order=2)


@right("second order")
def attention_to_second_order(torch: Any) -> Check:
    """Softmax attention, twice."""

    def attention(q, k, v):
        return (q @ k.mT).softmax(-1) @ v

    return Check(attention, *(draw(torch, 2, 2, seed=i) for i in range(3)), order=2)
