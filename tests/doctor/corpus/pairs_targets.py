"""Targets out of range or met already, weights that weigh nothing, likelihoods of other numbers, norms by place."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import binary, perceptron, regression


def _steps(torch: Any, model: Any, loss_of: Any, steps: int = 8) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()


@pair("TG508")
def similar_pairs_labelled_by_zero(torch: Any):
    """A cosine loss asks for 1 and -1, and gets 1 and 0."""
    x, y = binary(torch)
    other, same = x.flip(0), (y == y.flip(0)).squeeze(1).float()

    def run(labels):
        def loss_of(model):
            criterion = torch.nn.CosineEmbeddingLoss(margin=0.2)
            return criterion(model(x), model(other), labels)  # bug: here

        return lambda: _steps(torch, perceptron(torch, 4, 6, 3), loss_of)

    return run(same), run(2 * same - 1)


@pair("TG508")
def signs_as_probabilities(torch: Any):
    """A binary cross entropy gets 1 and -1."""
    x, y = binary(torch)

    def run(labels):
        def loss_of(model):
            return torch.nn.functional.binary_cross_entropy_with_logits(
                model(x), labels
            )  # bug: here

        return lambda: _steps(torch, perceptron(torch, 4, 6, 1), loss_of)

    return run(2 * y - 1), run(y)


@pair("TG509")
def rare_samples_that_count_no_more(torch: Any):
    """Weights of the samples multiply a mean."""
    F = torch.nn.functional
    x, y = regression(torch)
    weights = 1 + (y.squeeze(1) > 0.5).float()

    def run(weighted):
        return lambda: _steps(torch, perceptron(torch, 4, 6, 1), lambda m: weighted(m(x)))

    def of_a_mean(out):
        return (F.mse_loss(out, y) * weights).sum() / weights.sum()  # bug: here

    def of_each(out):
        each = F.mse_loss(out, y, reduction="none").squeeze(1)
        return (each * weights).sum() / weights.sum()

    return run(of_a_mean), run(of_each)


@pair("TG509")
def a_mask_on_a_finished_loss(torch: Any):
    """The mask of what is known comes after the mean, by hand."""
    x, y = regression(torch)
    known = (torch.arange(32) % 3 > 0).float()

    def run(masked):
        return lambda: _steps(torch, perceptron(torch, 4, 6, 1), lambda m: masked(m(x) - y))

    def too_late(error):
        return (error.square().mean() * known).mean()  # bug: here

    def in_time(error):
        return (error.square().squeeze(1) * known).mean()

    return run(too_late), run(in_time)


@pair("TG416")
def returns_without_rewards(torch: Any):
    """The returns are the critic's values and advantages that are still zeros."""
    F = torch.nn.functional
    x, y = regression(torch)

    def run(advantages):
        def loss_of(critic):
            with torch.no_grad():
                values = critic(x)
                returns = advantages(values) + values
            return F.smooth_l1_loss(critic(x), returns)  # bug: here

        return lambda: _steps(torch, perceptron(torch, 4, 6, 1), loss_of)

    return run(torch.zeros_like), run(lambda values: y - values)


@pair("TG416")
def a_difference_from_its_own_answer(torch: Any):
    """The labels were overwritten by what the model says."""
    x, y = regression(torch)

    def run(labels):
        def loss_of(model):
            wanted = labels(model)
            return (model(x) - wanted).square().mean()  # bug: here

        return lambda: _steps(torch, perceptron(torch, 4, 6, 1), loss_of)

    return run(lambda model: model(x).detach()), run(lambda model: y)


@pair("TG414")
def an_action_that_nobody_took(torch: Any):
    """The log-probability is of a second sample."""
    x, _ = regression(torch)

    def run(judged):
        def loss_of(policy):
            distribution = torch.distributions.Categorical(logits=policy(x))
            action = distribution.sample()
            reward = (action == 1).float() - 0.5
            return -(judged(distribution, action) * reward).mean()

        return lambda: _steps(torch, perceptron(torch, 4, 6, 3), loss_of)

    def of_another(distribution, action):
        return distribution.log_prob(distribution.sample())  # bug: here

    def of_it(distribution, action):
        return distribution.log_prob(action)

    return run(of_another), run(of_it)


@pair("TG414")
def a_word_drawn_again(torch: Any):
    """A word is drawn and rated, and the loss is of another draw."""
    x, _ = regression(torch)

    def run(judged):
        def loss_of(speaker):
            log_p = torch.log_softmax(speaker(x), 1)
            chance = log_p.detach().exp()
            word = torch.multinomial(chance, 1)
            rating = word.float() / 2
            return -(log_p.gather(1, judged(chance, word)) * rating).mean()

        return lambda: _steps(torch, perceptron(torch, 4, 6, 3), loss_of)

    def again(chance, word):
        return torch.multinomial(chance, 1)  # bug: here

    return run(again), run(lambda chance, word: word)


def _critic(torch: Any, sizes: tuple[int, ...]) -> Any:
    nn = torch.nn
    entries = sizes[0] * sizes[1]
    return nn.Sequential(nn.Flatten(), nn.Linear(entries, 6), nn.Tanh(), nn.Linear(6, 1))


def _penalised(torch: Any, sizes: tuple[int, ...], norm: Any) -> Any:
    def loss_of(critic):
        x = torch.randn(8, *sizes, requires_grad=True)
        (slopes,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
        return critic(x).mean() + 10 * (norm(slopes) - 1).square().mean()

    return lambda: _steps(torch, _critic(torch, sizes), loss_of)


@pair("TG916")
def a_penalty_by_channel(torch: Any):
    """The norm of the gradient is over the last axis of three."""

    def by_channel(slopes):
        return slopes.norm(2, dim=-1)  # bug: here

    def of_all(slopes):
        return slopes.flatten(1).norm(2, dim=1)

    return _penalised(torch, (3, 4), by_channel), _penalised(torch, (3, 4), of_all)


@pair("TG916")
def a_penalty_by_place(torch: Any):
    """The same by linalg, over the channels."""

    def by_place(slopes):
        return torch.linalg.vector_norm(slopes, dim=1)  # bug: here

    def of_all(slopes):
        return torch.linalg.vector_norm(slopes, dim=(1, 2))

    return _penalised(torch, (2, 5), by_place), _penalised(torch, (2, 5), of_all)
