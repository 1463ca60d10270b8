"""A network kept in bfloat16: its steps are smaller than what a weight can show, and are lost.

Known from forum threads on training in pure bfloat16: the loss stands still where float32 learns.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, inputs=16, width=64, classes=4):
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.second = nn.Linear(width, width)
        self.out = nn.Linear(width, classes)

    def forward(self, x):
        x = F.relu(self.first(x))
        x = F.relu(self.second(x))
        return self.out(x)


def blobs(n, classes=4):
    center = torch.randn(classes, 16)
    label = torch.randint(0, classes, (n,))
    return center[label] + torch.randn(n, 16), label


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


x, y = blobs(256)
x = x.to(torch.bfloat16)  # bug
model = Net()
with torch.no_grad():
    for p in model.parameters():
        p.add_(0.5)
model = model.to(torch.bfloat16)  # bug
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)  # here

for epoch in range(5):
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb).float(), yb)
        loss.backward()
        optimizer.step()  # here
    print(f"epoch {epoch}: loss {loss.item():.4f}, accuracy {accuracy(model, x, y):.2f}")
