"""Where two ways to a derivative disagree: a formula by hand, a forward rule beside a backward one."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, tensor, wrong


@wrong("analytical", "analytical gradient")
def rosenbrock_by_hand(torch: Any) -> Check:
    """The gradient written on paper has a sign wrong in its first component."""

    def valley(x):
        return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2

    def gradient(x):  # wrong: here
        steep = x[1] - x[0] ** 2
        return torch.stack([400 * x[0] * steep - 2 * (1 - x[0]), 200 * steep])

    return Check(valley, tensor(torch, [0.4, 0.9]), analytical=gradient)


@wrong("analytical", "analytical gradient")
def regression_by_hand(torch: Any) -> Check:
    """The normal equations without the 2/n of the mean square."""
    x, y = draw(torch, 5, 3, requires_grad=False), draw(torch, 5, requires_grad=False)

    def loss(w):
        return ((x @ w - y) ** 2).mean()

    def gradient(w):  # wrong: here
        return x.t() @ (x @ w - y)

    return Check(loss, draw(torch, 3), analytical=gradient)


@wrong("analytical", "analytical gradient")
def logistic_by_hand(torch: Any) -> Check:
    """Of two gradients returned by hand the second, the bias's, is too large by 1%."""
    x = draw(torch, 4, 2, requires_grad=False)
    y = tensor(torch, [0.0, 1.0, 1.0, 0.0], requires_grad=False)

    def loss(w, b):
        return torch.nn.functional.binary_cross_entropy_with_logits(x @ w + b, y)

    def gradients(w, b):  # wrong: here
        off = (x @ w + b).sigmoid() - y
        return x.t() @ off / 4, 1.01 * off.mean()

    return Check(loss, draw(torch, 2), tensor(torch, 0.3), analytical=gradients)


@wrong("analytical", "analytical gradient")
def force_by_hand(torch: Any) -> Check:
    """A Lennard-Jones force in closed form: 6 where the derivative brings 12."""

    def energy(r):
        return (r**-12 - r**-6).sum()

    def slope(r):  # wrong: here
        return -6 * r**-13 + 6 * r**-7

    return Check(energy, tensor(torch, [1.1, 1.3, 0.95]), analytical=slope)


@wrong("forward mode", "Sine")
def forward_rule_with_a_factor(torch: Any) -> Check:
    """The backward is right; the jvp beside it is twice too large."""

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.sin()

        @staticmethod
        def setup_context(ctx, inputs, output):
            (x,) = inputs
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x.cos()

        @staticmethod
        def jvp(ctx, t):
            (x,) = ctx.saved_tensors
            return 2 * t * x.cos()

    def signal(x, w):
        return Sine.apply(x @ w)  # wrong: here

    return Check(signal, draw(torch, 2, 3), draw(torch, 3, 2))


@wrong("forward mode", "Ratio")
def forward_rule_with_a_sign(torch: Any) -> Check:
    """The quotient's forward rule adds where it should subtract."""

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
            return ta / b + tb * a / b**2

    def odds(a, b):
        return Ratio.apply(a, 1 + b * b).log1p()  # wrong: here

    return Check(odds, draw(torch, 3, low=0.5), draw(torch, 3))


@wrong("forward mode", "Blend")
def forward_rule_with_a_term_missing(torch: Any) -> Check:
    """The jvp of x·tanh(x) keeps one of the product's two terms."""

    class Blend(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x.tanh()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            t = x.tanh()
            return g * (t + x * (1 - t * t))

        @staticmethod
        def jvp(ctx, tangent):
            (x,) = ctx.saved_tensors
            return tangent * x.tanh()

    def activation(x):
        return Blend.apply(x).exp()  # wrong: here

    return Check(activation, draw(torch, 4))
