"""A translator of digits with warm-up: the lambda returns a rate where a factor was asked for.

Asked in forums as "LambdaLR gives a much too small learning rate"; its result multiplies the base rate.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

torch.manual_seed(0)
RATE, WARM_UP, STEPS = 2e-3, 10, 80
VOCABULARY, LENGTH = 12, 6


def pairs(n):
    """The output is the input, each digit shifted by its place."""
    source = torch.randint(0, VOCABULARY, (n, LENGTH))
    return source, (source + torch.arange(LENGTH)) % VOCABULARY


class Tagger(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, width)
        self.place = nn.Embedding(LENGTH, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.out = nn.Linear(width, VOCABULARY)

    def forward(self, x):
        x = self.token(x) + self.place(torch.arange(x.size(1)))
        return self.out(self.encoder(x))


def rate_at(step):
    if step < WARM_UP:
        return RATE * (step + 1) / WARM_UP  # bug
        return (step + 1) / WARM_UP  # fix
    left = (STEPS - step) / (STEPS - WARM_UP)
    return RATE * left  # bug
    return left  # fix


model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=RATE)  # here
scheduler = LambdaLR(optimizer, rate_at)  # here
for step in range(STEPS):
    source, wanted = pairs(32)
    logits = model(source)
    loss = F.cross_entropy(logits.reshape(-1, VOCABULARY), wanted.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # here
    scheduler.step()  # here
    if step % 20 == 19:
        accuracy = (logits.argmax(-1) == wanted).float().mean()
        print(f"step {step}: {loss.item():.3f}, accuracy {accuracy.item():.2f}")
