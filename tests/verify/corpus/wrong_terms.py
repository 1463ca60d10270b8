"""Gradients with a term missing: a path through the mean, the gate, the state, or the output's own."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, wrong


@wrong("missing term", "Softmax")
def softmax_without_its_sum(torch: Any) -> Check:
    """p·g without the sum that every class shares."""

    class Softmax(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            p = torch.softmax(x, -1)
            ctx.save_for_backward(p)
            return p

        @staticmethod
        def backward(ctx, g):
            (p,) = ctx.saved_tensors
            return p * g

    def attention(q, k, v):
        scores = q @ k.mT / 2
        return Softmax.apply(scores) @ v  # wrong: here

    return Check(attention, *(draw(torch, 3, 4, seed=i) for i in range(3)))


@wrong("missing term", "LogSoftmax")
def log_softmax_without_the_incoming_sum(torch: Any) -> Check:
    """Right when the incoming gradient sums to one, as it does in no smoothed loss."""

    class LogSoftmax(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x - x.logsumexp(-1, keepdim=True)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g - y.exp()

    def distillation(student, teacher):
        logp = LogSoftmax.apply(student)  # wrong: here
        return -(teacher.softmax(-1) * logp).sum(-1).mean()

    return Check(distillation, draw(torch, 2, 4), draw(torch, 2, 4, seed=1))


@wrong("missing term", "UnitLength")
def normalised_without_projection(torch: Any) -> Check:
    """x/|x| as if the length were constant."""

    class UnitLength(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            length = x.norm(dim=-1, keepdim=True)
            ctx.save_for_backward(length)
            return x / length

        @staticmethod
        def backward(ctx, g):
            (length,) = ctx.saved_tensors
            return g / length

    def similarity(a, b):
        a = UnitLength.apply(a)  # wrong: here
        b = torch.nn.functional.normalize(b, dim=-1)
        return (a @ b.t()).exp()

    return Check(similarity, draw(torch, 2, 3), draw(torch, 3, 3))


@wrong("missing term", "Gate")
def gate_without_a_gradient(torch: Any) -> Check:
    """A gated linear unit passes its gradient to the value and none to the gate."""

    class Gate(torch.autograd.Function):
        @staticmethod
        def forward(ctx, value, gate):
            s = gate.sigmoid()
            ctx.save_for_backward(value, s)
            return value * s

        @staticmethod
        def backward(ctx, g):
            _value, s = ctx.saved_tensors
            return g * s, torch.zeros_like(g)

    def unit(x, w):
        value, gate = (x @ w).chunk(2, -1)
        return Gate.apply(value, gate)  # wrong: here

    return Check(unit, draw(torch, 2, 3), draw(torch, 3, 4))


@wrong("missing term", "Cell")
def recurrent_cell(torch: Any) -> Check:
    """The derivative of tanh is applied on the way to the input, not on the way to the state."""

    class Cell(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, h, u):
            new = torch.tanh(x + h @ u)
            ctx.save_for_backward(h, u, new)
            return new

        @staticmethod
        def backward(ctx, g):
            h, u, new = ctx.saved_tensors
            inner = g * (1 - new * new)
            return inner, g @ u.t(), h.t() @ inner

    def unrolled(xs, h, u):
        for x in xs.unbind(0):
            h = Cell.apply(x, h, u)  # wrong: here
        return h

    return Check(unrolled, draw(torch, 3, 2, 3), draw(torch, 2, 3), draw(torch, 3, 3))


@wrong("missing term", "TiedScore")
def tied_embedding(torch: Any) -> Check:
    """A table used to embed and to score: only the gradient of the scoring is returned."""

    class TiedScore(torch.autograd.Function):
        @staticmethod
        def forward(ctx, table, token):
            hidden = table[token]
            ctx.save_for_backward(table, hidden)
            return hidden @ table.t()

        @staticmethod
        def backward(ctx, g):
            _table, hidden = ctx.saved_tensors
            return g.t() @ hidden, None

    token = torch.tensor([1, 3])

    def model(table):
        logits = TiedScore.apply(table, token)  # wrong: here
        return torch.nn.functional.cross_entropy(logits, torch.tensor([0, 2]))

    return Check(model, draw(torch, 4, 3))


@wrong("missing term", "Divergence")
def gaussian_divergence(torch: Any) -> Check:
    """The divergence of a variational encoder: the -1/2 of the log variance has no derivative."""

    class Divergence(torch.autograd.Function):
        @staticmethod
        def forward(ctx, mean, log_variance):
            ctx.save_for_backward(mean, log_variance)
            return -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum()

        @staticmethod
        def backward(ctx, g):
            mean, log_variance = ctx.saved_tensors
            return g * mean, 0.5 * g * log_variance.exp()

    def bound(x, w):
        mean, log_variance = (x @ w).chunk(2, -1)
        sample = mean + 0.3 * (0.5 * log_variance).exp()
        return (sample**2).sum() + Divergence.apply(mean, log_variance)  # wrong: here

    return Check(bound, draw(torch, 2, 3), draw(torch, 3, 4))


@wrong("missing term", "Orbit")
def symplectic_step(torch: Any) -> Check:
    """Positions depend on the new momenta, which depend on the old positions; that path is lost."""

    class Orbit(torch.autograd.Function):
        @staticmethod
        def forward(ctx, q, p, step):
            ctx.save_for_backward(q)
            ctx.step = step
            p = p - step * q**3
            return q + step * p, p

        @staticmethod
        def backward(ctx, gq, gp):
            (q,) = ctx.saved_tensors
            step = ctx.step
            return gq - 3 * step * q**2 * gp, gp + step * gq, None

    def action(q, p):
        total = 0.0
        for _ in range(3):
            q, p = Orbit.apply(q, p, 0.3)  # wrong: here
            total = total + (p**2 / 2 - q**4 / 4).sum()
        return total

    return Check(action, draw(torch, 2, low=0.5), draw(torch, 2))


@wrong("missing term", "RunningProduct")
def running_product(torch: Any) -> Check:
    """The gradient of a running product counts only the last product it is in."""

    class RunningProduct(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.cumprod(-1)
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y / x

    def transmittance(density, colour):
        alpha = 1 - torch.exp(-density)
        through = RunningProduct.apply(1 - alpha)  # wrong: here
        return (through * alpha * colour).sum(-1)

    return Check(transmittance, draw(torch, 2, 4, low=0.1), draw(torch, 2, 4))
