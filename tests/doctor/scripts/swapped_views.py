"""Two views of a sample predict each other's cluster: the log-softmax runs over the batch.

Reported as https://github.com/DonkeyShot21/UNO/issues/4
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
CLUSTERS, TEMPERATURE = 6, 0.1
centers = torch.randn(CLUSTERS, 10) * 2


def views(n=48):
    """Two noisy looks at the same points."""
    x = centers[torch.randint(0, CLUSTERS, (n,))]
    return x + 0.3 * torch.randn(n, 10), x + 0.3 * torch.randn(n, 10)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16))
        self.prototypes = nn.Linear(16, CLUSTERS, bias=False)

    def forward(self, x):
        return self.prototypes(F.normalize(self.body(x), dim=1))


@torch.no_grad()
def sinkhorn(scores, rounds=3):
    """Assignments that use every cluster equally."""
    q = torch.exp(scores / 0.25).t()
    q /= q.sum()
    for _ in range(rounds):
        q /= q.sum(1, keepdim=True) * q.size(0)
        q /= q.sum(0, keepdim=True) * q.size(1)
    return (q * q.size(1)).t()


def cross_entropy(scores, assignment):
    logs = F.log_softmax(scores / TEMPERATURE, dim=0)  # bug
    logs = F.log_softmax(scores / TEMPERATURE, dim=1)  # fix
    return -(assignment * logs).sum(1).mean()


model = Encoder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(50):
    one, two = views()
    a, b = model(one), model(two)
    loss = cross_entropy(a, sinkhorn(b)) + cross_entropy(b, sinkhorn(a))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        used = a.argmax(1).unique().numel()
        print(f"step {step}: {loss.item():.3f}, clusters in use {used}")
