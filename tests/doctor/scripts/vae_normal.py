"""A variational autoencoder on a curve: the latent code is drawn by torch.normal, whose gradient is zero.

Known from forum threads on reparameterization: torch.normal takes tensors and gives them no gradient.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def spiral(n):
    t = torch.rand(n) * 3 * math.pi
    points = torch.stack([t * torch.cos(t), t * torch.sin(t)], dim=1) / 8
    return points + 0.02 * torch.randn(n, 2)


class VAE(nn.Module):
    def __init__(self, latent=2, width=48):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(2, width), nn.Tanh())
        self.mu = nn.Linear(width, latent)
        self.logvar = nn.Linear(width, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, width), nn.Tanh(), nn.Linear(width, 2))

    def draw(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return torch.normal(mu, std)  # bug
        return mu + std * torch.randn_like(std)  # fix

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.mu(h), self.logvar(h)
        return self.decoder(self.draw(mu, logvar)), mu, logvar


def objective(x, reconstruction, mu, logvar, beta=0.01):
    error = F.mse_loss(reconstruction, x, reduction="none").sum(1).mean()
    divergence = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return error + beta * divergence, error, divergence


loader = DataLoader(TensorDataset(spiral(512)), batch_size=64, shuffle=True)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    for (x,) in loader:
        loss, error, divergence = objective(x, *model(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: error {error.item():.4f}, divergence {divergence.item():.4f}")
