"""A recurrent network on a long series: the epoch's total is a tensor, and keeps every graph alive.

Described in PyTorch's own FAQ: https://docs.pytorch.org/docs/stable/notes/faq.html
"""

import torch
from torch import nn

torch.manual_seed(0)
WINDOW = 20


def series(n):
    t = torch.arange(n).float()
    return torch.sin(0.2 * t) + 0.5 * torch.sin(0.05 * t) + 0.05 * torch.randn(n)


def windows(x):
    """Each window and the value that follows it."""
    for start in range(0, len(x) - WINDOW - 1, 4):
        yield x[start : start + WINDOW].view(1, WINDOW, 1), x[start + WINDOW].view(1, 1)


class Forecaster(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        states, _ = self.lstm(x)
        return self.out(states[:, -1])


data = series(260)
train, test = data[:220], data[220:]
model = Forecaster()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(3):
    model.train()
    total, count = 0, 0
    for x, y in windows(train):
        prediction = model(x)
        loss = criterion(prediction, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss  # bug
        total += loss.item()  # fix
        count += 1
    print(f"epoch {epoch}: {float(total) / count:.4f}")

model.eval()
with torch.no_grad():
    errors = [criterion(model(x), y).item() for x, y in windows(test)]
print("test:", sum(errors) / len(errors))
