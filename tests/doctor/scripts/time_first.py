"""Gestures as sequences: the LSTM wants time first and is given the batch first, so samples run into each other.

Asked in forums as "LSTM does not learn"; batch_first is False by default.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
STEPS, CHANNELS, CLASSES = 12, 3, 3


def gestures(n):
    """Waves of three speeds, with a phase of their own."""
    label = torch.randint(0, CLASSES, (n,))
    speed = (label + 1).float().view(n, 1, 1) * 0.4
    phase = torch.rand(n, 1, CHANNELS) * 6.28
    t = torch.arange(STEPS).float().view(1, STEPS, 1)
    return torch.sin(speed * t + phase) + 0.1 * torch.randn(n, STEPS, CHANNELS), label


class GestureNet(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.lstm = nn.LSTM(CHANNELS, hidden)  # bug
        self.lstm = nn.LSTM(CHANNELS, hidden, batch_first=True)  # fix
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(hidden, CLASSES)

    def forward(self, x):
        states, _ = self.lstm(x)  # here
        return self.out(self.drop(states[:, -1]))


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


x, y = gestures(360)
loader = DataLoader(TensorDataset(x[:300], y[:300]), batch_size=30, shuffle=True)
model = GestureNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    model.train()
    for xb, yb in loader:
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.3f}, test {accuracy(model, x[300:], y[300:]):.2f}")
