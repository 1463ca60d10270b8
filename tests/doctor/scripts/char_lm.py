"""A character model with a transformer: the causal mask is upside down."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

TEXT = "the quick brown fox jumps over the lazy dog and runs away from the angry bear. " * 20
CHARS = sorted(set(TEXT))
INDEX = {c: i for i, c in enumerate(CHARS)}
DATA = torch.tensor([INDEX[c] for c in TEXT])
BLOCK = 24
WIDTH = 32


def get_batch(n=16):
    """Random pieces of the text, and the same one character later."""
    starts = torch.randint(0, len(DATA) - BLOCK - 1, (n,)).tolist()
    x = torch.stack([DATA[s : s + BLOCK] for s in starts])
    y = torch.stack([DATA[s + 1 : s + BLOCK + 1] for s in starts])
    return x, y


class Block(nn.Module):
    """Attention and a small MLP, each with a residual."""

    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH),
            nn.GELU(),
            nn.Linear(4 * WIDTH, WIDTH),
        )

    def forward(self, x, mask):
        h = self.norm1(x)
        a, _ = self.attention(h, h, h, attn_mask=mask, need_weights=False)  # here
        x = x + a
        return x + self.mlp(self.norm2(x))


class CharModel(nn.Module):
    """Embeddings, two blocks, logits."""

    def __init__(self, vocab):
        super().__init__()
        self.token = nn.Embedding(vocab, WIDTH)
        self.position = nn.Embedding(BLOCK, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, vocab)

    def forward(self, idx):
        t = idx.size(1)
        x = self.token(idx) + self.position(torch.arange(t))
        mask = torch.tril(torch.ones(t, t, dtype=torch.bool), diagonal=-1)  # bug
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=1)  # fix
        for block in self.blocks:
            x = block(x, mask)  # here
        return self.head(self.norm(x))  # here


model = CharModel(len(CHARS))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for step in range(40):
    x, y = get_batch()
    logits = model(x)  # here
    loss = F.cross_entropy(logits.view(-1, len(CHARS)), y.view(-1))  # here
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step}: loss {loss.item():.3f}")

model.eval()
idx = torch.tensor([[INDEX["t"]]])
with torch.no_grad():
    for _ in range(30):
        logits = model(idx[:, -BLOCK:])[:, -1]
        idx = torch.cat([idx, torch.multinomial(logits.softmax(-1), 1)], dim=1)
print("".join(CHARS[i] for i in idx[0].tolist()))
