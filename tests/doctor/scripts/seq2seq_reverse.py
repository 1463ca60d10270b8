"""A sequence-to-sequence model that reverses strings: its recurrent layers read the batch as time."""

import torch
from torch import nn

torch.manual_seed(0)

VOCAB = 12
SOS = 0
LENGTH = 7
HIDDEN = 32


class Encoder(nn.Module):
    """Reads the source."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, 16)
        self.gru = nn.GRU(16, HIDDEN)  # bug
        self.gru = nn.GRU(16, HIDDEN, batch_first=True)  # fix

    def forward(self, source):
        out, hidden = self.gru(self.embedding(source))  # here
        return out, hidden


class Decoder(nn.Module):
    """Writes the target with attention over what was read."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, 16)
        self.cell = nn.GRUCell(16 + HIDDEN, HIDDEN)
        self.score = nn.Linear(HIDDEN, HIDDEN)
        self.out = nn.Linear(HIDDEN, VOCAB)

    def forward(self, memory, targets):
        batch = targets.size(0)
        token = torch.full((batch,), SOS, dtype=torch.long)
        hidden = memory.mean(dim=1)
        logits = []
        for t in range(targets.size(1)):
            scores = (memory @ self.score(hidden).unsqueeze(2)).squeeze(2)
            weights = scores.softmax(dim=1)
            context = (weights.unsqueeze(1) @ memory).squeeze(1)
            hidden = self.cell(torch.cat([self.embedding(token), context], dim=1), hidden)
            logits.append(self.out(hidden))
            token = targets[:, t]
        return torch.stack(logits, dim=1)


class Seq2Seq(nn.Module):
    """Both together."""

    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = Decoder()

    def forward(self, source, targets):
        memory, _ = self.encoder(source)
        return self.decoder(memory, targets)


def batch_of(n):
    source = torch.randint(1, VOCAB, (n, LENGTH))
    return source, source.flip(1)


model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()

for step in range(50):
    source, target = batch_of(32)
    logits = model(source, target)
    loss = criterion(logits.reshape(-1, VOCAB), target.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step}: loss {loss.item():.3f}")

model.eval()
with torch.no_grad():
    source, target = batch_of(64)
    guess = model(source, target).argmax(-1)
print("accuracy:", (guess == target).float().mean().item())
