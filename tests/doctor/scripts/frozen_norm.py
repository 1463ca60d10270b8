"""A new head on a frozen network: its batch norms go on moving their statistics in training mode.

Asked in forums as "frozen model changes its output"; requires_grad=False does not hold running statistics.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(16)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        return F.relu(self.norm2(self.conv2(x))).mean((2, 3))


class Model(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.features = features
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        return self.head(self.features(x))


def patterns(n, gain):
    x = torch.randn(n, 1, 8, 8)
    label = torch.randint(0, 2, (n,))
    x[:, :, ::2] += label.float().view(-1, 1, 1, 1)
    return gain * x, label


def train(model, parameters, loader, epochs, freeze=False):
    optimizer = torch.optim.Adam(parameters, lr=5e-3)
    for _ in range(epochs):
        model.train()  # here
        if freeze:
            model.features.requires_grad_(False)  # bug
            model.features.eval()  # fix
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
    return loss.item()


old = DataLoader(TensorDataset(*patterns(256, 1.0)), batch_size=32, shuffle=True)
new = DataLoader(TensorDataset(*patterns(128, 3.0)), batch_size=16, shuffle=True)
features = Features()
pretrained = Model(features, 2)
print("pretraining:", train(pretrained, pretrained.parameters(), old, 2))

for p in features.parameters():
    p.requires_grad_(False)
model = Model(features, 2)
print("new head:", train(model, model.head.parameters(), new, 4, freeze=True))
