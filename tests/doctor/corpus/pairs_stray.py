"""Gradients from elsewhere: a backward before the loop, and losses that meet in a net of one of them."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, classes, perceptron, regression


@pair("TG102")
def a_look_at_the_gradients_before_the_loop(torch: Any):
    """A first backward to see that shapes are right; the loop clears after each step, not before."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        nn.functional.mse_loss(model(x[:2]), y[:2]).backward()  # bug: here
        assert all(p.grad is not None for p in model.parameters())
        for _ in range(12):
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()  # bug: or here
            optimizer.step()  # bug: or here
            optimizer.zero_grad()

    def fix():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        nn.functional.mse_loss(model(x[:2]), y[:2]).backward()
        assert all(p.grad is not None for p in model.parameters())
        optimizer.zero_grad()
        for _ in range(12):
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    return bug, fix


@pair("TG102")
def a_saliency_map_before_the_loop(torch: Any):
    """Which inputs matter before training? backward fills the model's gradients as well."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        probe = x[:6].clone().requires_grad_()
        model(probe).max(dim=1).values.sum().backward()  # bug: here
        saliency = probe.grad.abs()
        for inputs, targets in batches(4, x, y):
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()  # bug: or here
            optimizer.step()  # bug: or here
            optimizer.zero_grad()
        return saliency

    def fix():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        probe = x[:6].clone().requires_grad_()
        (gradient,) = torch.autograd.grad(model(probe).max(dim=1).values.sum(), probe)
        saliency = gradient.abs()
        for inputs, targets in batches(4, x, y):
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        return saliency

    return bug, fix


@pair("TG102")
def a_gradient_norm_measured_before_the_loop(torch: Any):
    """The learning rate is chosen from a first gradient norm, which stays for the first step."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = nn.Linear(4, 1)
        nn.functional.mse_loss(model(x), y).backward()  # bug: here
        norm = sum(p.grad.norm() ** 2 for p in model.parameters()).sqrt().item()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1 / (1 + norm))
        for _ in range(12):
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()  # bug: or here
            optimizer.step()  # bug: or here
            for p in model.parameters():
                p.grad = None

    def fix():
        model = nn.Linear(4, 1)
        nn.functional.mse_loss(model(x), y).backward()
        norm = sum(p.grad.norm() ** 2 for p in model.parameters()).sqrt().item()
        model.zero_grad()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1 / (1 + norm))
        for _ in range(12):
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            for p in model.parameters():
                p.grad = None

    return bug, fix


@pair("TG105")
def generators_loss_left_in_the_discriminator(torch: Any):
    """A GAN that clears both nets at the top: the generator's loss is still in the discriminator."""
    F = torch.nn.functional
    real = torch.randn(16, 2) * 0.3 + 1

    def bug():
        generator, discriminator = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
        for_g = torch.optim.SGD(generator.parameters(), lr=0.05)
        for_d = torch.optim.SGD(discriminator.parameters(), lr=0.05)
        yes, no = torch.ones(16, 1), torch.zeros(16, 1)
        for _ in range(12):
            for_g.zero_grad()
            for_d.zero_grad()  # bug: or here
            fake = generator(torch.randn(16, 3))
            fooling = F.binary_cross_entropy_with_logits(discriminator(fake), yes)
            fooling.backward()  # bug: here
            for_g.step()
            telling = F.binary_cross_entropy_with_logits(discriminator(real), yes)
            telling = telling + F.binary_cross_entropy_with_logits(discriminator(fake.detach()), no)
            telling.backward()  # bug: or here
            for_d.step()  # bug: or here

    def fix():
        generator, discriminator = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
        for_g = torch.optim.SGD(generator.parameters(), lr=0.05)
        for_d = torch.optim.SGD(discriminator.parameters(), lr=0.05)
        yes, no = torch.ones(16, 1), torch.zeros(16, 1)
        for _ in range(12):
            for_g.zero_grad()
            fake = generator(torch.randn(16, 3))
            fooling = F.binary_cross_entropy_with_logits(discriminator(fake), yes)
            fooling.backward()
            for_g.step()
            for_d.zero_grad()
            telling = F.binary_cross_entropy_with_logits(discriminator(real), yes)
            telling = telling + F.binary_cross_entropy_with_logits(discriminator(fake.detach()), no)
            telling.backward()
            for_d.step()

    return bug, fix


@pair("TG105")
def actors_loss_left_in_the_critic(torch: Any):
    """DDPG: the actor's loss goes through the critic and its gradients are stepped on there."""
    F = torch.nn.functional
    states = torch.randn(48, 3)
    actions = torch.randn(48, 1)
    returns = -(actions - states.sum(1, keepdim=True)).pow(2)

    def bug():
        actor, critic = perceptron(torch, 3, 8, 1), perceptron(torch, 4, 16, 1)
        for_actor = torch.optim.Adam(actor.parameters(), lr=0.01)
        for_critic = torch.optim.Adam(critic.parameters(), lr=0.01)
        for s, a, r in batches(4, states, actions, returns):
            for_actor.zero_grad()
            for_critic.zero_grad()  # bug: or here
            actor_loss = -critic(torch.cat([s, actor(s)], 1)).mean()
            actor_loss.backward()  # bug: here
            for_actor.step()
            critic_loss = F.mse_loss(critic(torch.cat([s, a], 1)), r)
            critic_loss.backward()  # bug: or here
            for_critic.step()  # bug: or here

    def fix():
        actor, critic = perceptron(torch, 3, 8, 1), perceptron(torch, 4, 16, 1)
        for_actor = torch.optim.Adam(actor.parameters(), lr=0.01)
        for_critic = torch.optim.Adam(critic.parameters(), lr=0.01)
        for s, a, r in batches(4, states, actions, returns):
            for_actor.zero_grad()
            actor_loss = -critic(torch.cat([s, actor(s)], 1)).mean()
            actor_loss.backward()
            for_actor.step()
            for_critic.zero_grad()
            critic_loss = F.mse_loss(critic(torch.cat([s, a], 1)), r)
            critic_loss.backward()
            for_critic.step()

    return bug, fix


@pair("TG105")
def both_losses_before_both_steps(torch: Any):
    """A GAN with both backwards first and both steps after: the discriminator follows both losses."""
    F = torch.nn.functional
    real = torch.randn(16, 2) * 0.3 - 1

    def bug():
        generator, discriminator = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
        for_g = torch.optim.Adam(generator.parameters(), lr=0.01)
        for_d = torch.optim.Adam(discriminator.parameters(), lr=0.01)
        for _ in range(12):
            for_g.zero_grad()
            for_d.zero_grad()
            fake = generator(torch.randn(16, 3))
            d_loss = F.softplus(-discriminator(real)).mean()
            d_loss = d_loss + F.softplus(discriminator(fake.detach())).mean()
            d_loss.backward()  # bug: or here
            g_loss = F.softplus(-discriminator(fake)).mean()
            g_loss.backward()  # bug: here
            for_d.step()  # bug: or here
            for_g.step()

    def fix():
        generator, discriminator = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
        for_g = torch.optim.Adam(generator.parameters(), lr=0.01)
        for_d = torch.optim.Adam(discriminator.parameters(), lr=0.01)
        for _ in range(12):
            for_g.zero_grad()
            for_d.zero_grad()
            fake = generator(torch.randn(16, 3))
            d_loss = F.softplus(-discriminator(real)).mean()
            d_loss = d_loss + F.softplus(discriminator(fake.detach())).mean()
            d_loss.backward()
            for_d.step()
            g_loss = F.softplus(-discriminator(fake)).mean()
            g_loss.backward()
            for_g.step()

    return bug, fix
