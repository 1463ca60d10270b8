"""Gradient accumulation over four small batches: all but the last are thrown away."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

MICRO_BATCH = 8
ACCUMULATE = 4


def make_data(n):
    """Labels from a random hyperplane in a bent space."""
    x = torch.randn(n, 10)
    score = x[:, 0] * x[:, 1] + x[:, 2] - 0.5 * x[:, 3] ** 2
    return TensorDataset(x, (score > 0).long())


class ResidualMLP(nn.Module):
    """A stem, residual blocks, a head."""

    def __init__(self, width=32, depth=3):
        super().__init__()
        self.stem = nn.Linear(10, width)
        self.blocks = nn.ModuleList()
        for _ in range(depth):
            self.blocks.append(
                nn.Sequential(
                    nn.LayerNorm(width),
                    nn.Linear(width, width),
                    nn.ReLU(),
                    nn.Linear(width, width),
                )
            )
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = x + block(x)
        return self.head(x)


def evaluate(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    model.train()
    return right / total


train_loader = DataLoader(make_data(512), batch_size=MICRO_BATCH, shuffle=True)
val_loader = DataLoader(make_data(128), batch_size=64)

model = ResidualMLP()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(3):
    running = 0.0
    optimizer.zero_grad()  # fix
    for i, (x, y) in enumerate(train_loader):
        optimizer.zero_grad()  # bug
        logits = model(x)
        loss = criterion(logits, y) / ACCUMULATE
        loss.backward()  # here
        running += loss.item() * ACCUMULATE
        if (i + 1) % ACCUMULATE == 0:
            optimizer.step()  # here
            optimizer.zero_grad()  # fix
    print(
        f"epoch {epoch}: loss {running / len(train_loader):.3f}, val {evaluate(model, val_loader):.2f}"
    )
