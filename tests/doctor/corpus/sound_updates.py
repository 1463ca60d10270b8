"""Steps that are not `zero_grad, backward, step`: closures, perturbed weights, updates by hand."""

from __future__ import annotations

from typing import Any

from .case import sound
from .parts import batches, classes, perceptron, regression


@sound("updates")
def sharpness_aware(torch: Any):
    """SAM: two backwards per step; the first one's gradients only move the weights for the second."""
    F = torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for inputs, targets in batches(4, x, y):
            F.cross_entropy(model(inputs), targets).backward()
            moves = []
            with torch.no_grad():
                norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
                for p in model.parameters():
                    moves.append(0.05 * p.grad / (norm + 1e-12))
                    p.add_(moves[-1])
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            with torch.no_grad():
                for p, move in zip(model.parameters(), moves, strict=True):
                    p.sub_(move)
            optimizer.step()
            optimizer.zero_grad()

    return loop


@sound("updates")
def lbfgs_with_a_closure(torch: Any):
    """LBFGS calls the closure many times per step; most of its gradients are not stepped on."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 4, 1)
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4, line_search_fn="strong_wolfe")

        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            return loss

        for _ in range(6):
            optimizer.step(closure)

    return loop


@sound("updates")
def adam_with_a_closure(torch: Any):
    """Any optimizer may be given a closure."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 4, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for inputs, targets in [*batches(8, x, y), *batches(8, x, y), *batches(8, x, y)]:

            def closure(inputs=inputs, targets=targets):
                optimizer.zero_grad()
                loss = F.mse_loss(model(inputs), targets)
                loss.backward()
                return loss

            optimizer.step(closure)

    return loop


@sound("updates")
def optimizer_inside_backward(torch: Any):
    """Each parameter has an optimizer that steps and clears as soon as its gradient is there."""
    F = torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}

        def step(p):
            optimizers[p].step()
            optimizers[p].zero_grad()

        for p in model.parameters():
            p.register_post_accumulate_grad_hook(step)
        for inputs, targets in batches(4, x, y):
            F.cross_entropy(model(inputs), targets).backward()

    return loop


@sound("updates")
def plain_descent_by_hand(torch: Any):
    """No optimizer at all: weights move under no_grad, gradients are set to None."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        w = torch.zeros(4, 1, requires_grad=True)
        b = torch.zeros(1, requires_grad=True)
        for _ in range(12):
            F.mse_loss(x @ w + b, y).backward()
            with torch.no_grad():
                for p in (w, b):
                    p -= 0.1 * p.grad
                    p.grad = None

    return loop


@sound("updates")
def descent_through_autograd_grad(torch: Any):
    """torch.autograd.grad returns the gradients; `.grad` stays None throughout."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        parameters = list(model.parameters())
        for _ in range(12):
            gradients = torch.autograd.grad(F.mse_loss(model(x), y), parameters)
            with torch.no_grad():
                for p, g in zip(parameters, gradients, strict=True):
                    p.add_(g, alpha=-0.05)

    return loop


@sound("updates")
def functional_training(torch: Any):
    """func.grad over a dictionary of weights and functional_call: nothing is a leaf that is stepped."""
    F, func = torch.nn.functional, torch.func
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        weights = {name: p.detach() for name, p in model.named_parameters()}

        def loss(weights, inputs, targets):
            return F.mse_loss(func.functional_call(model, weights, (inputs,)), targets)

        for _ in range(12):
            slopes = func.grad(loss)(weights, x, y)
            weights = {name: w - 0.05 * slopes[name] for name, w in weights.items()}

    return loop


@sound("updates")
def gradients_written_by_the_user(torch: Any):
    """autograd.grad and then `p.grad = g`: the step reads what no backward accumulated."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        parameters = list(model.parameters())
        for _ in range(12):
            gradients = torch.autograd.grad(F.mse_loss(model(x), y), parameters)
            for p, g in zip(parameters, gradients, strict=True):
                p.grad = g
            optimizer.step()

    return loop


@sound("updates")
def gradient_surgery(torch: Any):
    """PCGrad: each task's gradients are copied and cleared, then one that conflicts with none is set."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            flat = []
            for task, sign in enumerate((1, -0.5)):
                optimizer.zero_grad()
                F.mse_loss(model(x)[:, task : task + 1], sign * y).backward()
                flat.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
            first, second = flat
            if (overlap := first @ second) < 0:
                first, second = (
                    first - overlap / second.pow(2).sum() * second,
                    second - overlap / first.pow(2).sum() * first,
                )
            start, merged = 0, first + second
            for p in model.parameters():
                p.grad = merged[start : start + p.numel()].view_as(p).clone()
                start += p.numel()
            optimizer.step()

    return loop


@sound("updates")
def lookahead(torch: Any):
    """Every few steps the weights are set back half of the way to where they were."""
    F = torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        slow = [p.detach().clone() for p in model.parameters()]
        for i, (inputs, targets) in enumerate(batches(4, x, y)):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            if i % 4 == 3:
                for kept, p in zip(slow, model.parameters(), strict=True):
                    kept += 0.5 * (p.data - kept)
                    p.data.copy_(kept)

    return loop


@sound("updates")
def weights_averaged_at_the_end(torch: Any):
    """SWA: an averaged copy that is never trained, and batch norms updated without gradients."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
        average = torch.optim.swa_utils.AveragedModel(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            for inputs, targets in batches(12, x, y):
                optimizer.zero_grad()
                F.cross_entropy(model(inputs), targets).backward()
                optimizer.step()
            if epoch:
                average.update_parameters(model)
        torch.optim.swa_utils.update_bn([part for (part,) in batches(12, x)], average)

    return loop


@sound("updates")
def clipped_by_norm_and_by_value(torch: Any):
    """Both kinds of clipping, one after the other, before the step; noise is added to the gradients."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(12):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            nn.utils.clip_grad_value_(model.parameters(), 0.5)
            for p in model.parameters():
                p.grad.add_(torch.randn_like(p.grad), alpha=0.01)
            optimizer.step()

    return loop


@sound("updates")
def one_net_of_two_is_clipped(torch: Any):
    """Only the recurrent part is clipped, on purpose; one optimizer steps on all."""
    nn, F = torch.nn, torch.nn.functional
    x = torch.randn(6, 5, 2)

    def loop():
        rnn, head = nn.RNN(2, 6, batch_first=True), nn.Linear(6, 2)
        optimizer = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
        for _ in range(10):
            optimizer.zero_grad()
            F.mse_loss(head(rnn(x)[0]), x.roll(-1, 1)).backward()
            nn.utils.clip_grad_norm_(rnn.parameters(), 0.1)
            optimizer.step()

    return loop


@sound("updates")
def gradients_centred_by_hooks(torch: Any):
    """Hooks on the parameters and on a hidden tensor change gradients on their way."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        first, second = perceptron(torch, 4, 8), perceptron(torch, 8, 1)
        first[0].weight.register_hook(lambda g: g - g.mean(dim=1, keepdim=True))
        optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.05)
        for _ in range(12):
            optimizer.zero_grad()
            hidden = torch.tanh(first(x))
            hidden.register_hook(lambda g: g.clamp(-0.1, 0.1))
            F.mse_loss(second(hidden), y).backward()
            optimizer.step()

    return loop
