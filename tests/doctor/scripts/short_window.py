"""Fine-tuning with accumulation: the last batches of every epoch fill no window and are thrown away.

Reported as https://github.com/timoschick/pet/issues/36
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
WINDOW, EPOCHS, WORDS, LENGTH = 4, 4, 40, 6


def reviews(n):
    """Words below 10 are kind, those from 30 on are not."""
    words = torch.randint(0, WORDS, (n, LENGTH))
    score = (words < 10).sum(1) - (words >= 30).sum(1)
    return words, (score > 0).long()


class Sentiment(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, 2)

    def forward(self, words):
        _, last = self.rnn(self.embed(words))
        return self.out(last[-1])


words, label = reviews(18 * 8)
loader = DataLoader(TensorDataset(words, label), batch_size=8, shuffle=True)
model = Sentiment()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(EPOCHS):
    model.train()
    optimizer.zero_grad()  # here
    total = 0.0
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        share = WINDOW  # bug
        share = min(WINDOW, len(loader) - i // WINDOW * WINDOW)  # fix
        (loss / share).backward()  # here
        total += loss.item()
        full = (i + 1) % WINDOW == 0  # bug
        full = (i + 1) % WINDOW == 0 or i + 1 == len(loader)  # fix
        if full:
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch}: {total / len(loader):.4f}")

with torch.no_grad():
    x, y = reviews(100)
    print("accuracy on new reviews:", (model(x).argmax(1) == y).float().mean().item())
