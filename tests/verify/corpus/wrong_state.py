"""Gradients that use a value from another moment, or are changed on their way by a hook."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, filled, wrong


@wrong("stale value", "Scale")
def input_kept_on_the_class(torch: Any) -> Check:
    """The input is kept on the class, so the second call overwrites what the first one needs."""

    class Scale(torch.autograd.Function):
        last: Any = None

        @staticmethod
        def forward(ctx, x):
            Scale.last = x.detach().clone()
            return x.sin() * x

        @staticmethod
        def backward(ctx, g):
            x = Scale.last
            return g * (x.cos() * x + x.sin())

    def twice(x):
        for _ in range(2):
            x = Scale.apply(x)  # wrong: here
        return x

    return Check(twice, draw(torch, 4, low=0.5, high=1.5))


@wrong("stale value", "Bump")
def saved_before_the_update(torch: Any) -> Check:
    """What is saved is a copy from before the value was updated in place."""

    class Bump(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.kept = y.clone()
            y.add_(1).pow_(2)
            return y

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.kept * ctx.kept

    def rate(x):
        return Bump.apply(x).log()  # wrong: here

    return Check(rate, draw(torch, 4))


@wrong("stale value", "Whiten")
def statistics_of_the_last_batch(torch: Any) -> Check:
    """The backward of a whitening uses the running statistics, not the batch's own."""
    running = draw(torch, 3, low=0.5, requires_grad=False).abs() + 0.5

    class Whiten(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x / x.pow(2).mean(0).sqrt()

        @staticmethod
        def backward(ctx, g):
            return g / running

    def layer(x, w):
        return Whiten.apply(x) @ w  # wrong: here

    return Check(layer, draw(torch, 4, 3), draw(torch, 3, 2))


@wrong("in place through .data", "sigmoid")
def output_changed_through_data(torch: Any) -> Check:
    """sigmoid's gradient needs its output, which is scaled behind its back."""

    def activation(x):
        y = torch.sigmoid(x)  # wrong: or here
        y.data.mul_(3)  # wrong: here
        return y

    return Check(activation, draw(torch, 4))


@wrong("in place through .data", "tanh")
def state_clipped_through_data(torch: Any) -> Check:
    """A recurrent state is clipped through .data, so tanh sees another output than it gave."""

    def unrolled(xs, u):
        h = torch.zeros(2, dtype=xs.dtype)
        for x in xs.unbind(0):
            h = torch.tanh(x + u @ h)  # wrong: or here
            h.data.clamp_(-0.3, 0.3)  # wrong: here
        return h

    return Check(unrolled, draw(torch, 3, 2, low=0.5, high=1.5), draw(torch, 2, 2))


@wrong("in place through .data", "mul")
def factor_cleared_through_data(torch: Any) -> Check:
    """A work array is cleared while a product still needs it."""

    def product(x, w):
        work = x * 2
        out = work * w  # wrong: or here
        work.data.zero_()  # wrong: here
        return out.sum()

    return Check(product, draw(torch, 4), draw(torch, 4, seed=1))


@wrong("in place through .data", "matmul", "mm")
def weight_normalised_through_data(torch: Any) -> Check:
    """A weight is normalised in place between the product that uses it and the next one."""

    def layer(x, v):
        w = v * 1.5
        first = x @ w  # wrong: or here
        w.data.div_(4)  # wrong: here
        return first.tanh()

    return Check(layer, draw(torch, 2, 3), draw(torch, 3, 2))


@wrong("in place through .data", "softmax")
def probabilities_smoothed_through_data(torch: Any) -> Check:
    """Label smoothing applied to probabilities through .data: softmax's rule reads them."""

    def smoothed(logits):
        p = logits.softmax(-1)  # wrong: or here
        p.data.add_(0.25)  # wrong: here
        return p.log().sum(-1)

    return Check(smoothed, draw(torch, 2, 3))


@wrong("hook", "register_hook")
def hook_that_scales(torch: Any) -> Check:
    """A hook, left from an experiment, multiplies the gradient by 1.1."""

    def network(x, w1, w2):
        hidden = torch.tanh(x @ w1)
        hidden.register_hook(lambda g: g * 1.1)  # wrong: here
        return hidden @ w2

    return Check(network, draw(torch, 2, 3), draw(torch, 3, 4), draw(torch, 4, 2))


@wrong("hook", "register_hook")
def hook_that_clips(torch: Any) -> Check:
    """A hook clips the gradient of the logits."""

    def loss(x, w):
        logits = x @ w
        logits.register_hook(lambda g: g.clamp(-0.05, 0.05))  # wrong: here
        return torch.nn.functional.cross_entropy(logits, torch.tensor([1, 0, 2]))

    return Check(loss, draw(torch, 3, 4), draw(torch, 4, 3))


@wrong("hook", "register_hook")
def hook_that_masks(torch: Any) -> Check:
    """A hook zeroes the gradient of one head, and the function goes on using it."""

    def heads(x, w):
        parts = torch.einsum("bi,hio->hbo", x, w)
        first = parts[0]
        first.register_hook(torch.zeros_like)  # wrong: here
        return (first * parts[1]).relu()

    return Check(heads, draw(torch, 2, 3), draw(torch, 2, 3, 2))


@wrong("hook", "register_hook")
def hook_on_a_parameter(torch: Any) -> Check:
    """The constructor leaves a hook on the weight that halves its gradient."""
    nn = torch.nn

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 2, dtype=torch.float64)
            self.linear.weight.register_hook(lambda g: 0.5 * g)  # wrong: here

        def forward(self, x):
            return self.linear(x).sigmoid()

    return Check(filled(Layer(), torch), draw(torch, 2, 3))


@wrong("hook", "register_full_backward_hook", module="first")
def full_backward_hook(torch: Any) -> Check:
    """A module's backward hook returns another gradient for its input."""
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.zero = nn.Linear(3, 3)
            self.first = nn.Linear(3, 2)
            self.first.register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))  # wrong: here

        def forward(self, x):
            x = self.zero(x).tanh()
            return self.first(x).exp()  # wrong: or here

    return Check(filled(Net(), torch), draw(torch, 2, 3))
