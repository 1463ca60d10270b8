"""Rows that are compared, read or weighed as if they were something else; and what comes close to it."""

from __future__ import annotations

from typing import Any

from .case import pair, sound
from .parts import classes, regression, sentences, waves


def _views(torch: Any, width: int = 4) -> tuple[Any, Any]:
    x, _ = classes(torch, n=12, features=width)
    return x + 0.1 * torch.randn(12, width), x + 0.1 * torch.randn(12, width)


def _compared(torch: Any, similarity: Any) -> None:
    """Ten steps of contrastive learning with a similarity of two batches of features."""
    F = torch.nn.functional
    first, second = _views(torch)
    model = torch.nn.Linear(4, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        optimizer.zero_grad()
        F.cross_entropy(similarity(model(first), model(second)), torch.arange(12)).backward()
        optimizer.step()


@pair("TG904")
def similarities_of_rows_whose_columns_have_length_one(torch: Any):
    """normalize(z, dim=0) of both views, and then the product of their rows."""
    F = torch.nn.functional

    def across(a, b):
        a, b = F.normalize(a, dim=0), F.normalize(b, dim=0)  # bug: here
        return a @ b.t() / 0.5

    def along(a, b):
        return F.normalize(a, dim=1) @ F.normalize(b, dim=1).t() / 0.5

    return (lambda: _compared(torch, across)), (lambda: _compared(torch, along))


@pair("TG904")
def similarities_divided_by_hand(torch: Any):
    """The same by `z / z.norm(dim=0, keepdim=True)`, of both views below each other."""

    def loop(axis):
        F = torch.nn.functional
        first, second = _views(torch)
        model = torch.nn.Linear(4, 6)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        partners = torch.cat([torch.arange(12, 24), torch.arange(12)])
        for _ in range(10):
            optimizer.zero_grad()
            z = torch.cat([model(first), model(second)])
            z = z / z.norm(dim=axis, keepdim=True)  # bug: here
            scores = (z @ z.T / 0.5).masked_fill(torch.eye(24, dtype=torch.bool), -1e9)
            F.cross_entropy(scores, partners).backward()
            optimizer.step()

    return (lambda: loop(0)), (lambda: loop(1))


@sound("shapes")
def correlations_of_features(torch: Any):
    """Features are normalized over the batch and correlated over it, as Barlow Twins does."""
    F = torch.nn.functional
    first, second = _views(torch)

    def loop():
        model = torch.nn.Linear(4, 6)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(10):
            optimizer.zero_grad()
            a, b = F.normalize(model(first), dim=0), F.normalize(model(second), dim=0)
            (a.t() @ b - torch.eye(6)).square().sum().backward()
            optimizer.step()

    return loop


@sound("shapes")
def prototypes_in_columns(torch: Any):
    """A cosine classifier whose weight holds a class in each column: that one is normalized over axis 0."""
    F = torch.nn.functional
    x, y = classes(torch)

    def loop():
        body, weight = torch.nn.Linear(4, 6), torch.nn.Parameter(torch.randn(6, 3))
        optimizer = torch.optim.SGD([*body.parameters(), weight], lr=0.05)
        for _ in range(10):
            optimizer.zero_grad()
            scores = F.normalize(body(x), dim=1) @ F.normalize(weight * 1.0, dim=0)
            F.cross_entropy(8 * scores, y).backward()
            optimizer.step()

    return loop


def _reader(torch: Any, batch_first: bool, run: Any, average: int | None = None) -> Any:
    """A model of tokens: embeddings, a recurrent layer that `run` calls, and maybe an average along an axis."""
    nn = torch.nn

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(11, 6), nn.Linear(6, 11)
            self.layer = nn.GRU(6, 6, batch_first=batch_first)

        def forward(self, tokens):
            hidden = run(self.layer, self.embed(tokens))
            if average is not None:
                hidden = hidden + hidden.mean(average, keepdim=True)
            return self.head(hidden)

    return Reader()


def _read(torch: Any, model: Any, tokens: Any, targets: Any) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        optimizer.zero_grad()
        scores = model(tokens)
        torch.nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten()).backward()
        optimizer.step()


@pair("TG904")
def text_read_from_sample_to_sample(torch: Any):
    """The targets are the next words along axis 1, and the recurrent layer runs along axis 0."""
    tokens, targets = sentences(torch)

    def run(layer, x):
        return layer(x)[0]  # bug: here

    def loop(batch_first):
        _read(torch, _reader(torch, batch_first, run), tokens, targets)

    return (lambda: loop(False)), (lambda: loop(True))


@pair("TG904")
def words_sorted_with_the_samples_as_moments(torch: Any):
    """The model averages along axis 1 and runs along axis 0: no axis is left for the samples."""
    tokens = torch.randint(11, (16, 6))
    targets = tokens.sort(1).values

    def run(layer, x):
        return layer(x)[0]  # bug: here

    def loop(batch_first):
        _read(torch, _reader(torch, batch_first, run, average=1), tokens, targets)

    return (lambda: loop(False)), (lambda: loop(True))


@sound("shapes")
def text_with_time_first(torch: Any):
    """(time, batch): the recurrent layer runs along axis 0, as the text does."""
    tokens, targets = sentences(torch)

    def loop():
        _read(torch, _reader(torch, False, lambda layer, x: layer(x)[0]), tokens.t(), targets.t())

    return loop


@sound("shapes")
def words_sorted_with_time_first(torch: Any):
    """(time, batch), with an average over time."""
    tokens = torch.randint(11, (6, 16))
    targets = tokens.sort(0).values

    def loop():
        _read(
            torch, _reader(torch, False, lambda layer, x: layer(x)[0], average=0), tokens, targets
        )

    return loop


def _acts(torch: Any, weigh: Any, go: Any) -> None:
    """Ten steps of an actor and a critic on a trunk, with the distribution of the engine."""
    F = torch.nn.functional
    states, returns = torch.randn(12, 4), torch.randn(12)
    trunk, actor, critic = torch.nn.Linear(4, 8), torch.nn.Linear(8, 3), torch.nn.Linear(8, 1)
    parameters = [*trunk.parameters(), *actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    for _ in range(10):
        chances, values = [], []
        for state in states:
            hidden = trunk(state).tanh()
            choice = torch.distributions.Categorical(logits=actor(hidden))
            chances.append(choice.log_prob(choice.sample()))
            values.append(critic(hidden).squeeze(-1))
        value = torch.stack(values)
        loss = F.mse_loss(value, returns) - (torch.stack(chances) * weigh(returns - value)).mean()
        optimizer.zero_grad()
        go(loss)
        optimizer.step()


@pair("TG407")
def advantage_of_an_episode_not_detached(torch: Any):
    """Log-probabilities of Categorical, stacked, times an advantage that has a gradient."""

    def go(loss):
        loss.backward()  # bug: here

    return (lambda: _acts(torch, lambda a: a, go)), (lambda: _acts(torch, lambda a: a.detach(), go))


@pair("TG407")
def normalized_advantage_not_detached(torch: Any):
    """The advantage is normalized first, and has a gradient still."""

    def go(loss):
        loss.backward()  # bug: here

    def normalized(advantage):
        return (advantage - advantage.mean()) / (advantage.std() + 1e-6)

    return (
        lambda: _acts(torch, normalized, go),
        lambda: _acts(torch, lambda a: normalized(a.detach()), go),
    )


@sound("losses")
def what_is_missing_times_the_logarithm(torch: Any):
    """A focal loss by hand: (target - p) * log(p), where both factors are of the same probability."""
    x, y = classes(torch)

    def loop():
        model = torch.nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        wanted = torch.ones(len(y))
        for _ in range(10):
            optimizer.zero_grad()
            p = model(x).softmax(1)[torch.arange(len(y)), y]
            (-(wanted - p) * p.log()).mean().backward()
            optimizer.step()

    return loop


def _by_hand(torch: Any, cleared: Any, go: Any) -> None:
    """Ten rounds without an optimizer; `cleared` says which of weight and bias are cleared."""
    x, y = regression(torch)
    weight, bias = torch.zeros(4, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
    for _ in range(10):
        go(((x @ weight + bias - y) ** 2).mean())
        with torch.no_grad():
            weight -= 0.02 * weight.grad
            bias -= 0.02 * bias.grad
        for leaf in cleared(weight, bias):
            leaf.grad.zero_()


@pair("TG106")
def one_of_two_cleared_by_hand(torch: Any):
    """The weight is cleared, the bias is not."""

    def go(loss):
        loss.backward()  # bug: here

    return (
        lambda: _by_hand(torch, lambda w, b: [w], go),
        lambda: _by_hand(torch, lambda w, b: [w, b], go),
    )


@pair("TG106")
def the_weight_forgotten_by_hand(torch: Any):
    """The bias is cleared, the weight is not."""

    def go(loss):
        loss.backward()  # bug: here

    return (
        lambda: _by_hand(torch, lambda w, b: [b], go),
        lambda: _by_hand(torch, lambda w, b: [w, b], go),
    )


def _forecast(torch: Any, batch_first: bool, run: Any, x: Any, y: Any) -> None:
    """Ten steps of a model of numbers that forecasts each next moment."""
    nn = torch.nn

    class Forecast(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.head = nn.GRU(1, 6, batch_first=batch_first), nn.Linear(6, 1)

        def forward(self, x):
            return self.head(run(self.layer, x))

    model = Forecast()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


@pair("TG904")
def waves_forecast_from_sample_to_sample(torch: Any):
    """Each next moment lies along axis 1, and the recurrent layer runs along axis 0."""
    x, y = waves(torch)

    def run(layer, x):
        return layer(x)[0]  # bug: here

    return (
        lambda: _forecast(torch, False, run, x, y),
        lambda: _forecast(torch, True, run, x, y),
    )


@sound("shapes")
def windows_of_one_series_with_time_first(torch: Any):
    """Windows that slide by one: the next moment lies along the batch as well as along time."""
    series = torch.sin(0.4 * torch.arange(20.0))
    windows = series.unfold(0, 8, 1).unsqueeze(2)
    return lambda: _forecast(torch, False, lambda layer, x: layer(x)[0], windows[:-1], windows[1:])
