"""An encoder-decoder transformer for digits: the decoder is given no causal mask and reads the answer.

Reported as https://github.com/jadore801120/attention-is-all-you-need-pytorch/issues/19
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
START, WORDS, LENGTH = 10, 11, 6


def sums(n):
    """Digits, and their running sum modulo 10."""
    source = torch.randint(0, 10, (n, LENGTH))
    target = source.cumsum(1) % 10
    begin = torch.full((n, 1), START)
    return source, torch.cat([begin, target], dim=1)


class Translator(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.token = nn.Embedding(WORDS, width)
        self.place = nn.Embedding(LENGTH + 1, width)
        self.transformer = nn.Transformer(
            width, 4, 1, 1, dim_feedforward=64, dropout=0.0, batch_first=True
        )
        self.out = nn.Linear(width, WORDS)

    def embed(self, words):
        return self.token(words) + self.place(torch.arange(words.size(1)))

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.size(1))
        source, target = self.embed(source), self.embed(target)
        h = self.transformer(source, target)  # bug
        h = self.transformer(source, target, tgt_mask=mask)  # fix
        return self.out(h)


def greedy(model, source):
    """One word after the other, from the start sign on."""
    words = torch.full((source.size(0), 1), START)
    with torch.no_grad():
        for _ in range(LENGTH):
            after = model(source, words)[:, -1].argmax(-1, keepdim=True)
            words = torch.cat([words, after], dim=1)
    return words[:, 1:]


model = Translator()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(60):
    source, target = sums(32)
    logits = model(source, target[:, :-1])  # here
    loss = F.cross_entropy(logits.reshape(-1, WORDS), target[:, 1:].reshape(-1))  # here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        right = (greedy(model, source) == target[:, 1:]).float().mean()
        print(f"step {step}: {loss.item():.3f}, generated right {right.item():.2f}")
