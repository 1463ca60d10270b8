"""Loops that look like a mistake of their neighbourhood: the same names, calls or shapes, and sound."""

from __future__ import annotations

from typing import Any

from .case import sound
from .parts import batches, classes, perceptron, regression, waves


@sound("look-alikes")
def custom_functions_called_as_operations(torch: Any):
    """Straight-through functions called Sign and Round: their backward is not that of the operation."""
    nn, F = torch.nn, torch.nn.functional
    x, _ = classes(torch)

    class Sign(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sign()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (x.abs() <= 1)

    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.round(4 * x) / 4

        @staticmethod
        def backward(ctx, g):
            return g

    def loop():
        encoder, middle, decoder = nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 4)
        model = nn.ModuleList([encoder, middle, decoder])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for (batch,) in batches(4, x):
            optimizer.zero_grad()
            code = Round.apply(middle(Sign.apply(encoder(batch))))
            F.mse_loss(decoder(code), batch).backward()
            optimizer.step()

    return loop


@sound("look-alikes")
def clamps_that_are_kept(torch: Any):
    """In place, with `out`, or in a name: every result is somewhere."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model, mean = perceptron(torch, 4, 6, 1), perceptron(torch, 4, 6, 1)
        mean.requires_grad_(False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        shown = []
        for inputs, targets in batches(3, x, y):
            optimizer.zero_grad()
            F.mse_loss(model(inputs), targets).backward()
            for p in model.parameters():
                p.grad.data.clamp_(-1, 1)
                torch.clamp(p.grad, -0.9, 0.9, out=p.grad)
                p.grad = p.grad.mul(0.9)
                shown.append(p.grad.clone().mul_(2).norm().item())
            optimizer.step()
            for m, p in zip(mean.parameters(), model.parameters(), strict=True):
                m.mul_(0.9).add_(p.detach(), alpha=0.1)
        assert len(shown) == 44

    return loop


@sound("look-alikes")
def one_optimizer_after_the_other(torch: Any):
    """Two optimizers for the same weights, each for a phase; the second has its own scheduler."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 6, 1)
        early = torch.optim.Adam(model.parameters(), lr=0.01)
        late = torch.optim.SGD(model.parameters(), lr=0.05)
        scheduler = torch.optim.lr_scheduler.ExponentialLR(late, 0.9)
        for epoch in range(2):
            for inputs, targets in batches(6, x, y):
                optimizer = late if epoch else early
                optimizer.zero_grad()
                F.mse_loss(model(inputs), targets).backward()
                optimizer.step()
                if epoch:
                    scheduler.step()

    return loop


@sound("look-alikes")
def an_optimizer_around_another(torch: Any):
    """Lookahead: an optimizer of one's own holds the same weights, and looks at no gradient."""
    F = torch.nn.functional
    x, y = regression(torch)

    class Lookahead(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {})
            held = (p for group in self.param_groups for p in group["params"])
            self.slow = {p: p.detach().clone() for p in held}

        @torch.no_grad()
        def step(self, closure=None):
            for p, slow in self.slow.items():
                slow.lerp_(p, 0.5)
                p.copy_(slow)

    def loop():
        model = perceptron(torch, 4, 6, 1)
        fast = torch.optim.Adam(model.parameters(), lr=0.02)
        slow = Lookahead(model.parameters())
        for inputs, targets in batches(3, x, y):
            fast.zero_grad()
            F.mse_loss(model(inputs), targets).backward()
            fast.step()
            slow.step()

    return loop


@sound("look-alikes")
def batch_norms_with_statistics_of_their_own(torch: Any):
    """Fine-tuning in eval mode: the running statistics were loaded, and are to stay."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    def loop():
        norm = nn.BatchNorm1d(8)
        norm.running_mean.add_(0.3)
        model = nn.Sequential(nn.Linear(4, 8), norm, nn.ReLU(), nn.Linear(8, 3)).eval()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for inputs, targets in batches(6, x, y):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()

    return loop


@sound("look-alikes")
def sequences_read_in_many_ways(torch: Any):
    """The last moment of outputs with time or batch first, one sample alone, and all hidden states."""
    nn = torch.nn
    x, _ = waves(torch)

    def loop():
        early, late = nn.GRU(1, 6), nn.LSTM(1, 6, batch_first=True)
        head = nn.Linear(6, 1)
        model = nn.ModuleList([early, late, head])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for step in range(10):
            optimizer.zero_grad()
            last = early(x.transpose(0, 1))[0][-1] + late(x)[0][:, -1]
            alone = early(x[:1].transpose(0, 1))[0][:, -1]
            output, (hidden, _) = late(x)
            wanted = step % len(x)
            loss = head(last).pow(2).mean() + head(alone).abs().mean()
            loss = loss + head(output[wanted]).mean() ** 2 + head(hidden[-1]).pow(2).mean()
            loss.backward()
            optimizer.step()

    return loop


@sound("look-alikes")
def experts_stacked_on_axis_0(torch: Any):
    """A softmax over axis 0 that is meant: the axis is that of the experts, not of the batch."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    def loop():
        gate = nn.Linear(4, 3)
        weights = nn.Parameter(0.5 * torch.randn(3, 4, 1))
        optimizer = torch.optim.Adam([*gate.parameters(), weights], lr=0.02)
        for inputs, targets in batches(3, x, y):
            optimizer.zero_grad()
            answers = torch.bmm(inputs.expand(3, -1, -1), weights)
            shares = F.softmax(gate(inputs).T.unsqueeze(2), 0)
            F.mse_loss((shares * answers).sum(0), targets).backward()
            optimizer.step()

    return loop


@sound("look-alikes")
def a_number_whose_slope_is_asked_for(torch: Any):
    """A point in time that requires grad, for a derivative in the loss: it is not to be learned."""
    x, _ = regression(torch)

    def loop():
        weight = torch.nn.Parameter(torch.randn(4))
        optimizer = torch.optim.SGD([weight], lr=0.01)
        time = torch.tensor(0.5, requires_grad=True)
        for (batch,) in batches(3, x):
            optimizer.zero_grad()
            curve = torch.sin(batch @ weight * time).sum()
            (slope,) = torch.autograd.grad(curve, time, create_graph=True)
            ((slope - curve) ** 2 / len(batch)).backward()
            optimizer.step()

    return loop


@sound("look-alikes")
def a_scale_that_overflows_in_a_division(torch: Any):
    """The scale begins far too high, and the first steps are skipped, all at the same division."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**120)
        for _ in range(3):
            for inputs, targets in batches(4, x, y):
                optimizer.zero_grad()
                loss = F.mse_loss(model(inputs) / 0.01, targets)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()

    return loop


@sound("look-alikes")
def a_multiplier_that_is_moved_now_and_then(torch: Any):
    """The price of a constraint, a number in no optimizer: it is moved by hand, every fourth step."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = torch.nn.Linear(4, 1)
        price = torch.zeros(1, requires_grad=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step, (inputs, targets) in enumerate(batches(3, x, y)):
            excess = model.weight.abs().sum() - 0.2
            optimizer.zero_grad()
            (F.mse_loss(model(inputs), targets) + price.sum() * excess).backward()
            optimizer.step()
            if step % 4 == 3:
                price.data += 0.05 * price.grad
                price.grad.zero_()

    return loop


@sound("look-alikes")
def factors_that_take_turns(torch: Any):
    """Two factors of a matrix: one loss, both gradients cleared, and one of them stepped, in turn."""

    def loop():
        left, right = torch.nn.Parameter(torch.randn(6, 2)), torch.nn.Parameter(torch.randn(5, 2))
        turns = [torch.optim.SGD([left], lr=0.05), torch.optim.SGD([right], lr=0.05)]
        wanted = torch.randn(6, 5)
        for step in range(12):
            for optimizer in turns:
                optimizer.zero_grad()
            torch.nn.functional.mse_loss(left @ right.T, wanted).backward()
            turns[step % 2].step()

    return loop
