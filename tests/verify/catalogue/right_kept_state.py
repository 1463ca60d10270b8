"""State that outlives a call and is no stale value: constants, statistics, caches that are renewed in time."""

from __future__ import annotations

import functools

from .rows import right_program
from .table import draw, leaf

KIND = "kept state"


@right_program(KIND, "mask kept by shape", batch="fourth")
def _(torch):
    kept = {}

    def program(x):
        if x.shape not in kept:
            kept[x.shape] = torch.ones(x.shape, dtype=x.dtype).tril()
        return (x * kept[x.shape]).tanh()

    return program, draw(torch, 3, 3)


@right_program(KIND, "frequencies behind lru_cache", batch="fourth")
def _(torch):
    @functools.lru_cache
    def frequencies(n):
        return 1.0 / 10.0 ** torch.linspace(0, 1, n, dtype=torch.float64)

    return lambda x: (x[:, None] * frequencies(4)).sin(), draw(torch, 3)


@right_program(KIND, "weight cache compared with the weight", batch="fourth")
def _(torch):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(draw(torch, 3, 2).detach())
            self.key = self.kept = None

        def forward(self, x):
            if self.key is None or not torch.equal(self.key, self.w):
                self.key = self.w.detach().clone()
                self.kept = self.key.norm()
            # The kept norm only decides whether to rescale, as the weight's own norm would.
            return x @ self.w if float(self.kept) < 1e6 else x @ self.w * 0.5

    return Layer(), draw(torch, 4, 3)


@right_program(KIND, "cache of a graph that is made anew", batch="fourth")
def _(torch):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(draw(torch, 3, 2).detach())
            self.kept = None

        def weight(self):
            if self.kept is None:
                self.kept = self.w / self.w.norm()
            return self.kept

        def forward(self, x):
            self.kept = None
            return x @ self.weight() + (x @ self.weight()).sin()

    return Layer(), draw(torch, 4, 3)


@right_program(KIND, "inverse kept for evaluation only", batch="fourth")
def _(torch):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter((draw(torch, 3, 3) + 3 * torch.eye(3)).detach())
            self.inverse = None

        def train(self, mode=True):
            self.inverse = None
            return super().train(mode)

        def forward(self, x):
            if self.training:
                return torch.linalg.solve(self.w, x)
            if self.inverse is None:
                self.inverse = self.w.detach().inverse()
            return self.inverse @ x

    return Layer(), draw(torch, 3, 2)


for _momentum in (0.1, None):

    @right_program(KIND, f"batch norm, momentum {_momentum}", batch="fourth")
    def _(torch, momentum=_momentum):
        return torch.nn.BatchNorm1d(3, momentum=momentum).double(), draw(torch, 6, 3)


@right_program(KIND, "batch norm in evaluation, after training", batch="fourth")
def _(torch):
    layer = torch.nn.BatchNorm1d(3).double()
    for seed in range(3):
        layer(draw(torch, 6, 3, seed=seed))
    return layer.eval(), draw(torch, 6, 3)


@right_program(KIND, "spectral norm, converged", batch="fourth")
def _(torch):
    torch.manual_seed(0)
    layer = torch.nn.utils.spectral_norm(torch.nn.Linear(3, 2).double(), n_power_iterations=200)
    layer(draw(torch, 4, 3))
    return layer, draw(torch, 4, 3)


@right_program(KIND, "spectral norm in evaluation", batch="fourth")
def _(torch):
    torch.manual_seed(0)
    layer = torch.nn.utils.spectral_norm(torch.nn.Linear(3, 2).double())
    for _ in range(5):
        layer(draw(torch, 4, 3))
    return layer.eval(), draw(torch, 4, 3)


@right_program(KIND, "average of inputs that is only kept", batch="fourth")
def _(torch):
    class Watch(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("average", torch.zeros(3, dtype=torch.float64))
            self.seen = []

        def forward(self, x):
            self.average = 0.9 * self.average + 0.1 * x.detach().mean(0)
            self.seen.append(x.detach().abs().max())
            return x.sin() * 2

    return Watch(), draw(torch, 4, 3)


@right_program(KIND, "teacher that follows the student", batch="fourth")
def _(torch):
    class Taught(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(draw(torch, 3, 2).detach())
            self.register_buffer("teacher", draw(torch, 3, 2, seed=1).detach())

        def forward(self, x):
            loss = ((x @ self.w).tanh() - (x @ self.teacher).tanh()).square().mean()
            self.teacher = 0.99 * self.teacher + 0.01 * self.w.detach()
            return loss

    return Taught(), draw(torch, 4, 3)


@right_program(KIND, "queue of keys from before", batch="fourth")
def _(torch):
    queue = [draw(torch, 5, 3, seed=2).detach()]

    def program(q):
        logits = q @ queue[0].T
        queue[0] = torch.cat([queue[0][len(q) :], q.detach()])
        return torch.logsumexp(logits, 1) - logits[:, 0]

    return program, draw(torch, 2, 3)


@right_program(KIND, "hidden state carried over", batch="fourth")
def _(torch):
    class Stateful(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = torch.nn.RNNCell(3, 2).double()
            self.hidden = None

        def forward(self, x):
            hidden = self.cell(x, self.hidden)
            self.hidden = hidden.detach()
            return hidden

    torch.manual_seed(0)
    layer = Stateful()
    layer(draw(torch, 4, 3, seed=5))
    return layer, draw(torch, 4, 3)


@right_program(KIND, "observations normalised by those before", batch="fourth")
def _(torch):
    class Normalise(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.mean, self.count = torch.zeros(3, dtype=torch.float64), 1.0

        def forward(self, x):
            y = (x - self.mean) / 2
            self.count += len(x)
            self.mean = self.mean + (x.detach() - self.mean).sum(0) / self.count
            return y.tanh()

    return Normalise(), draw(torch, 4, 3)


@right_program(KIND, "root finding from the last root", batch="fourth")
def _(torch):
    start = [torch.ones(3, dtype=torch.float64)]

    class Root(torch.autograd.Function):
        """y with y + y³ = x."""

        @staticmethod
        def forward(ctx, x):
            y = start[0]
            for _ in range(60):
                y = y - (y + y**3 - x) / (1 + 3 * y**2)
            start[0] = y.detach().clone()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g / (1 + 3 * y**2)

    return lambda x: Root.apply(x) * 2, draw(torch, 3)


@right_program(KIND, "factors kept by the matrix itself", batch="fourth")
def _(torch):
    kept = {}

    class Solve(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            key = a.detach().numpy().tobytes()
            if key not in kept:
                kept.clear()
                kept[key] = a.detach().inverse()
            y = kept[key] @ b
            ctx.save_for_backward(kept[key], y)
            return y

        @staticmethod
        def backward(ctx, g):
            inverse, y = ctx.saved_tensors
            gb = inverse.T @ g
            return -gb @ y.T, gb

    a = (draw(torch, 3, 3) + 4 * torch.eye(3)).detach().requires_grad_()
    return Solve.apply, a, draw(torch, 3, 2)


@right_program(KIND, "scale set from the first data, long ago", batch="fourth")
def _(torch):
    class ActNorm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
            self.register_buffer("done", torch.tensor(False))

        def forward(self, x):
            if not self.done:
                with torch.no_grad():
                    self.scale.copy_(1 / x.std(0))
                    self.done.fill_(True)
            return x * self.scale

    layer = ActNorm()
    layer(draw(torch, 6, 3, seed=9))
    return layer, draw(torch, 6, 3)


@right_program(KIND, "number of calls decides a schedule", batch="fourth")
def _(torch):
    class Annealed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.step = 0

        def forward(self, x):
            self.step += 1
            return (x * min(1.0, self.step / 100)).tanh()

    return Annealed(), draw(torch, 4)


@right_program(KIND, "best loss so far is remembered", batch="fourth")
def _(torch):
    best = [float("inf")]

    def program(x):
        loss = (x**2).mean()
        best[0] = min(best[0], loss.item())
        return loss

    return program, draw(torch, 4)


@right_program(KIND, "memory read at the call, written after", batch="fourth")
def _(torch):
    class Memory(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.keys = draw(torch, 4, 3, seed=4).detach()

        def forward(self, x):
            out = torch.softmax(x @ self.keys.T, -1) @ self.keys
            self.keys = torch.cat([self.keys[1:], x[:1].detach()])
            return out

    return Memory(), draw(torch, 2, 3)


@right_program(KIND, "loss weights from the losses before", batch="fourth")
def _(torch):
    last = [leaf(torch, [1.0, 1.0]).detach()]

    def program(x):
        losses = torch.stack([(x**2).mean(), x.sin().mean()])
        total = (losses * torch.softmax(last[0], 0)).sum()
        last[0] = losses.detach()
        return total

    return program, draw(torch, 4)


@right_program(KIND, "scale fitted to other data", batch="fourth")
def _(torch):
    kept = {}

    def program(x):
        if "scale" not in kept:
            kept["scale"] = x.detach().std()
        return (x / kept["scale"]).tanh()

    program(draw(torch, 4, seed=3))
    return program, draw(torch, 4)


@right_program(KIND, "distance to the weights of the start", batch="fourth")
def _(torch):
    class Anchored(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(draw(torch, 3, 2).detach())
            self.start = None

        def forward(self, x):
            if self.start is None:
                self.start = self.w.detach().clone()
            return (x @ self.w).tanh().sum() + (self.w - self.start).square().sum()

    layer = Anchored()
    layer(draw(torch, 4, 3))
    with torch.no_grad():
        layer.w.mul_(1.5)
    return layer, draw(torch, 4, 3)
