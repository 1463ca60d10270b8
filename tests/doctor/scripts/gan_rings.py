"""A GAN that learns points on a ring: the discriminator's loss also trains the generator."""

import math

import torch
from torch import nn

torch.manual_seed(0)

LATENT = 8
BATCH = 64
STEPS = 60


def real_points(n):
    """Points near the unit circle."""
    angle = torch.rand(n) * 2 * math.pi
    points = torch.stack([torch.cos(angle), torch.sin(angle)], dim=1)
    return points + 0.05 * torch.randn(n, 2)


class Generator(nn.Module):
    """From noise to points."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(LATENT, 32),
            nn.ReLU(),
            nn.Linear(32, 32),
            nn.ReLU(),
            nn.Linear(32, 2),
        )

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    """From points to a logit."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, 32),
            nn.LeakyReLU(0.2),
            nn.Linear(32, 32),
            nn.LeakyReLU(0.2),
            nn.Linear(32, 1),
        )

    def forward(self, x):
        return self.net(x)


generator = Generator()
discriminator = Discriminator()
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()
ones = torch.ones(BATCH, 1)
zeros = torch.zeros(BATCH, 1)

for step in range(STEPS):
    opt_d.zero_grad()
    opt_g.zero_grad()

    real = real_points(BATCH)
    z = torch.randn(BATCH, LATENT)
    fake = generator(z)

    loss_real = criterion(discriminator(real), ones)
    loss_fake = criterion(discriminator(fake), zeros)  # bug
    loss_fake = criterion(discriminator(fake.detach()), zeros)  # fix
    loss_d = loss_real + loss_fake
    loss_d.backward(retain_graph=True)  # here
    opt_d.step()

    z = torch.randn(BATCH, LATENT)
    fake = generator(z)
    loss_g = criterion(discriminator(fake), ones)
    loss_g.backward()  # here
    opt_g.step()  # here

    if step % 20 == 0:
        print(f"step {step:4d}  d {loss_d.item():.3f}  g {loss_g.item():.3f}")

with torch.no_grad():
    sample = generator(torch.randn(512, LATENT))
print("radius of the samples:", sample.norm(dim=1).mean().item())
