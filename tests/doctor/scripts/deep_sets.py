"""A permutation-invariant network that guesses the spread of a set: predictions and targets meet as (N, N).

Reported as https://github.com/manzilzaheer/DeepSets/pull/1
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def sets(n, size=10):
    """Samples of Gaussians of different width, and their log variance."""
    log_var = torch.empty(n).uniform_(-2, 2)
    points = torch.randn(n, size) * (0.5 * log_var).exp().unsqueeze(1)
    return points.unsqueeze(-1), log_var


class DeepSet(nn.Module):
    """rho(mean of phi(x))."""

    def __init__(self, width=32):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(1, width), nn.ELU(), nn.Linear(width, width), nn.ELU())
        self.rho = nn.Sequential(nn.Linear(width, width), nn.ELU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.rho(self.phi(x).mean(dim=1))


def squared_error(prediction, target):
    return ((prediction - target) ** 2).mean()  # bug
    return ((prediction.squeeze(1) - target) ** 2).mean()  # fix


points, targets = sets(512)
train = DataLoader(TensorDataset(points[:384], targets[:384]), batch_size=64, shuffle=True)
model = DeepSet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(8):
    model.train()
    running = 0.0
    for x, y in train:
        optimizer.zero_grad()
        loss = squared_error(model(x), y)  # here
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch}: {running / len(train):.4f}")

model.eval()
with torch.no_grad():
    error = (model(points[384:]).squeeze(1) - targets[384:]).abs().mean()
print("held out, mean absolute error:", error.item())
