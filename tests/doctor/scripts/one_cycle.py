"""A tabular classifier with a one-cycle rate: the cycle counts batches and is stepped once per epoch.

Reported as https://github.com/espnet/espnet/pull/3319
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
EPOCHS = 8


def table(n=512, columns=12):
    """Columns of different weight, a threshold, and some noise."""
    x = torch.randn(n, columns)
    score = x[:, 0] * 2 - x[:, 1] + x[:, 2] * x[:, 3] + 0.3 * torch.randn(n)
    return x, (score > 0).float()


class Net(nn.Module):
    def __init__(self, columns=12):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(columns, 32),
            nn.BatchNorm1d(32),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Linear(32, 1),
        )

    def forward(self, x):
        return self.layers(x).squeeze(1)


x, y = table()
train = DataLoader(TensorDataset(x[:384], y[:384]), batch_size=32, shuffle=True)
valid = DataLoader(TensorDataset(x[384:], y[384:]), batch_size=64)
model = Net()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
scheduler = OneCycleLR(optimizer, max_lr=1e-2, epochs=EPOCHS, steps_per_epoch=len(train))  # here

for epoch in range(EPOCHS):
    model.train()
    for xb, yb in train:
        loss = criterion(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()  # fix
    scheduler.step()  # bug
    model.eval()
    hits = 0
    with torch.no_grad():
        for xb, yb in valid:
            hits += ((model(xb) > 0).float() == yb).sum().item()
    rate = optimizer.param_groups[0]["lr"]
    print(f"epoch {epoch}: accuracy {hits / 128:.2f}, rate {rate:.2e}")
