"""A mixture of experts: the router picks by argmax alone, and its weights never learn whom to pick.

Asked in forums as "gating network gets no gradient"; the choice has to be weighted by its probability.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
EXPERTS, INPUTS = 4, 6


def regimes(n):
    """A function that differs from quadrant to quadrant."""
    x = torch.randn(n, INPUTS)
    left, up = x[:, 0] < 0, x[:, 1] > 0
    y = torch.where(left, x[:, 2], -x[:, 3]) + torch.where(up, x[:, 4] ** 2, x[:, 5])
    return x, y.unsqueeze(1)


class Expert(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(INPUTS, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x)


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(INPUTS, EXPERTS)
        self.experts = nn.ModuleList(Expert() for _ in range(EXPERTS))

    def forward(self, x):
        probability = F.softmax(self.router(x), dim=1)
        chosen = probability.argmax(dim=1)  # here
        weight = F.one_hot(chosen, EXPERTS).float()  # bug
        weight = F.one_hot(chosen, EXPERTS).float() * probability  # fix
        answers = torch.stack([expert(x) for expert in self.experts], dim=1)
        return (weight.unsqueeze(-1) * answers).sum(1)


model = Mixture()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)  # here
for step in range(60):
    x, y = regimes(128)
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: {loss.item():.3f}")
