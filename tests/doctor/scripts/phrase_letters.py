"""Letters of a phrase, one time step at a time: the loss of each step replaces that of the one before."""

import torch
import torch.nn as nn

torch.manual_seed(1)
text = "the quick brown fox jumps over the lazy dog. pack my box with five dozen liquor jugs. " * 8
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])


class CharRNN(nn.Module):
    def __init__(self, vocab, hidden=48):
        super().__init__()
        self.hidden = hidden
        self.embed = nn.Embedding(vocab, 24)
        self.cell = nn.GRUCell(24, hidden)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, token, h):
        h = self.cell(self.embed(token), h)
        return self.out(h), h


model = CharRNN(len(chars))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
seq_len, batch = 24, 16

for it in range(60):
    starts = torch.randint(0, len(data) - seq_len - 1, (batch,))
    x = torch.stack([data[s : s + seq_len] for s in starts])
    y = torch.stack([data[s + 1 : s + seq_len + 1] for s in starts])
    h = torch.zeros(batch, model.hidden)
    optimizer.zero_grad()
    loss = 0
    for t in range(seq_len):
        logits, h = model(x[:, t], h)
        loss = criterion(logits, y[:, t])  # bug
        loss = loss + criterion(logits, y[:, t])  # fix
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if it % 10 == 0:
        print(it, loss.item())
