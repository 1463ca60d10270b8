"""A small image network whose last layer is made where the size is known: in forward, each time anew.

Described at https://thecodeforge.io/ml-ai/pytorch-neural-network/
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
SIDE = 10


def shapes(n):
    """Squares, crosses and discs with noise."""
    label = torch.randint(0, 3, (n,))
    row, column = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    disc = ((row - 4.5) ** 2 + (column - 4.5) ** 2 < 12).float()
    square = ((row > 2) & (row < 7) & (column > 2) & (column < 7)).float()
    cross = ((row == 4) | (column == 4)).float()
    return torch.stack([square, cross, disc])[label].unsqueeze(1) + 0.4 * torch.randn(
        n, 1, SIDE, SIDE
    ), label


class ConvNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.classes = classes
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 12, 3), nn.ReLU()
        )
        self.classifier = nn.Linear(12 * 2 * 2, classes)  # fix

    def forward(self, x):
        x = self.features(x).flatten(1)
        classifier = nn.Linear(x.size(1), self.classes)  # bug
        return classifier(x)  # bug
        return self.classifier(x)  # fix


images, labels = shapes(256)
loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)
model = ConvNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)  # here
for epoch in range(5):
    hits = 0
    for x, y in loader:
        optimizer.zero_grad()
        out = model(x)  # here
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        hits += (out.argmax(1) == y).sum().item()
    print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {hits / 256:.2f}")
