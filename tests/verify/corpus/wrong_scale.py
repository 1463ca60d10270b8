"""Gradients of the wrong sign or size: rules copied with a slip, a constant mistyped, a 2 forgotten."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, tensor, wrong


@wrong("sign", "Swish")
def swish_in_a_network(torch: Any) -> Check:
    """The second term of swish's derivative is subtracted."""

    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x.sigmoid()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            s = x.sigmoid()
            return g * (s - x * s * (1 - s))

    def network(x, w1, w2):
        hidden = x @ w1
        hidden = Swish.apply(hidden)  # wrong: here
        return (hidden @ w2).tanh()

    return Check(network, draw(torch, 3, 4), draw(torch, 4, 5), draw(torch, 5, 2))


@wrong("sign", "Turn")
def rotary_position(torch: Any) -> Check:
    """The rotation by an angle is undone with the angle itself, not with its negative."""

    class Turn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, angle):
            ctx.save_for_backward(angle)
            a, b = x.unbind(-1)
            cos, sin = angle.cos(), angle.sin()
            return torch.stack([a * cos - b * sin, a * sin + b * cos], -1)

        @staticmethod
        def backward(ctx, g):
            (angle,) = ctx.saved_tensors
            a, b = g.unbind(-1)
            cos, sin = angle.cos(), angle.sin()
            return torch.stack([a * cos - b * sin, a * sin + b * cos], -1), None

    angles = tensor(torch, [0.1, 0.7, 1.9], requires_grad=False)

    def scores(query, key):
        turned = Turn.apply(query, angles)  # wrong: here
        return (turned * key).sum(-1).exp()

    return Check(scores, draw(torch, 3, 2), draw(torch, 3, 2, seed=1))


@wrong("sign", "SquaredDistance")
def squared_distance(torch: Any) -> Check:
    """Both points are pulled the same way."""

    class SquaredDistance(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return ((a - b) ** 2).sum(-1)

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            pull = 2 * g.unsqueeze(-1) * (a - b)
            return pull, pull

    def contrastive(anchor, positive, negative):
        near = ((anchor - positive) ** 2).sum(-1)
        far = SquaredDistance.apply(anchor, negative)  # wrong: here
        return torch.nn.functional.softplus(near - far).mean()

    return Check(contrastive, *(draw(torch, 4, 3, seed=i) for i in range(3)))


@wrong("sign", "CrossEntropy")
def softmax_cross_entropy(torch: Any) -> Check:
    """Target minus probability instead of probability minus target."""

    class CrossEntropy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, logits, target):
            p = logits.softmax(-1)
            ctx.save_for_backward(p, target)
            return -p.gather(1, target.unsqueeze(1)).log().mean()

        @staticmethod
        def backward(ctx, g):
            p, target = ctx.saved_tensors
            hot = torch.nn.functional.one_hot(target, p.shape[1]).to(p.dtype)
            return g * (hot - p) / len(p), None

    target = torch.tensor([0, 2, 1, 2])

    def loss(x, w, b):
        logits = x @ w + b
        return CrossEntropy.apply(logits, target)  # wrong: here

    return Check(loss, draw(torch, 4, 5), draw(torch, 5, 3), draw(torch, 3))


@wrong("sign", "Inverse")
def potential_of_charges(torch: Any) -> Check:
    """1/r is given +1/r² as its derivative: charges that should repel attract."""

    class Inverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, r):
            ctx.save_for_backward(r)
            return 1 / r

        @staticmethod
        def backward(ctx, g):
            (r,) = ctx.saved_tensors
            return g / r**2

    def energy(positions, charges):
        i, j = torch.tensor([0, 0, 1]), torch.tensor([1, 2, 2])
        r = ((positions[i] - positions[j]) ** 2).sum(-1).sqrt()
        return (charges[i] * charges[j] * Inverse.apply(r)).sum()  # wrong: here

    return Check(energy, draw(torch, 3, 3, seed=4), draw(torch, 3))


@wrong("factor", "MeanSquare")
def half_of_a_mean_square(torch: Any) -> Check:
    """The 2 of the square's derivative is forgotten."""

    class MeanSquare(torch.autograd.Function):
        @staticmethod
        def forward(ctx, p, t):
            ctx.save_for_backward(p, t)
            return ((p - t) ** 2).mean()

        @staticmethod
        def backward(ctx, g):
            p, t = ctx.saved_tensors
            return g * (p - t) / p.numel(), g * (t - p) / p.numel()

    def loss(x, w, y):
        predicted = x @ w
        return MeanSquare.apply(predicted, y)  # wrong: here

    return Check(loss, draw(torch, 6, 3), draw(torch, 3), draw(torch, 6))


@wrong("factor", "Gelu")
def gelu_with_a_rounded_constant(torch: Any) -> Check:
    """The derivative of the tanh approximation uses 0.045 where the function has 0.044715."""

    class Gelu(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            k = 0.7978845608028654
            t = torch.tanh(k * (x + 0.045 * x**3))
            return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * 0.045 * x * x))

    def block(x, up, down):
        hidden = Gelu.apply(x @ up)  # wrong: here
        return x + hidden @ down

    return Check(block, draw(torch, 2, 4), draw(torch, 4, 6), draw(torch, 6, 4))


@wrong("factor", "Tempered")
def one_part_in_a_thousand(torch: Any) -> Check:
    """A softmax's gradient is too large by a factor of 1.001."""

    class Tempered(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            p = x.softmax(-1)
            ctx.save_for_backward(p)
            return p

        @staticmethod
        def backward(ctx, g):
            (p,) = ctx.saved_tensors
            return 1.001 * p * (g - (p * g).sum(-1, keepdim=True))

    def entropy(logits):
        p = Tempered.apply(logits)  # wrong: here
        return -(p * p.log()).sum(-1)

    return Check(entropy, draw(torch, 3, 5, low=-2, high=2))


@wrong("factor", "Softplus")
def one_part_in_a_hundred(torch: Any) -> Check:
    """The rate of a Poisson loss has a gradient that is 1.01 times too large."""

    class Softplus(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.log1p(x.exp())

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 1.01 * g * x.sigmoid()

    counts = tensor(torch, [1.0, 4.0, 0.0, 2.0], requires_grad=False)

    def loss(x, w):
        rate = Softplus.apply(x @ w)  # wrong: here
        return (rate - counts * rate.log()).sum()

    return Check(loss, draw(torch, 4, 3), draw(torch, 3))


@wrong("factor", "Variance")
def variance_divided_twice_differently(torch: Any) -> Check:
    """The forward divides by n - 1, the backward by n."""

    class Variance(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return ((x - x.mean(0)) ** 2).sum(0) / (len(x) - 1)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * g * (x - x.mean(0)) / len(x)

    def decorrelated(x, w):
        y = x @ w
        spread = Variance.apply(y)  # wrong: here
        return torch.relu(1 - spread.sqrt()).mean() + (y * y).mean()

    return Check(decorrelated, draw(torch, 6, 3), draw(torch, 3, 3))


@wrong("factor", "Scores")
def attention_scale_forgotten(torch: Any) -> Check:
    """Scores are divided by √d going forward and not going back."""

    class Scores(torch.autograd.Function):
        @staticmethod
        def forward(ctx, q, k):
            ctx.save_for_backward(q, k)
            return q @ k.mT / q.shape[-1] ** 0.5

        @staticmethod
        def backward(ctx, g):
            q, k = ctx.saved_tensors
            return g @ k, g.mT @ q

    def attention(q, k, v):
        weights = torch.softmax(
            Scores.apply(q, k),  # wrong: here
            dim=-1,
        )
        return weights @ v

    return Check(attention, *(draw(torch, 2, 3, 4, seed=i) for i in range(3)))


@wrong("factor", "Kick")
def leapfrog_with_a_whole_kick(torch: Any) -> Check:
    """The half step of a leapfrog integrator goes back as a whole one."""

    class Kick(torch.autograd.Function):
        @staticmethod
        def forward(ctx, position, momentum, step):
            ctx.save_for_backward(position)
            ctx.step = step
            return momentum - 0.5 * step * torch.sin(position)

        @staticmethod
        def backward(ctx, g):
            (position,) = ctx.saved_tensors
            return -ctx.step * torch.cos(position) * g, g, None

    def simulate(position, momentum):
        for _ in range(3):
            momentum = Kick.apply(position, momentum, 0.2)  # wrong: here
            position = position + 0.2 * momentum
            momentum = momentum - 0.1 * torch.sin(position)
        return torch.stack([position, momentum])

    return Check(simulate, draw(torch, 3), draw(torch, 3, seed=1))
