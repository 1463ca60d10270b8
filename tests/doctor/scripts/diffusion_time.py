"""Diffusion of points on a plane: the time is embedded and then left out of the network's input.

The kind of question behind https://github.com/tqch/ddpm-torch/issues/2: what does the noise predictor see?
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
STEPS = 40
beta = torch.linspace(1e-3, 0.2, STEPS)
kept = torch.cumprod(1 - beta, dim=0)


def ring(n):
    angle = torch.rand(n) * 2 * math.pi
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)


class TimeEmbedding(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("speed", 10.0 ** torch.linspace(0, -3, width // 2))
        self.mlp = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))

    def forward(self, t):
        angle = t.float()[:, None] * self.speed
        return self.mlp(torch.cat([angle.sin(), angle.cos()], dim=1))


class Denoiser(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.time = TimeEmbedding(width)
        self.inlet = nn.Linear(2, width)
        self.middle = nn.Linear(width, width)
        self.outlet = nn.Linear(width, 2)

    def forward(self, x, t):
        when = self.time(t)  # here
        h = F.silu(self.inlet(x))  # bug
        h = F.silu(self.inlet(x) + when)  # fix
        h = F.silu(self.middle(h))
        return self.outlet(h)


model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)  # here
for step in range(80):
    clean = ring(64)
    t = torch.randint(0, STEPS, (64,))
    noise = torch.randn_like(clean)
    level = kept[t][:, None]
    noisy = level.sqrt() * clean + (1 - level).sqrt() * noise
    loss = F.mse_loss(model(noisy, t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: {loss.item():.4f}")
