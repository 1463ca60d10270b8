"""The training steps of the examples, compiled beside the plain ones. Run as a program of its own: the
examples import `torch`, which here means tautograd.

    python -m tests.compile.example_steps numpy 12
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tautograd._cli import as_torch

as_torch.install()
sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

import tautograd as torch  # noqa: E402
from tautograd import nn  # noqa: E402

from .compare import lockstep, training  # noqa: E402

F = nn.functional
# Sums over batches of 16, in another order than a fused function takes, and what a step makes of them.
SUM = 16 * 16


def images() -> tuple[Any, Any]:
    torch.manual_seed(1)
    return torch.rand(16, 1, 8, 8), torch.arange(16) % 10


def classifier(model_of: Callable[[], Any]) -> Any:
    def make() -> Any:
        model = model_of()
        x, y = images()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        return training(model, optimizer, lambda: F.cross_entropy(model(x), y))

    return make


def digits() -> Any:
    from digits import Perceptron

    return classifier(lambda: Perceptron(16))


def digits_cnn() -> Any:
    from digits_cnn import Network

    return classifier(lambda: Network(4))


def accumulation() -> Any:
    from accumulation import network

    return classifier(network)


def checkpoint() -> Any:
    """With SGD: the bias before a batch norm has no gradient but rounding, of which Adam takes the sign."""
    from checkpoint import build

    def make() -> Any:
        model, _, _ = build()
        x, y = images()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.99)
        step, seen = training(model, optimizer, lambda: F.cross_entropy(model(x), y))

        def both() -> Any:
            loss = step()
            schedule.step()
            return loss

        return both, seen

    return make


def mixed_precision() -> Any:
    from mixed_precision import network

    def make() -> Any:
        model = network(16)
        x, y = images()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

        def loss_of() -> Any:
            with torch.autocast("cpu", torch.bfloat16):
                return F.cross_entropy(model(x), y)

        return training(model, optimizer, loss_of)

    return make


def char_gpt() -> Any:
    from char_gpt import GPT, loss_of

    def make() -> Any:
        model = GPT(20, 8, 16, 4, 2)
        data = torch.arange(300) % 20
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 / (n + 1))

        def step() -> Any:
            starts = torch.randint(250, (4,))
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(model, data, starts)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            return loss

        return step, lambda: [dict(model.state_dict()), optimizer.state_dict()]

    return make


def vae() -> Any:
    from vae import Autoencoder, losses

    def make() -> Any:
        model = Autoencoder(16, 3)
        x = images()[0].flatten(1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        return training(model, optimizer, lambda: sum(losses(model, x)))

    return make


def gan() -> Any:
    from gan import network, real_points

    def make() -> Any:
        maker, critic = network(4, 2, 16), network(2, 1, 16)
        optimizers = [torch.optim.Adam(m.parameters(), lr=1e-3) for m in (maker, critic)]

        def step() -> Any:
            real, fake = real_points(16), maker(torch.randn(16, 4))
            optimizers[1].zero_grad()
            loss = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
            loss.backward()
            optimizers[1].step()
            optimizers[0].zero_grad()
            other = F.softplus(-critic(fake)).mean()
            other.backward()
            optimizers[0].step()
            return loss, other

        return step, lambda: [dict(m.state_dict()) for m in (maker, critic)]

    return make


def dqn() -> Any:
    from dqn import GAMMA, network

    def make() -> Any:
        online, target = network(), network()
        states, nexts, rewards = torch.randn(16, 4), torch.randn(16, 4), torch.rand(16)
        actions, fallen = torch.arange(16) % 2, torch.arange(16) % 5 == 0

        def loss_of() -> Any:
            worth = online(states).gather(1, actions.unsqueeze(1)).squeeze(1)
            with torch.no_grad():
                best = online(nexts).argmax(dim=1, keepdim=True)
                later = target(nexts).gather(1, best).squeeze(1)
                aim = rewards + GAMMA * later * torch.logical_not(fallen)
            return F.smooth_l1_loss(worth, aim)

        return training(online, torch.optim.Adam(online.parameters(), lr=1e-3), loss_of)

    return make


def regression() -> Any:
    from regression import curve

    def make() -> Any:
        model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
        x = torch.linspace(-2, 2, 16)[:, None]
        y = curve(x)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        return training(model, optimizer, lambda: F.mse_loss(model(x), y))

    return make


def lstm() -> Any:
    """With sequences of one length; packing looks at lengths, and so is refused."""
    from lstm import Adder

    def make() -> Any:
        model = Adder(8, 2)
        x, y = torch.rand(4, 5, 2), torch.rand(4)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

        def loss_of() -> Any:
            _, (hidden, _) = model.lstm(x)
            return F.mse_loss(model.head(hidden[-1]).squeeze(1), y)

        return training(model, optimizer, loss_of)

    return make


STEPS = (
    *(digits, digits_cnn, accumulation, checkpoint, mixed_precision, char_gpt, vae, gan, dqn),
    *(regression, lstm),
)


def main(backend: str, calls: int) -> None:
    for step in STEPS:
        # In double precision, where a difference in order is far from any difference that matters. What is
        # rounded to bfloat16 (8 bits) can fall to the other side.
        lower = step is mixed_precision
        torch.set_default_dtype(torch.float32 if lower else torch.float64)
        bound = 2.0**15 * calls if lower else SUM * calls * 10
        compiled = lockstep(step(), calls, backend=backend, bound=bound)
        assert compiled.records == 1, step.__name__
        print(step.__name__, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
