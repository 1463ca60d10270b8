"""A denoising autoencoder: the seed is set where the noise is drawn, so every batch gets the same noise.

Asked in forums about random numbers that repeat in every iteration: a manual_seed in the data's own function.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
LENGTH, BATCH = 32, 32


def waves(n, generator):
    """Sines of random frequency and phase."""
    frequency = 0.1 + 0.4 * torch.rand(n, 1, generator=generator)
    phase = 2 * math.pi * torch.rand(n, 1, generator=generator)
    return torch.sin(frequency * torch.arange(LENGTH).float() + phase)


def corrupted(x, level=0.4):
    torch.manual_seed(42)  # bug
    noise = level * torch.randn_like(x)
    holes = (torch.rand_like(x) > 0.1).float()
    return (x + noise) * holes


class Denoiser(nn.Module):
    def __init__(self, channels=12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, channels, 5, padding=2),
            nn.ReLU(),
            nn.Conv1d(channels, channels, 5, padding=2),
            nn.ReLU(),
            nn.Conv1d(channels, 1, 5, padding=2),
        )

    def forward(self, x):
        return self.net(x.unsqueeze(1)).squeeze(1)


data = torch.Generator().manual_seed(1)
model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(60):
    clean = waves(BATCH, data)
    loss = F.mse_loss(model(corrupted(clean)), clean)  # here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: {loss.item():.4f}")
