"""A regression with an exponential moving average of the weights, which never moves."""

import copy
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def make_data(n):
    """A noisy sine."""
    x = torch.rand(n, 1) * 4 - 2
    y = torch.sin(math.pi * x) + 0.1 * torch.randn(n, 1)
    return TensorDataset(x, y)


class MLP(nn.Module):
    """Three layers."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(1, 48),
            nn.Tanh(),
            nn.Linear(48, 48),
            nn.Tanh(),
            nn.Linear(48, 1),
        )

    def forward(self, x):
        return self.layers(x)


class EMA:
    """Keeps a slowly moving copy of a model."""

    def __init__(self, model, decay=0.95):
        self.decay = decay
        self.model = copy.deepcopy(model)
        self.model.eval()
        for p in self.model.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for ema_p, p in zip(self.model.parameters(), model.parameters()):
            ema_p = self.decay * ema_p + (1 - self.decay) * p  # bug
            ema_p.copy_(self.decay * ema_p + (1 - self.decay) * p)  # fix


def evaluate(model, loader, criterion):
    total = n = 0
    with torch.no_grad():
        for x, y in loader:
            total += criterion(model(x), y).item() * len(x)
            n += len(x)
    return total / n


train_loader = DataLoader(make_data(256), batch_size=32, shuffle=True)
val_loader = DataLoader(make_data(128), batch_size=64)

model = MLP()
ema = EMA(model)  # here
criterion = nn.MSELoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-4)

for epoch in range(8):
    model.train()
    for x, y in train_loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)  # here
    model.eval()
    plain = evaluate(model, val_loader, criterion)
    averaged = evaluate(ema.model, val_loader, criterion)  # here
    print(f"epoch {epoch}: model {plain:.3f}, average {averaged:.3f}")
