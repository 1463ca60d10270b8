"""A regression whose rate falls when the loss stops falling: told to wait for a maximum, it falls while all is well.

Asked in forums as "ReduceLROnPlateau reduces the learning rate though the loss improves"; mode was "max".
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
EPOCHS = 25


def houses(n):
    """Prices from area, age and district."""
    area, age = torch.rand(n, 1) * 2, torch.rand(n, 1)
    district = torch.randn(n, 4)
    price = 2 * area - age**2 + (district[:, :1] * district[:, 1:2]) + 0.1 * torch.randn(n, 1)
    return torch.cat([area, age, district], dim=1), price


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1)
        )

    def forward(self, x):
        return self.net(x)


x, y = houses(500)
train = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=40, shuffle=True)
model = Regressor()
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
scheduler = ReduceLROnPlateau(optimizer, mode="max", factor=0.3, patience=1)  # bug
scheduler = ReduceLROnPlateau(optimizer, mode="min", factor=0.3, patience=1)  # fix

for epoch in range(EPOCHS):
    model.train()
    for xb, yb in train:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()  # here
    model.eval()
    with torch.no_grad():
        valid = criterion(model(x[400:]), y[400:])
    scheduler.step(valid)  # here
    rate = optimizer.param_groups[0]["lr"]
    print(f"epoch {epoch}: validation {valid.item():.4f}, rate {rate:.1e}")
