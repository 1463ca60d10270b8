"""Gradients of gradients, several optimizers, weights that are results: learning to learn and others."""

from __future__ import annotations

import copy
from typing import Any

from .case import sound
from .parts import batches, classes, perceptron, regression


@sound("meta")
def second_order_maml(torch: Any):
    """Inner steps are part of the graph; the outer loss goes through them into the first weights."""
    F, func = torch.nn.functional, torch.func
    x, y = regression(torch, n=16)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(10):
            optimizer.zero_grad()
            total = 0.0
            for scale in (0.5, 1.0, 1.5):
                weights = dict(model.named_parameters())
                inner = F.mse_loss(func.functional_call(model, weights, (x[:8],)), scale * y[:8])
                slopes = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
                moved = {
                    name: w - 0.1 * g for (name, w), g in zip(weights.items(), slopes, strict=True)
                }
                outer = F.mse_loss(func.functional_call(model, moved, (x[8:],)), scale * y[8:])
                total = total + outer / 3
            total.backward()
            optimizer.step()

    return loop


@sound("meta")
def first_order_maml(torch: Any):
    """A copy adapts with an optimizer of its own; its gradients become those of the original."""
    F = torch.nn.functional
    x, y = regression(torch, n=16)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        meta = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(5):
            meta.zero_grad()
            for scale in (0.5, 1.5):
                learner = copy.deepcopy(model)
                inner = torch.optim.SGD(learner.parameters(), lr=0.05)
                for _ in range(2):
                    inner.zero_grad()
                    F.mse_loss(learner(x[:8]), scale * y[:8]).backward()
                    inner.step()
                learner.zero_grad()
                (F.mse_loss(learner(x[8:]), scale * y[8:]) / 2).backward()
                for p, q in zip(model.parameters(), learner.parameters(), strict=True):
                    p.grad = q.grad.clone() if p.grad is None else p.grad + q.grad
            meta.step()

    return loop


@sound("meta")
def reptile(torch: Any):
    """The meta-gradient is a difference of weights, written into .grad."""
    F = torch.nn.functional
    x, y = regression(torch, n=16)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        meta = torch.optim.SGD(model.parameters(), lr=0.5)
        for scale in (0.5, 1.0, 1.5, 1.0):
            learner = copy.deepcopy(model)
            inner = torch.optim.SGD(learner.parameters(), lr=0.05)
            for _ in range(3):
                inner.zero_grad()
                F.mse_loss(learner(x), scale * y).backward()
                inner.step()
            with torch.no_grad():
                for p, q in zip(model.parameters(), learner.parameters(), strict=True):
                    p.grad = p - q
            meta.step()

    return loop


@sound("meta")
def double_backward_penalty(torch: Any):
    """A penalty on the slope with respect to the inputs, as in energy models."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for inputs, targets in [*batches(8, x, y)] * 3:
            inputs = inputs.clone().requires_grad_()
            output = model(inputs)
            (slope,) = torch.autograd.grad(output.sum(), inputs, create_graph=True)
            optimizer.zero_grad()
            (F.mse_loss(output, targets) + 0.1 * slope.pow(2).sum(1).mean()).backward()
            optimizer.step()

    return loop


@sound("meta")
def one_optimizer_for_each_task(torch: Any):
    """Tasks with heads and optimizers of their own share a trunk that is in both."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    def loop():
        trunk, heads = perceptron(torch, 4, 8), [nn.Linear(8, 1), nn.Linear(8, 1)]
        optimizers = [
            torch.optim.Adam([*trunk.parameters(), *head.parameters()], lr=0.01) for head in heads
        ]
        for i in range(12):
            head, optimizer = heads[i % 2], optimizers[i % 2]
            optimizer.zero_grad()
            F.mse_loss(head(torch.tanh(trunk(x))), y if i % 2 else -y).backward()
            optimizer.step()

    return loop


@sound("meta")
def two_optimizers_share_a_backward(torch: Any):
    """Sparse word vectors and dense layers have an optimizer each and one loss."""
    nn, F = torch.nn, torch.nn.functional
    words, y = torch.randint(9, (24, 3)), torch.arange(24) % 3

    def loop():
        embedding, head = nn.EmbeddingBag(9, 6, mode="mean"), nn.Linear(6, 3)
        for_words = torch.optim.Adagrad(embedding.parameters(), lr=0.1)
        for_head = torch.optim.AdamW(head.parameters(), lr=0.02)
        for part, targets in [*batches(4, words, y)] * 2:
            for optimizer in (for_words, for_head):
                optimizer.zero_grad()
            F.cross_entropy(head(embedding(part)), targets).backward()
            for optimizer in (for_words, for_head):
                optimizer.step()

    return loop


@sound("meta")
def alternating_least_squares(torch: Any):
    """Users' and items' vectors are optimised in turns; the others are detached meanwhile."""
    ratings = torch.randn(6, 2) @ torch.randn(2, 5)

    def loop():
        users = torch.nn.Parameter(torch.randn(6, 2))
        items = torch.nn.Parameter(torch.randn(5, 2))
        for_users = torch.optim.SGD([users], lr=0.3)
        for_items = torch.optim.SGD([items], lr=0.3)
        for _ in range(8):
            for_users.zero_grad()
            (users @ items.detach().t() - ratings).pow(2).mean().backward()
            for_users.step()
            for_items.zero_grad()
            (users.detach() @ items.t() - ratings).pow(2).mean().backward()
            for_items.step()

    return loop


@sound("meta")
def architecture_weights_learned_on_other_data(torch: Any):
    """DARTS: weights learn on one half of the data, the mixture of operations on the other."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    def loop():
        first, second, head = nn.Linear(4, 8), nn.Linear(4, 8), nn.Linear(8, 3)
        mixture = nn.Parameter(torch.zeros(2))
        weights = [*first.parameters(), *second.parameters(), *head.parameters()]
        for_weights = torch.optim.SGD(weights, lr=0.1)
        for_mixture = torch.optim.Adam([mixture], lr=0.05)

        def loss(inputs, targets):
            share = mixture.softmax(dim=0)
            hidden = share[0] * torch.tanh(first(inputs)) + share[1] * torch.relu(second(inputs))
            return F.cross_entropy(head(hidden), targets)

        for _ in range(6):
            for_mixture.zero_grad()
            loss(x[24:], y[24:]).backward()
            for_mixture.step()
            for_weights.zero_grad()
            loss(x[:24], y[:24]).backward()
            for_weights.step()

    return loop


@sound("gradients by hand")
def gradients_of_two_tasks_projected_onto_each_other(torch: Any):
    """Each task's gradients are taken aside and cleared; the shared part gets their mixture."""
    nn = torch.nn
    x, y = classes(torch)

    def loop():
        shared, heads = nn.Linear(4, 8), nn.ModuleList([nn.Linear(8, 3), nn.Linear(8, 1)])
        weights = list(shared.parameters())
        optimizer = torch.optim.SGD([*weights, *heads.parameters()], lr=0.05)
        for _ in range(12):
            hidden = shared(x).relu()
            losses = (
                nn.functional.cross_entropy(heads[0](hidden), y),
                heads[1](hidden).square().mean(),
            )
            optimizer.zero_grad()
            apart = []
            for loss in losses:
                for p in weights:
                    p.grad = None
                loss.backward(retain_graph=True)
                apart.append([p.grad.clone() for p in weights])
            for p, one, other in zip(weights, *apart, strict=True):
                overlap = (one * other).sum()
                p.grad = one + other - (overlap < 0) * overlap / other.square().sum() * other
            optimizer.step()

    return loop
