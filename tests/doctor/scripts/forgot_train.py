"""A classifier with batch norm and dropout that is validated after each epoch and stays in eval mode."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)


def make_data(n):
    """Two spirals of short time series."""
    t = torch.linspace(0, 6.28, 24)
    series, labels = [], []
    for i in range(n):
        label = i % 3
        phase = torch.rand(1) * 6.28
        wave = torch.sin((label + 1) * t + phase) + 0.3 * torch.randn(24)
        series.append(wave.unsqueeze(0))
        labels.append(label)
    return TensorDataset(torch.stack(series), torch.tensor(labels))


class WaveNet(nn.Module):
    """One-dimensional convolutions."""

    def __init__(self, classes=3):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 16, 5, padding=2)
        self.bn1 = nn.BatchNorm1d(16)
        self.conv2 = nn.Conv1d(16, 32, 5, padding=2)
        self.bn2 = nn.BatchNorm1d(32)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        x = F.max_pool1d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool1d(F.relu(self.bn2(self.conv2(x))), 2)
        x = self.drop(x.mean(dim=2))
        return self.fc(x)


def train_epoch(model, loader, optimizer):
    model.train()  # fix
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)  # here
        loss.backward()
        optimizer.step()  # here
        total += loss.item() * len(y)
    return total / len(loader.dataset)


def validate(model, loader):
    model.eval()  # here
    right = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
    return right / len(loader.dataset)


data = make_data(300)
train_set, val_set = random_split(data, [240, 60])
train_loader = DataLoader(train_set, batch_size=20, shuffle=True)
val_loader = DataLoader(val_set, batch_size=30)

model = WaveNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-5)
best = 0.0
for epoch in range(5):
    loss = train_epoch(model, train_loader, optimizer)
    score = validate(model, val_loader)
    best = max(best, score)
    print(f"epoch {epoch}: loss {loss:.3f}, val {score:.2f}, best {best:.2f}")
