"""A recurrent language model with clipping: the parameters' generator was used up by the optimizer.

Asked in forums as "clip_grad_norm_ returns 0"; model.parameters() can be read once.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
TEXT = "a rose is a rose is a rose and a nose is a nose is a nose but a hose is only a hose. " * 4
CHARS = sorted(set(TEXT))
DATA = torch.tensor([CHARS.index(c) for c in TEXT])
LENGTH, BATCH = 20, 12


class CharRNN(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(len(CHARS), width)
        self.rnn = nn.RNN(width, width, batch_first=True)
        self.out = nn.Linear(width, len(CHARS))

    def forward(self, x, state=None):
        h, state = self.rnn(self.embed(x), state)
        return self.out(h), state


def batch():
    start = torch.randint(0, len(DATA) - LENGTH - 1, (BATCH,)).tolist()
    piece = torch.stack([DATA[i : i + LENGTH + 1] for i in start])
    return piece[:, :-1], piece[:, 1:]


def sample(model, n=30):
    """Characters, one after the other."""
    x, state, out = torch.tensor([[0]]), None, ""
    with torch.no_grad():
        for _ in range(n):
            logits, state = model(x, state)
            x = torch.multinomial(F.softmax(logits[:, -1], dim=-1), 1)
            out += CHARS[int(x)]
    return out


model = CharRNN()
parameters = model.parameters()  # bug
parameters = list(model.parameters())  # fix
optimizer = torch.optim.Adam(parameters, lr=1e-2)
for step in range(60):
    x, y = batch()
    logits, _ = model(x)
    loss = F.cross_entropy(logits.reshape(-1, len(CHARS)), y.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, 0.5)  # here
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: {loss.item():.3f} {sample(model)!r}")
