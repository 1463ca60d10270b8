"""Rows of a batch that part from their targets, are written over, renamed or given two names."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import classes, perceptron, regression


def _train(torch: Any, loss_of: Any, steps: int = 8, out: int = 1) -> None:
    """Steps on a loss of the model and the step's number."""
    model = perceptron(torch, 4, 6, out)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        optimizer.step()


@pair("TG915")
def two_shuffles_of_one_batch(torch: Any):
    """Inputs and targets are shuffled by a permutation each."""
    x, y = regression(torch)

    def run(shuffled):
        def loss_of(model, step):
            inputs, targets = shuffled()
            return torch.nn.functional.l1_loss(model(inputs), targets)

        return lambda: _train(torch, loss_of)

    def apart():
        inputs = x[torch.randperm(len(x))]
        return inputs, y[torch.randperm(len(x))]  # bug: here

    def together():
        order = torch.randperm(len(x))
        return x[order], y[order]

    return run(apart), run(together)


@pair("TG915")
def cached_answers_of_a_shuffled_loader(torch: Any):
    """A teacher's answers, kept in the order of the data, are taken by the number of the batch."""
    x, y = regression(torch)
    data = torch.utils.data

    def run(taken):
        def loop():
            rows = data.TensorDataset(torch.arange(len(x)), x)
            loader = data.DataLoader(rows, batch_size=8, shuffle=True)
            model = perceptron(torch, 4, 6, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            for _ in range(2):
                for i, (which, inputs) in enumerate(loader):
                    loss = torch.nn.functional.mse_loss(model(inputs), taken(i, which))
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()

        return loop

    def by_place(i, which):
        return y[8 * i : 8 * i + 8]  # bug: here

    def by_index(i, which):
        return y[which]

    return run(by_place), run(by_index)


@pair("TG415")
def messages_written_over(torch: Any):
    """Messages of a graph's edges are added to their nodes, and each node keeps one."""
    F = torch.nn.functional
    x, y = regression(torch)
    source, to = torch.arange(32).repeat(2), torch.cat([torch.arange(32), torch.arange(32)]) // 2

    def run(gathered):
        def loss_of(model, step):
            return F.mse_loss(gathered(torch.zeros(32, 1), model(x)[source]), y)

        return lambda: _train(torch, loss_of)

    def over(nodes, messages):
        nodes[to] += messages  # bug: here
        return nodes

    def added(nodes, messages):
        return nodes.index_add(0, to, messages)

    return run(over), run(added)


@pair("TG415")
def counts_of_a_histogram(torch: Any):
    """A loss is weighed by how often its class comes, counted by an index that repeats."""
    F = torch.nn.functional
    x, y = classes(torch)

    def run(counted):
        def loss_of(model, step):
            often = counted(torch.zeros(3), torch.ones(len(y)))
            return F.cross_entropy(model(x), y, weight=1 / often)

        return lambda: _train(torch, loss_of, out=3)

    def over(often, ones):
        often[y] = often[y] + ones  # bug: here
        return often

    def added(often, ones):
        return often.index_add(0, y, ones)

    return run(over), run(added)


@pair("TG917")
def kinds_shifted_one_by_one(torch: Any):
    """Each class becomes the next one, in the tensor that is asked for it."""
    F = torch.nn.functional
    x, y = classes(torch)

    def run(start):
        def loss_of(model, step):
            asked, labels = start()
            for kind in range(3):
                labels[asked == kind] = kind + 1  # bug: here
            return F.cross_entropy(model(x), labels)

        return lambda: _train(torch, loss_of, out=4)

    def one():
        labels = y.clone()
        return labels, labels

    def two():
        return y, y.clone()

    return run(one), run(two)


@pair("TG917")
def two_kinds_exchanged(torch: Any):
    """0 becomes 2 and 2 becomes 0: all of them end as 0."""
    F = torch.nn.functional
    x, y = classes(torch)

    def run(exchanged):
        def loss_of(model, step):
            return F.cross_entropy(model(x), exchanged(y.clone()))

        return lambda: _train(torch, loss_of, out=3)

    def merged(labels):
        labels[labels == 0] = 2
        labels[labels == 2] = 0  # bug: here
        return labels

    def asked_first(labels):
        first, last = labels == 0, labels == 2
        labels[first] = 2
        labels[last] = 0
        return labels

    return run(merged), run(asked_first)


@pair("TG417")
def a_cell_that_is_the_hidden_state(torch: Any):
    """Both states are put in another order, and both are the hidden one."""
    F = torch.nn.functional
    x, y = regression(torch)

    class Wrong(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.head = torch.nn.LSTMCell(4, 5), torch.nn.Linear(5, 1)

        def forward(self, x):
            h, c = self.cell(x)
            h, c = h.flip(0), h.flip(0)  # bug: here
            return self.head(self.cell(x.flip(0), (h, c))[0].flip(0))

    class Right(Wrong):
        def forward(self, x):
            h, c = self.cell(x)
            h, c = h.flip(0), c.flip(0)
            return self.head(self.cell(x.flip(0), (h, c))[0].flip(0))

    def trained(kind):
        def loop():
            net = kind()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(6):
                optimizer.zero_grad()
                F.mse_loss(net(x), y).backward()
                optimizer.step()

        return loop

    return trained(Wrong), trained(Right)


@pair("TG417")
def two_views_that_are_one(torch: Any):
    """Both views of a batch get noise, and both are made of the first."""
    F = torch.nn.functional
    x, _ = regression(torch)

    class Wrong(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Linear(4, 3)

        def forward(self, one, other):
            one, other = self.body(one + 0.1), self.body(one + 0.1)  # bug: here
            return one, other

    class Right(Wrong):
        def forward(self, one, other):
            one, other = self.body(one + 0.1), self.body(other + 0.1)
            return one, other

    def trained(kind):
        def loop():
            net = kind()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(6):
                optimizer.zero_grad()
                one, other = net(x, x.flip(1))
                (F.mse_loss(one, other) + one.square().mean()).backward()
                optimizer.step()

        return loop

    return trained(Wrong), trained(Right)
