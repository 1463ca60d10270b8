"""A classifier with dropout as a function: eval() does not reach it, and validation is noise.

Asked in forums as "F.dropout still active in eval mode"; the flag `training` defaults to True.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, inputs=20, width=64, classes=3):
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.second = nn.Linear(width, width)
        self.out = nn.Linear(width, classes)

    def forward(self, x):
        x = F.relu(self.first(x))
        x = F.dropout(x, 0.5)  # bug
        x = F.dropout(x, 0.5, training=self.training)  # fix
        x = F.relu(self.second(x))
        return self.out(x)


def data(n=400):
    center = torch.randn(3, 20)
    label = torch.randint(0, 3, (n,))
    return center[label] + 1.2 * torch.randn(n, 20), label


def evaluate(model, loader):
    model.eval()
    hits = total = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    return hits / total


x, y = data()
train = DataLoader(TensorDataset(x[:300], y[:300]), batch_size=30, shuffle=True)
valid = DataLoader(TensorDataset(x[300:], y[300:]), batch_size=50)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
best = 0.0
for epoch in range(6):
    model.train()
    for xb, yb in train:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    score = evaluate(model, valid)  # here
    best = max(best, score)
    print(f"epoch {epoch}: validation {score:.3f}, best {best:.3f}")
