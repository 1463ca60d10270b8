"""Char-GPT: a small transformer learns to write like Shakespeare, letter by letter.

A decoder of pre-norm blocks with causal attention and tied embeddings, trained with AdamW, gradient
clipping, and a learning rate that warms up and then falls along a cosine; at the end it writes.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from shared import options, progress, report, text
from torch import nn


class Attention(nn.Module):
    """Causal multi-head self-attention."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, time, width = x.shape
        q, k, v = self.qkv(x).view(batch, time, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, time, width))


class Block(nn.Module):
    """Attention, then a position-wise network, each with a residual connection."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Logits of the next letter at every position of a piece of text."""

    def __init__(self, letters: int, context: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.context = context
        self.letter = nn.Embedding(letters, width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, letters, bias=False)
        self.head.weight = self.letter.weight
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                deep = name.endswith(("out.weight", "mlp.2.weight"))  # ends of residual branches
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * layers) if deep else 0.02)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        places = torch.arange(ids.size(1))
        return self.head(self.norm(self.blocks(self.letter(ids) + self.position(places))))

    @torch.no_grad()
    def write(self, ids: torch.Tensor, count: int, temperature: float = 0.8) -> torch.Tensor:
        """Continue `ids` by `count` letters, each sampled from the model's prediction."""
        for _ in range(count):
            scores = self(ids[:, -self.context :])[:, -1] / temperature
            drawn = torch.multinomial(F.softmax(scores, dim=-1), num_samples=1)
            ids = torch.cat([ids, drawn], dim=1)
        return ids


def loss_of(model: GPT, data: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
    """The mean loss over the pieces of `data` that begin at `starts`."""
    pieces = data[starts[:, None] + torch.arange(model.context + 1)]
    scores = model(pieces[:, :-1])
    return F.cross_entropy(scores.flatten(0, 1), pieces[:, 1:].flatten())


def main() -> None:
    parser = options(__doc__, steps=1000, every=50)
    parser.add_argument("--width", type=int, default=64, help="default: 64")
    parser.add_argument("--layers", type=int, default=2, help="default: 2")
    parser.add_argument("--context", type=int, default=64, help="letters seen; default: 64")
    parser.add_argument("--batch", type=int, default=12, help="pieces in a step; default: 12")
    parser.add_argument("--write", type=int, default=300, help="letters; default: 300")
    chosen = parser.parse_args()
    torch.manual_seed(chosen.seed)

    letters = sorted(set(text()))
    number = {letter: i for i, letter in enumerate(letters)}
    data = torch.tensor([number[letter] for letter in text()])
    train, valid = data[:90_000], data[90_000:]
    model = GPT(len(letters), chosen.context, chosen.width, 4, chosen.layers)
    print(f"{len(letters)} letters, {sum(p.numel() for p in model.parameters()):,} parameters")

    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": decayed}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1)
    warm = 50

    def factor(step: int) -> float:
        part = (step - warm) / max(1000, chosen.steps, warm + 1)
        return (step + 1) / warm if step < warm else 0.1 + 0.45 * (1 + math.cos(math.pi * part))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    for step in progress(1, chosen.steps):
        starts = torch.randint(len(train) - chosen.context - 1, (chosen.batch,))
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model, train, starts)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % chosen.every == 0:
            report(step, loss=loss.item())

    with torch.no_grad():
        starts = torch.arange(0, len(valid) - chosen.context - 1, chosen.context)
        print(f"validation loss {loss_of(model, valid, starts).item():.4f}")
    start = torch.tensor([[number["\n"]]])
    written = model.write(start, chosen.write)[0]
    print("".join(letters[i] for i in written.tolist()))


if __name__ == "__main__":
    main()
