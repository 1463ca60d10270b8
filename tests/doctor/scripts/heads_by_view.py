"""Self-attention over sets of particles: heads are split by a view alone, which mixes tokens into them.

Asked in forums as "multi-head attention: view instead of transpose"; shapes fit either way.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
TOKENS, WIDTH, HEADS = 8, 24, 4


def particles(n):
    """Charges and places; which one feels the most?"""
    place = torch.randn(n, TOKENS, 2)
    charge = torch.randn(n, TOKENS, 1)
    gap = (place[:, :, None] - place[:, None]).pow(2).sum(-1) + 0.3
    force = (charge.transpose(1, 2) / gap).sum(-1)
    return torch.cat([place, charge], dim=-1), force


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(WIDTH, WIDTH)
        self.k = nn.Linear(WIDTH, WIDTH)
        self.v = nn.Linear(WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def heads(self, x):
        n = x.size(0)
        return x.view(n, HEADS, TOKENS, WIDTH // HEADS)  # bug
        return x.view(n, TOKENS, HEADS, WIDTH // HEADS).transpose(1, 2)  # fix

    def forward(self, x):
        n = x.size(0)
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))  # here
        weight = F.softmax(q @ k.transpose(-2, -1) / (WIDTH // HEADS) ** 0.5, dim=-1)
        mixed = (weight @ v).transpose(1, 2).reshape(n, TOKENS, WIDTH)
        return self.out(mixed)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(3, WIDTH)
        self.attention = SelfAttention()
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, 1))

    def forward(self, x):
        x = self.embed(x)
        x = self.norm(x + self.attention(x))
        return self.head(x).squeeze(-1)


model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(50):
    x, force = particles(32)
    loss = F.mse_loss(model(x), force)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(f"step {step}: {loss.item():.4f}")
