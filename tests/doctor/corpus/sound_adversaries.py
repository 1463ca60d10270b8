"""Nets that work against each other: gradients are made in one and thrown away, on purpose."""

from __future__ import annotations

from typing import Any

from .case import sound
from .parts import batches, classes, perceptron


@sound("adversaries")
def discriminators_gradients_thrown_away(torch: Any):
    """The generator's loss fills the discriminator's gradients, which are cleared before its own."""
    F = torch.nn.functional
    real = torch.randn(16, 2) * 0.3 + 1

    def loop():
        generator, discriminator = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
        for_g = torch.optim.Adam(generator.parameters(), lr=0.01)
        for_d = torch.optim.Adam(discriminator.parameters(), lr=0.01)
        yes, no = torch.ones(16, 1), torch.zeros(16, 1)
        for _ in range(12):
            fake = generator(torch.randn(16, 3))
            for_d.zero_grad()
            on_real = F.binary_cross_entropy_with_logits(discriminator(real), yes)
            on_fake = F.binary_cross_entropy_with_logits(discriminator(fake.detach()), no)
            ((on_real + on_fake) / 2).backward()
            for_d.step()
            for_g.zero_grad()
            F.binary_cross_entropy_with_logits(discriminator(fake), yes).backward()
            for_g.step()

    return loop


@sound("adversaries")
def real_and_fake_go_backward_apart(torch: Any):
    """Two backwards into the discriminator before its step: one for real, one for fake."""
    F = torch.nn.functional
    real = torch.randn(16, 2) * 0.3 + 1

    def loop():
        generator, discriminator = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
        for_g = torch.optim.Adam(generator.parameters(), lr=0.01)
        for_d = torch.optim.Adam(discriminator.parameters(), lr=0.01)
        for _ in range(12):
            discriminator.zero_grad()
            F.softplus(-discriminator(real)).mean().backward()
            fake = generator(torch.randn(16, 3))
            F.softplus(discriminator(fake.detach())).mean().backward()
            for_d.step()
            generator.zero_grad()
            F.softplus(-discriminator(fake)).mean().backward()
            for_g.step()

    return loop


@sound("adversaries")
def requires_grad_toggled(torch: Any):
    """The discriminator is frozen while the generator learns and thawed for its own turn."""
    F = torch.nn.functional
    real = torch.randn(16, 2) * 0.3 - 1

    def loop():
        generator, discriminator = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
        for_g = torch.optim.RMSprop(generator.parameters(), lr=0.01)
        for_d = torch.optim.RMSprop(discriminator.parameters(), lr=0.01)
        for _ in range(12):
            for p in discriminator.parameters():
                p.requires_grad = True
            for_d.zero_grad()
            fake = generator(torch.randn(16, 3))
            d_loss = F.softplus(-discriminator(real)) + F.softplus(discriminator(fake.detach()))
            d_loss.mean().backward()
            for_d.step()
            for p in discriminator.parameters():
                p.requires_grad = False
            for_g.zero_grad()
            F.softplus(-discriminator(fake)).mean().backward()
            for_g.step()

    return loop


@sound("adversaries")
def wasserstein_with_clipped_weights(torch: Any):
    """Several critic steps per generator step; weights are clamped through .data."""
    real = torch.randn(16, 2) * 0.3 + 1

    def loop():
        generator, critic = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
        for_g = torch.optim.RMSprop(generator.parameters(), lr=0.005)
        for_c = torch.optim.RMSprop(critic.parameters(), lr=0.005)
        for _ in range(5):
            for _ in range(3):
                for_c.zero_grad()
                with torch.no_grad():
                    fake = generator(torch.randn(16, 3))
                (critic(fake).mean() - critic(real).mean()).backward()
                for_c.step()
                for p in critic.parameters():
                    p.data.clamp_(-0.1, 0.1)
            for_g.zero_grad()
            (-critic(generator(torch.randn(16, 3))).mean()).backward()
            for_g.step()

    return loop


@sound("adversaries")
def gradient_penalty(torch: Any):
    """WGAN-GP: the penalty is a gradient's norm, through create_graph."""
    real = torch.randn(16, 2) * 0.3 + 1

    def penalty(critic, fake):
        mix = torch.rand(16, 1)
        between = (mix * real + (1 - mix) * fake).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        return ((slope.norm(dim=1) - 1) ** 2).mean()

    def loop():
        generator, critic = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
        for_g = torch.optim.Adam(generator.parameters(), lr=0.01, betas=(0.0, 0.9))
        for_c = torch.optim.Adam(critic.parameters(), lr=0.01, betas=(0.0, 0.9))
        for _ in range(6):
            for_c.zero_grad()
            fake = generator(torch.randn(16, 3)).detach()
            (critic(fake).mean() - critic(real).mean() + 10 * penalty(critic, fake)).backward()
            for_c.step()
            for_g.zero_grad()
            (-critic(generator(torch.randn(16, 3))).mean()).backward()
            for_g.step()

    return loop


@sound("adversaries")
def gradient_reversal(torch: Any):
    """Domain adaptation: a function that is the identity forward and turns the sign backward."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)
    domain = (torch.arange(48) % 2).float().unsqueeze(1)

    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return -0.3 * g

    def loop():
        features, labels, domains = perceptron(torch, 4, 8), nn.Linear(8, 3), nn.Linear(8, 1)
        model = nn.ModuleList([features, labels, domains])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for inputs, targets, where in batches(4, x, y, domain):
            optimizer.zero_grad()
            hidden = torch.tanh(features(inputs))
            loss = F.cross_entropy(labels(hidden), targets)
            guess = domains(Reverse.apply(hidden))
            (loss + F.binary_cross_entropy_with_logits(guess, where)).backward()
            optimizer.step()

    return loop


@sound("adversaries")
def attack_that_clears_the_model(torch: Any):
    """Adversarial training: backward is run for the inputs' gradient, and the weights' is cleared."""
    F = torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for inputs, targets in batches(4, x, y):
            moved = inputs.clone().requires_grad_(True)
            F.cross_entropy(model(moved), targets).backward()
            attacked = (moved + 0.05 * moved.grad.sign()).detach()
            optimizer.zero_grad()
            F.cross_entropy(model(attacked), targets).backward()
            optimizer.step()

    return loop


@sound("adversaries")
def cycle_of_two_generators(torch: Any):
    """Two generators in one optimizer, two critics in another, cycle losses over both."""
    import itertools

    F = torch.nn.functional
    a, b = torch.randn(16, 2) + 1, torch.randn(16, 2) - 1

    def loop():
        to_b, to_a = perceptron(torch, 2, 8, 2), perceptron(torch, 2, 8, 2)
        judge_a, judge_b = perceptron(torch, 2, 8, 1), perceptron(torch, 2, 8, 1)
        makers = itertools.chain(to_b.parameters(), to_a.parameters())
        judges = itertools.chain(judge_a.parameters(), judge_b.parameters())
        for_makers = torch.optim.Adam(makers, lr=0.005)
        for_judges = torch.optim.Adam(judges, lr=0.005)
        for _ in range(8):
            for net in (judge_a, judge_b):
                net.requires_grad_(False)
            for_makers.zero_grad()
            fake_b, fake_a = to_b(a), to_a(b)
            fool = (judge_b(fake_b) - 1).pow(2).mean() + (judge_a(fake_a) - 1).pow(2).mean()
            cycle = F.l1_loss(to_a(fake_b), a) + F.l1_loss(to_b(fake_a), b)
            (fool + 10 * cycle).backward()
            for_makers.step()
            for net in (judge_a, judge_b):
                net.requires_grad_(True)
            for_judges.zero_grad()
            for judge, real, fake in ((judge_a, a, fake_a), (judge_b, b, fake_b)):
                told = (judge(real) - 1).pow(2).mean() + judge(fake.detach()).pow(2).mean()
                (told / 2).backward()
            for_judges.step()

    return loop
