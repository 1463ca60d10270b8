"""Matrix factorization with biases: columns of biases meet a row of products, and every user meets every film.

Reported as https://github.com/pyemma/Argo/pull/27
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
USERS, FILMS = 40, 30


def ratings(n):
    """Taste times character, and some are kinder than others."""
    taste, character = torch.randn(USERS, 3), torch.randn(FILMS, 3)
    kind = torch.randn(USERS)
    user, film = torch.randint(0, USERS, (n,)), torch.randint(0, FILMS, (n,))
    score = (taste[user] * character[film]).sum(1) + kind[user]
    return user, film, score + 0.2 * torch.randn(n)


class Factors(nn.Module):
    def __init__(self, rank=8):
        super().__init__()
        self.user, self.film = nn.Embedding(USERS, rank), nn.Embedding(FILMS, rank)
        self.user_bias, self.film_bias = nn.Embedding(USERS, 1), nn.Embedding(FILMS, 1)
        for table in (self.user, self.film):
            nn.init.normal_(table.weight, std=0.3)

    def forward(self, user, film):
        match = (self.user(user) * self.film(film)).sum(1)
        bias = self.user_bias(user) + self.film_bias(film)
        return match + bias  # bug
        return match + bias.squeeze(1)  # fix


user, film, score = ratings(1200)
loader = DataLoader(TensorDataset(user[:1000], film[:1000], score[:1000]), batch_size=50)
model = Factors()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-5)
for epoch in range(4):
    total = 0.0
    for u, f, s in loader:
        loss = F.mse_loss(model(u, f), s)  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / len(loader):.4f}")
