"""A graph network that labels nodes: its hidden layers are in a plain list, and no optimizer knows them.

Reported as https://github.com/qbxlvnf11/graph-neural-networks-for-graph-classification/pull/3
"""

import itertools

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def two_communities(n=60, inside=0.3, between=0.03):
    """A random graph with two groups of nodes."""
    label = (torch.arange(n) >= n // 2).long()
    same = label[:, None] == label[None, :]
    chance = torch.where(same, torch.tensor(inside), torch.tensor(between))
    upper = torch.triu((torch.rand(n, n) < chance).float(), diagonal=1)
    return upper + upper.t(), label


def normalized(adjacency):
    a = adjacency + torch.eye(adjacency.size(0))
    d = a.sum(1).rsqrt()
    return d[:, None] * a * d[None, :]


class GraphConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x, a):
        return a @ self.linear(x)


class GCN(nn.Module):
    def __init__(self, inputs, hidden, classes, depth=2):
        super().__init__()
        sizes = [inputs] + [hidden] * depth
        self.layers = [GraphConv(i, o) for i, o in itertools.pairwise(sizes)]  # bug
        self.layers = nn.ModuleList(GraphConv(i, o) for i, o in itertools.pairwise(sizes))  # fix
        self.head = nn.Linear(hidden, classes)

    def forward(self, x, a):
        for layer in self.layers:
            x = F.relu(layer(x, a))  # here
        return self.head(x)


adjacency, label = two_communities()
a = normalized(adjacency)
features = torch.randn(60, 12) + 0.5 * label[:, None]
known = torch.rand(60) < 0.4
model = GCN(12, 16, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here

for epoch in range(40):
    optimizer.zero_grad()
    out = model(features, a)
    loss = F.cross_entropy(out[known], label[known])
    loss.backward()
    optimizer.step()
    if epoch % 10 == 9:
        accuracy = (out.argmax(1)[~known] == label[~known]).float().mean()
        print(f"epoch {epoch}: loss {loss.item():.3f}, unknown nodes {accuracy.item():.2f}")
