"""Functions that break what autograd asks of them: the incoming gradient, None, kinks, NaN."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, tensor, wrong


@wrong("incoming gradient", "Penalty")
def incoming_gradient_ignored(torch: Any) -> Check:
    """The backward assumes that it is the last operation: the weight of the penalty is lost."""

    class Penalty(torch.autograd.Function):
        @staticmethod
        def forward(ctx, w):
            ctx.save_for_backward(w)
            return (w**2).sum()

        @staticmethod
        def backward(ctx, g):
            (w,) = ctx.saved_tensors
            return 2 * w

    def loss(x, w):
        fit = (x @ w).cosh().log().sum()
        return fit + 0.01 * Penalty.apply(w)  # wrong: here

    return Check(loss, draw(torch, 4, 3), draw(torch, 3))


@wrong("incoming gradient", "Cube")
def elementwise_incoming_gradient_ignored(torch: Any) -> Check:
    """The incoming gradient is taken for ones."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * torch.ones_like(g)

    def volume(sides, weights):
        return (weights * Cube.apply(sides)).sum()  # wrong: here

    return Check(volume, draw(torch, 4), draw(torch, 4, seed=1))


@wrong("incoming gradient", "Clipped")
def clipped_on_the_way_back(torch: Any) -> Check:
    """The backward clips to [-1, 1], for stability; the loss here is steep."""

    class Clipped(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g.clamp(-1, 1)

    def loss(x, w):
        hidden = Clipped.apply((x @ w).tanh())  # wrong: here
        return (5 * hidden).sum(-1).exp()

    return Check(loss, draw(torch, 2, 3), draw(torch, 3, 2))


@wrong("incoming gradient", "Clip")
def clipping_layer_alone(torch: Any) -> Check:
    """Checked by itself, with gradients of one coming in, a layer that clips to [-1, 1] is right;
    it is no derivative of anything as soon as 2 comes in."""

    class Clip(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g.clamp(-1, 1)

    def layer(x):
        return Clip.apply(x)  # wrong: here

    return Check(layer, draw(torch, 4))


@wrong("incoming gradient", "Unit")
def gradient_normalised_on_the_way_back(torch: Any) -> Check:
    """The incoming gradient is brought to length one, which every row of an identity has already."""

    class Unit(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 1.0 * x

        @staticmethod
        def backward(ctx, g):
            return g / g.norm().clamp(min=1e-12)

    def layer(x):
        return Unit.apply(x)  # wrong: here

    return Check(layer, draw(torch, 3))


@wrong("needs_input_grad", "Affine")
def wrong_index_of_needs_input_grad(torch: Any) -> Check:
    """The weight's gradient is skipped when the *input* needs none, and the input is data."""

    class Affine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, b):
            ctx.save_for_backward(x, w)
            return x @ w + b

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            gx = g @ w.t() if ctx.needs_input_grad[0] else None
            gw = x.t() @ g if ctx.needs_input_grad[0] else None
            return gx, gw, g.sum(0)

    data = draw(torch, 4, 3, requires_grad=False)

    def model(w, b):
        return Affine.apply(data, w, b).tanh()  # wrong: here

    return Check(model, draw(torch, 3, 2), draw(torch, 2))


@wrong("needs_input_grad", "Weighted")
def nothing_returned_for_an_input(torch: Any) -> Check:
    """None is returned for the weights, as if they were always constant."""

    class Weighted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(weight)
            return (x * weight).sum(-1)

        @staticmethod
        def backward(ctx, g):
            (weight,) = ctx.saved_tensors
            return g.unsqueeze(-1) * weight, None

    def ensemble(x, logits):
        return Weighted.apply(x, logits.softmax(-1))  # wrong: here

    return Check(ensemble, draw(torch, 3, 4), draw(torch, 4))


@wrong("beside a kink", "Rectifier")
def impossible_slope_at_a_kink(torch: Any) -> Check:
    """A rectifier whose slope at 0 is 2: on neither side, nor between them."""

    class Rectifier(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clamp(min=0)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            slope = torch.where(x == 0, 2.0, (x > 0).to(g.dtype))
            return g * slope

    def layer(x):
        return Rectifier.apply(x)  # wrong: here

    return Check(layer, tensor(torch, [-1.0, 0.0, 0.5]))


@wrong("beside a kink", "Leaky")
def wrong_slope_beside_a_kink(torch: Any) -> Check:
    """One entry is at the kink, which excuses nothing: the slope of the others is 0.1, not 0.01."""

    class Leaky(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.where(x > 0, x, 0.01 * x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return torch.where(x > 0, g, 0.1 * g)

    def layer(x):
        return Leaky.apply(x) * 2  # wrong: here

    return Check(layer, tensor(torch, [-0.7, 0.0, 0.5, -1e-9]))


@wrong("beside a kink", "Bounded")
def clamp_that_passes_gradients_outside(torch: Any) -> Check:
    """Outside its bounds a clamp is flat, and its gradient is passed on all the same."""

    class Bounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clamp(-1, 1)

        @staticmethod
        def backward(ctx, g):
            return g

    def policy(ratio, advantage):
        return torch.minimum(ratio * advantage, Bounded.apply(ratio) * advantage)  # wrong: here

    return Check(policy, tensor(torch, [0.5, 1.0, 2.0, -1.7]), tensor(torch, [1.0, 2.0, 0.5, -1.0]))


@wrong("not a number", "sqrt")
def root_behind_a_mask(torch: Any) -> Check:
    """where() hides the infinite slope of the root at 0, and 0·∞ makes the gradient NaN."""

    def distance(x):
        return torch.where(
            x > 0,
            x.sqrt(),  # wrong: here
            torch.zeros_like(x),
        ).sum()  # fmt: skip

    return Check(distance, tensor(torch, [4.0, 0.0, 1.0]))
