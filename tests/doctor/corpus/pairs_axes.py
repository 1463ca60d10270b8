"""Axes that are taken for others: samples for moments, samples for places."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import waves


def _train(torch: Any, layer: Any, read: Any) -> None:
    """Ten steps with a recurrent layer; `read` makes the features of its output."""
    nn = torch.nn
    x, _ = waves(torch)
    head = nn.Linear(6, 1)
    optimizer = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.01)
    for _ in range(10):
        features = read(layer(x)[0])
        targets = torch.zeros(len(features), 1)
        optimizer.zero_grad()
        nn.functional.mse_loss(head(features), targets).backward()
        optimizer.step()


@pair("TG904")
def the_last_sample_for_the_last_moment(torch: Any):
    """A GRU that takes (time, batch, features) is given the batch first."""

    def last(output):
        return output[:, -1]  # bug: here

    def bug():
        _train(torch, torch.nn.GRU(1, 6), last)

    def fix():
        _train(torch, torch.nn.GRU(1, 6, batch_first=True), lambda output: output[:, -1])

    return bug, fix


@pair("TG904")
def the_last_sample_of_a_batch_that_is_first(torch: Any):
    """The other way round: `output[-1]` is the last moment only if time comes first."""

    def last(output):
        return output[-1]  # bug: here

    def bug():
        _train(torch, torch.nn.LSTM(1, 6, batch_first=True), last)

    def fix():
        _train(torch, torch.nn.LSTM(1, 6), lambda output: output[-1])

    return bug, fix


@pair("TG904")
def an_attention_over_the_batch(torch: Any):
    """`softmax(scores, 0)`: the weights of a place add up to 1 over the samples, not over the places."""
    nn, F = torch.nn, torch.nn.functional
    x = torch.randn(5, 7, 4)

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key, self.value = (nn.Linear(4, 4) for _ in range(3))

        def scores(self, x):
            scores = self.query(x) @ self.key(x).transpose(1, 2) / 2
            hidden = torch.triu(torch.ones(7, 7, dtype=torch.bool), 1)
            return scores.masked_fill(hidden, -1e9)

    class Wrong(Attention):
        def forward(self, x):
            weights = F.softmax(self.scores(x), 0)  # bug: here
            return F.dropout(weights, 0.1, self.training) @ self.value(x)

    class Right(Attention):
        def forward(self, x):
            weights = F.softmax(self.scores(x), 2)
            return F.dropout(weights, 0.1, self.training) @ self.value(x)

    def train(model):
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(10):
            optimizer.zero_grad()
            F.mse_loss(model(x), x.roll(1, 1)).backward()
            optimizer.step()

    return (lambda: train(Wrong())), (lambda: train(Right()))
