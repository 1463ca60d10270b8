"""A character model with attention of its own: the softmax runs over the queries instead of the keys.

Reported as https://github.com/karpathy/minGPT/issues/132
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
TEXT = "the cat sat on the mat and the dog sat on the log while the frog sat on the bog. " * 6
CHARS = sorted(set(TEXT))
DATA = torch.tensor([CHARS.index(c) for c in TEXT])
BLOCK, WIDTH, HEADS = 16, 32, 4


def batch(n=16):
    start = torch.randint(0, len(DATA) - BLOCK - 1, (n,)).tolist()
    x = torch.stack([DATA[i : i + BLOCK] for i in start])
    y = torch.stack([DATA[i + 1 : i + BLOCK + 1] for i in start])
    return x, y


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("mask", torch.tril(torch.ones(BLOCK, BLOCK)) == 0)

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = self.qkv(x).split(WIDTH, dim=2)
        q, k, v = (z.view(n, t, HEADS, c // HEADS).transpose(1, 2) for z in (q, k, v))
        score = q @ k.transpose(-2, -1) * (c // HEADS) ** -0.5
        score = score.masked_fill(self.mask[:t, :t], float("-inf"))
        weight = F.softmax(score, dim=-2)  # bug
        weight = F.softmax(score, dim=-1)  # fix
        return self.proj((weight @ v).transpose(1, 2).reshape(n, t, c))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(len(CHARS), WIDTH)
        self.place = nn.Embedding(BLOCK, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
        self.attention = Attention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 64), nn.GELU(), nn.Linear(64, WIDTH))
        self.head = nn.Linear(WIDTH, len(CHARS))

    def forward(self, idx):
        x = self.token(idx) + self.place(torch.arange(idx.size(1)))
        x = x + self.attention(self.norms[0](x))
        x = x + self.mlp(self.norms[1](x))
        return self.head(self.norms[2](x))


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(40):
    x, y = batch()
    logits = model(x)
    loss = F.cross_entropy(logits.reshape(-1, len(CHARS)), y.reshape(-1))  # here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(f"step {step}: {loss.item():.3f}")
