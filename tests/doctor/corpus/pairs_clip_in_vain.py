"""Clipping that does not bound the step: another net's gradients, too early, too late, or a copy."""

from __future__ import annotations

import copy
from typing import Any

from .case import pair
from .parts import batches, classes, perceptron, regression, waves


@pair("TG204")
def generator_clipped_for_the_discriminators_step(torch: Any):
    """Copied and pasted: the discriminator steps on gradients that were never clipped."""
    nn, F = torch.nn, torch.nn.functional
    real = torch.randn(16, 2) * 0.3 + 1

    def bug():
        generator, discriminator = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
        for_g = torch.optim.Adam(generator.parameters(), lr=0.01)
        for_d = torch.optim.Adam(discriminator.parameters(), lr=0.01)
        for _ in range(12):
            fake = generator(torch.randn(16, 3))
            for_d.zero_grad()
            d_loss = F.softplus(-discriminator(real)) + F.softplus(discriminator(fake.detach()))
            d_loss.mean().backward()
            nn.utils.clip_grad_norm_(generator.parameters(), 0.1)  # bug: here
            for_d.step()
            for_g.zero_grad()
            F.softplus(-discriminator(fake)).mean().backward()
            nn.utils.clip_grad_norm_(generator.parameters(), 0.1)
            for_g.step()

    def fix():
        generator, discriminator = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
        for_g = torch.optim.Adam(generator.parameters(), lr=0.01)
        for_d = torch.optim.Adam(discriminator.parameters(), lr=0.01)
        for _ in range(12):
            fake = generator(torch.randn(16, 3))
            for_d.zero_grad()
            d_loss = F.softplus(-discriminator(real)) + F.softplus(discriminator(fake.detach()))
            d_loss.mean().backward()
            nn.utils.clip_grad_norm_(discriminator.parameters(), 0.1)
            for_d.step()
            for_g.zero_grad()
            F.softplus(-discriminator(fake)).mean().backward()
            nn.utils.clip_grad_norm_(generator.parameters(), 0.1)
            for_g.step()

    return bug, fix


@pair("TG204", "TG203")
def averaged_copy_is_clipped(torch: Any):
    """The moving average of the model is clipped; it has no gradients."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        average = copy.deepcopy(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            nn.utils.clip_grad_norm_(average.parameters(), 0.5)  # bug: here
            optimizer.step()
            with torch.no_grad():
                for kept, new in zip(average.parameters(), model.parameters(), strict=True):
                    kept.mul_(0.9).add_(new, alpha=0.1)

    def fix():
        model = perceptron(torch, 4, 8, 1)
        average = copy.deepcopy(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            with torch.no_grad():
                for kept, new in zip(average.parameters(), model.parameters(), strict=True):
                    kept.mul_(0.9).add_(new, alpha=0.1)

    return bug, fix


@pair("TG204")
def critic_clipped_for_the_actors_step(torch: Any):
    """Actor and critic learn from one backward each; both times the critic is clipped."""
    nn, F = torch.nn, torch.nn.functional
    states, rewards = torch.randn(48, 3), torch.randn(48, 1)

    def bug():
        actor, critic = perceptron(torch, 3, 8, 2), perceptron(torch, 3, 8, 1)
        for_actor = torch.optim.SGD(actor.parameters(), lr=0.05)
        for_critic = torch.optim.SGD(critic.parameters(), lr=0.05)
        for s, r in batches(4, states, rewards):
            for_critic.zero_grad()
            value = critic(s)
            F.mse_loss(value, r).backward()
            nn.utils.clip_grad_norm_(critic.parameters(), 0.5)
            for_critic.step()
            for_actor.zero_grad()
            chances = F.log_softmax(actor(s), dim=1)[:, :1]
            (-(chances * (r - value.detach())).mean()).backward()
            nn.utils.clip_grad_norm_(critic.parameters(), 0.5)  # bug: here
            for_actor.step()

    def fix():
        actor, critic = perceptron(torch, 3, 8, 2), perceptron(torch, 3, 8, 1)
        for_actor = torch.optim.SGD(actor.parameters(), lr=0.05)
        for_critic = torch.optim.SGD(critic.parameters(), lr=0.05)
        for s, r in batches(4, states, rewards):
            for_critic.zero_grad()
            value = critic(s)
            F.mse_loss(value, r).backward()
            nn.utils.clip_grad_norm_(critic.parameters(), 0.5)
            for_critic.step()
            for_actor.zero_grad()
            chances = F.log_softmax(actor(s), dim=1)[:, :1]
            (-(chances * (r - value.detach())).mean()).backward()
            nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
            for_actor.step()

    return bug, fix


@pair("TG205")
def clipped_after_the_step(torch: Any):
    """The step is taken on unclipped gradients; then they are clipped, and thrown away."""
    nn = torch.nn
    x, y = waves(torch)

    def bug():
        rnn = nn.GRU(1, 6, batch_first=True)
        head = nn.Linear(6, 1)
        parameters = [*rnn.parameters(), *head.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        for _ in range(10):
            optimizer.zero_grad()
            nn.functional.mse_loss(head(rnn(x)[0]), y).backward()
            optimizer.step()
            nn.utils.clip_grad_norm_(parameters, 0.25)  # bug: here

    def fix():
        rnn = nn.GRU(1, 6, batch_first=True)
        head = nn.Linear(6, 1)
        parameters = [*rnn.parameters(), *head.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        for _ in range(10):
            optimizer.zero_grad()
            nn.functional.mse_loss(head(rnn(x)[0]), y).backward()
            nn.utils.clip_grad_norm_(parameters, 0.25)
            optimizer.step()

    return bug, fix


@pair("TG205")
def clipped_before_the_second_loss(torch: Any):
    """The penalty's backward comes after clipping, and its gradients are not bounded."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # bug: here
            sum(p.pow(2).sum() for p in model.parameters()).backward()  # bug: or here
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            sum(p.pow(2).sum() for p in model.parameters()).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

    return bug, fix


@pair("TG205")
def clipped_on_every_micro_batch(torch: Any):
    """Accumulation: the sum so far is clipped, then more is added to it."""
    nn = torch.nn
    x, y = classes(torch, n=96)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for _epoch in range(2):
            for i, (inputs, targets) in enumerate(batches(4, x, y)):
                (nn.functional.cross_entropy(model(inputs), targets) / 4).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # bug: here
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()

    def fix():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for _epoch in range(2):
            for i, (inputs, targets) in enumerate(batches(4, x, y)):
                (nn.functional.cross_entropy(model(inputs), targets) / 4).backward()
                if (i + 1) % 4 == 0:
                    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
                    optimizer.step()
                    optimizer.zero_grad()

    return bug, fix


@pair("TG205", "TG203", "TG204")
def clones_of_the_parameters_are_clipped(torch: Any):
    """Clones that carry a clone of the gradient are clipped; the gradients themselves are not."""
    nn = torch.nn
    x, y = regression(torch)

    def with_gradient(p):
        twin = p.detach().clone()
        twin.grad = p.grad.clone()
        return twin

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            twins = [with_gradient(p) for p in model.parameters()]
            nn.utils.clip_grad_norm_(twins, 0.1)  # bug: here
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()

    return bug, fix
