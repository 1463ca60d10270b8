"""A recurrent translator: the state is detached at every word, so the encoder hears nothing of the loss.

Asked in forums about hidden states in seq2seq: detach() was copied from a language model's truncated loop.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
WORDS, LENGTH, START = 9, 5, 8


def words(n):
    source = torch.randint(0, START, (n, LENGTH))
    return source, source.flip(1)


class Encoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width)
        self.rnn = nn.GRU(width, width, batch_first=True)

    def forward(self, x):
        return self.rnn(self.embed(x))[1]


class Decoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, WORDS)

    def forward(self, word, state):
        h, state = self.rnn(self.embed(word), state)
        return self.out(h[:, -1]), state


encoder, decoder = Encoder(), Decoder()
encoder_optimizer = torch.optim.Adam(encoder.parameters(), lr=5e-3)  # here
decoder_optimizer = torch.optim.Adam(decoder.parameters(), lr=5e-3)
for step in range(60):
    source, target = words(32)
    encoder_optimizer.zero_grad()
    decoder_optimizer.zero_grad()
    state = encoder(source)
    word, loss = torch.full((32, 1), START), 0.0
    for t in range(LENGTH):
        state = state.detach()  # bug
        logits, state = decoder(word, state)
        loss = loss + F.cross_entropy(logits, target[:, t])
        word = target[:, t : t + 1]
    loss.backward()
    encoder_optimizer.step()  # here
    decoder_optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: {loss.item() / LENGTH:.4f}")
