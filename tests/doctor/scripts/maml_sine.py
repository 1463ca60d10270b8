"""Meta-learning of sines: the inner step writes through .data, so the query's loss trains only the copy.

Reported as https://github.com/KanishJebaMathewM/Truxify/issues/13118
"""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
INNER_RATE = 0.02


def task():
    """One sine: amplitude and phase are the task's own."""
    amplitude = 0.5 + 2 * torch.rand(1)
    phase = math.pi * torch.rand(1)
    x = torch.rand(20, 1) * 10 - 5
    y = amplitude * torch.sin(x + phase)
    return (x[:10], y[:10]), (x[10:], y[10:])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(1, 40)
        self.second = nn.Linear(40, 40)
        self.out = nn.Linear(40, 1)

    def forward(self, x, weights=None):
        w = dict(self.named_parameters()) if weights is None else weights
        x = torch.tanh(F.linear(x, w["first.weight"], w["first.bias"]))
        x = torch.tanh(F.linear(x, w["second.weight"], w["second.bias"]))
        return F.linear(x, w["out.weight"], w["out.bias"])


def adapted_loss(model, support, query):
    """The loss on the query after one step on the support."""
    fast = copy.deepcopy(model)  # bug
    loss = F.mse_loss(fast(support[0]), support[1])  # bug
    grads = torch.autograd.grad(loss, list(fast.parameters()), create_graph=True)  # bug
    for p, g in zip(fast.parameters(), grads):  # bug
        p.data -= INNER_RATE * g  # bug
    return F.mse_loss(fast(query[0]), query[1])  # bug
    names, weights = zip(*model.named_parameters())  # fix
    loss = F.mse_loss(model(support[0]), support[1])  # fix
    grads = torch.autograd.grad(loss, weights, create_graph=True)  # fix
    fast = {n: w - INNER_RATE * g for n, w, g in zip(names, weights, grads)}  # fix
    return F.mse_loss(model(query[0], fast), query[1])  # fix


model = Net()
meta = torch.optim.Adam(model.parameters(), lr=1e-3)  # here
for step in range(40):
    losses = [adapted_loss(model, *task()) for _ in range(4)]
    total = torch.stack(losses).mean()
    meta.zero_grad()
    total.backward()  # here
    meta.step()  # here
    if step % 10 == 9:
        print(f"step {step}: {total.item():.3f}")
