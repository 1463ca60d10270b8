"""Two tasks weighed by learned uncertainties: the uncertainties are in no optimizer.

Asked in forums about multi-task uncertainty weighting: "log_vars do not change during training".
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def scenes(n):
    """A depth and a kind for every feature vector."""
    x = torch.randn(n, 10)
    depth = 3 * torch.sin(x[:, 0]) + x[:, 1] + 0.5 * torch.randn(n)
    kind = (x[:, 2] + x[:, 3] > 0).long() + (x[:, 4] > 0.5).long()
    return x, depth, kind


class TwoHeads(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, width), nn.ReLU())
        self.depth = nn.Linear(width, 1)
        self.kind = nn.Linear(width, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.depth(h).squeeze(1), self.kind(h)


def weighed(losses, log_vars):
    """Kendall's weights: each loss by its own precision."""
    return sum(torch.exp(-s) * loss + s for loss, s in zip(losses, log_vars))


x, depth, kind = scenes(384)
loader = DataLoader(TensorDataset(x, depth, kind), batch_size=32, shuffle=True)
model = TwoHeads()
log_vars = torch.zeros(2, requires_grad=True)  # here
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)  # bug
optimizer = torch.optim.Adam([*model.parameters(), log_vars], lr=3e-3)  # fix

for epoch in range(6):
    model.train()
    for xb, db, kb in loader:
        depth_out, kind_out = model(xb)
        losses = (F.mse_loss(depth_out, db), F.cross_entropy(kind_out, kb))
        loss = weighed(losses, log_vars)  # here
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()
    shown = ", ".join(f"{v:.3f}" for v in log_vars.tolist())
    print(f"epoch {epoch}: {loss.item():.3f}, log variances {shown}")
