"""Mistakes that are in the numbers and in the graph, whatever they are written with."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import classes, perceptron, sentences


def _fit(torch: Any, parameters: Any, loss: Any, steps: int = 9, rate: float = 0.05):
    optimizer = torch.optim.Adam(list(parameters), lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()  # bug: here
        optimizer.step()


@pair("TG501")
def probabilities_by_hand(torch: Any):
    """exp over its sum, into cross_entropy."""
    F = torch.nn.functional
    x, y = classes(torch)
    model = perceptron(torch, 4, 8, 3)

    def wrong():
        odds = model(x).exp()
        return F.cross_entropy(odds / odds.sum(1, keepdim=True), y)  # bug: here

    def right():
        return F.cross_entropy(model(x), y)

    return (
        lambda: _fit(torch, model.parameters(), wrong),
        lambda: _fit(torch, model.parameters(), right),
    )


@pair("TG501")
def likelihood_of_a_softmax_by_hand(torch: Any):
    """log_softmax of what went through a softmax, and the entries of the right classes."""
    x, y = classes(torch)
    model = perceptron(torch, 4, 8, 3)

    def wrong():
        scores = model(x).softmax(1)
        return -scores.log_softmax(1)[range(len(y)), y].mean()  # bug: here

    def right():
        return -model(x).log_softmax(1)[range(len(y)), y].mean()

    return (
        lambda: _fit(torch, model.parameters(), wrong),
        lambda: _fit(torch, model.parameters(), right),
    )


@pair("TG906")
def words_of_a_function_see_all(torch: Any):
    """A language model of functions: attention by hand, without a mask."""
    nn, F = torch.nn, torch.nn.functional
    text, target = sentences(torch)
    weight, head = nn.Parameter(torch.randn(11, 8)), nn.Linear(8, 11)
    params = [weight, *head.parameters()]
    later = torch.ones(6, 6, dtype=torch.bool).triu(1)

    def read(mask):
        z = F.embedding(text, weight)
        scores = z @ z.transpose(1, 2)
        return head(
            z + (scores.masked_fill(later, float("-inf")) if mask else scores).softmax(-1) @ z
        )

    def wrong():
        return F.cross_entropy(read(mask=False).flatten(0, 1), target.flatten())  # bug: here

    def right():
        return F.cross_entropy(read(mask=True).flatten(0, 1), target.flatten())

    return lambda: _fit(torch, params, wrong), lambda: _fit(torch, params, right)


@pair("TG904")
def heads_viewed_into_their_place(torch: Any):
    """(batch, time, heads, size) is viewed as (batch, heads, time, size)."""
    nn = torch.nn
    x = torch.randn(4, 5, 3)
    y = x.sum((1, 2))
    inp, out = nn.Linear(3, 8), nn.Linear(8, 1)
    params = [*inp.parameters(), *out.parameters()]

    def score(split):
        z = split(inp(x).view(4, 5, 2, 4))
        z = (z @ z.transpose(-2, -1)).softmax(-1) @ z
        return (out(z.transpose(1, 2).flatten(2)).mean((1, 2)) - y).square().mean()

    def wrong(z):
        return z.view(4, 2, 5, 4)  # bug: here

    def right(z):
        return z.transpose(1, 2)

    return lambda: _fit(torch, params, lambda: score(wrong)), lambda: _fit(
        torch, params, lambda: score(right)
    )


@pair("TG904")
def likelihood_by_hand_of_shares_of_the_batch(torch: Any):
    """A softmax over the samples, of which each sample's class is picked."""
    x, y = classes(torch)
    model = perceptron(torch, 4, 8, 3)

    def wrong():
        shares = model(x).softmax(0)  # bug: here
        return -(shares.gather(1, y[:, None]) + 1e-9).log().mean()  # bug: here

    def right():
        return -(model(x).softmax(1).gather(1, y[:, None]) + 1e-9).log().mean()

    return (
        lambda: _fit(torch, model.parameters(), wrong),
        lambda: _fit(torch, model.parameters(), right),
    )
