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
