"""A bilinear layer of one's own: its weight requires a gradient, and is no parameter.

Asked in forums as "custom layer's weight is not in model.parameters()".
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Bilinear(nn.Module):
    """x' W y for each pair."""

    def __init__(self, left, right):
        super().__init__()
        self.weight = (torch.randn(left, right) * 0.1).requires_grad_()  # bug
        self.weight = nn.Parameter(torch.randn(left, right) * 0.1)  # fix
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x, y):
        return ((x @ self.weight) * y).sum(1) + self.bias  # here


class Matcher(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.person = nn.Sequential(nn.Linear(8, width), nn.Tanh())
        self.job = nn.Sequential(nn.Linear(5, width), nn.Tanh())
        self.score = Bilinear(width, width)

    def forward(self, person, job):
        return self.score(self.person(person), self.job(job))


def applications(n):
    person, job = torch.randn(n, 8), torch.randn(n, 5)
    fit = person[:, 0] * job[:, 0] + person[:, 1] * job[:, 1] - person[:, 2] * job[:, 2]
    return person, job, (fit > 0).float()


person, job, hired = applications(480)
loader = DataLoader(
    TensorDataset(person[:400], job[:400], hired[:400]), batch_size=40, shuffle=True
)
model = Matcher()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)  # here
for epoch in range(5):
    for p, j, h in loader:
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(p, j), h)
        loss.backward()  # here
        optimizer.step()
    with torch.no_grad():
        right = ((model(person[400:], job[400:]) > 0).float() == hired[400:]).float().mean()
    print(f"epoch {epoch}: {loss.item():.3f}, test accuracy {right.item():.2f}")
