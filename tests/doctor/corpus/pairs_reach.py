"""Facts that other rules state, seen in other places: decoders, heads, experts, lists, loops without an optimizer."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import classes, perceptron, regression, sentences


@pair("TG904")
def heads_split_by_a_view_alone(torch: Any):
    """(samples, tokens, features) is viewed as (samples, heads, tokens, features of a head)."""
    nn, F = torch.nn, torch.nn.functional
    x, y = torch.randn(8, 5, 6), torch.randn(8, 5, 6)

    def run(split):
        model = nn.Linear(6, 6)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(6):
            optimizer.zero_grad()
            h = split(model(x))
            mixed = F.softmax(h @ h.transpose(2, 3), dim=-1) @ h
            F.mse_loss(mixed.transpose(1, 2).reshape(8, 5, 6), y).backward()
            optimizer.step()

    def viewed(h):
        return h.view(8, 2, 5, 3)  # bug: here

    def turned(h):
        return h.view(8, 5, 2, 3).transpose(1, 2)

    return lambda: run(viewed), lambda: run(turned)


@pair("TG904")
def soft_labels_under_a_softmax_over_samples(torch: Any):
    """The log-softmax of a layer's scores goes over the batch."""
    x, y = classes(torch)
    soft = 0.9 * torch.nn.functional.one_hot(y, 3).float() + 0.1 / 3

    def run(logs):
        model = perceptron(torch, 4, 6, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(6):
            optimizer.zero_grad()
            (-(soft * logs(model(x))).sum(1).mean()).backward()
            optimizer.step()

    def of_samples(scores):
        return torch.nn.functional.log_softmax(scores / 0.5, dim=0)  # bug: here

    def of_classes(scores):
        return torch.nn.functional.log_softmax(scores / 0.5, dim=1)

    return lambda: run(of_samples), lambda: run(of_classes)


@pair("TG301")
def weights_of_losses_in_no_optimizer(torch: Any):
    """Two learned weights of two losses are plain tensors, and nobody moves them."""
    F = torch.nn.functional
    x, y = regression(torch)

    def run(is_held):
        model = perceptron(torch, 4, 6, 2)
        weights = torch.zeros(2, requires_grad=True)
        given = [*model.parameters(), weights] if is_held else list(model.parameters())
        optimizer = torch.optim.SGD(given, lr=0.01)  # bug: here
        for _ in range(8):
            optimizer.zero_grad()
            out = model(x)
            losses = F.mse_loss(out[:, :1], y), F.l1_loss(out[:, 1:], y)
            total = sum(torch.exp(-w) * loss + w for w, loss in zip(weights, losses, strict=True))
            total.backward()
            optimizer.step()

    return lambda: run(False), lambda: run(True)


@pair("TG401")
def expert_picked_by_its_number(torch: Any):
    """The gate's choice is a one-hot of an argmax: no gradient comes back to it."""
    F = torch.nn.functional
    x, y = regression(torch)

    def run(weights):
        gate, experts = torch.nn.Linear(4, 2), perceptron(torch, 4, 6, 2)
        optimizer = torch.optim.SGD([*gate.parameters(), *experts.parameters()], lr=0.01)
        for _ in range(9):
            optimizer.zero_grad()
            chosen = weights(gate(x).softmax(1))
            F.mse_loss((chosen * experts(x)).sum(1, keepdim=True), y).backward()
            optimizer.step()

    def hard(chances):
        best = chances.argmax(1)  # bug: here
        return F.one_hot(best, 2).float()

    def weighed(chances):
        return F.one_hot(chances.argmax(1), 2).float() * chances

    return lambda: run(hard), lambda: run(weighed)


@pair("TG401")
def first_layer_cut_without_an_optimizer(torch: Any):
    """A loop by hand: the hidden values are taken out of the graph."""
    x, y = regression(torch)

    def run(hidden):
        first, second = torch.randn(4, 6) * 0.3, torch.randn(6, 1) * 0.3
        first.requires_grad_()
        second.requires_grad_()
        for _ in range(8):
            out = hidden(torch.tanh(x @ first)) @ second
            (out - y).square().mean().backward()
            with torch.no_grad():
                for w in (first, second):
                    if w.grad is not None:
                        w -= 0.05 * w.grad
                        w.grad.zero_()

    def taken_out(h):
        return h.detach()  # bug: here

    def as_it_is(h):
        return h

    return lambda: run(taken_out), lambda: run(as_it_is)


@pair("TG902")
def validation_losses_kept_with_their_graphs(torch: Any):
    """A second forward, which nobody takes the gradient of, is kept for a plot."""
    F = torch.nn.functional
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        curve = []
        for _ in range(12):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
            curve.append(F.l1_loss(model(x), y))  # bug: here

    def fix():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        numbers = []
        for _ in range(12):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
            numbers.append(F.l1_loss(model(x), y).item())

    return bug, fix


def _attention(torch: Any, weigh: Any):
    """A language model of one attention, whose scores are weighed by this."""
    nn = torch.nn
    later = torch.ones(6, 6, dtype=torch.bool).triu(1)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(11, 8), nn.Linear(8, 11)

        def forward(self, tokens):
            x = self.embed(tokens)
            return self.head(weigh((x @ x.transpose(1, 2)).masked_fill(later, -1e9)) @ x)

    return Model()


@pair("TG906")
def softmax_over_the_queries(torch: Any):
    """The mask is right, and the softmax goes over the other axis."""
    text, following = sentences(torch)

    def run(weigh):
        model = _attention(torch, weigh)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(6):
            optimizer.zero_grad()
            scores = model(text).flatten(0, 1)
            torch.nn.functional.cross_entropy(scores, following.flatten()).backward()
            optimizer.step()

    def over_queries(scores):
        return scores.softmax(-2)  # bug: here

    def over_keys(scores):
        return scores.softmax(-1)

    return lambda: run(over_queries), lambda: run(over_keys)


@pair("TG906")
def decoder_that_reads_ahead(torch: Any):
    """A translator's second sequence is its target, one word later, and it sees all of it."""
    nn, F = torch.nn, torch.nn.functional
    source, target = torch.randint(11, (12, 7)), torch.randint(11, (12, 7))

    class Translator(nn.Module):
        def __init__(self, mask):
            super().__init__()
            self.embed, self.head = nn.Embedding(11, 8), nn.Linear(8, 11)
            self.mask = mask

        def forward(self, source, words):
            memory, x = self.embed(source).mean(1, keepdim=True), self.embed(words)
            scores = (x @ x.transpose(1, 2)).masked_fill(self.mask, -1e9)
            return self.head(scores.softmax(-1) @ x + memory)

    def run(mask):
        model = Translator(mask)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(6):
            optimizer.zero_grad()
            out = model(source, target[:, :-1])  # bug: here
            F.cross_entropy(out.flatten(0, 1), target[:, 1:].flatten()).backward()
            optimizer.step()

    later = torch.ones(6, 6, dtype=torch.bool).triu(1)
    return lambda: run(torch.zeros_like(later)), lambda: run(later)
