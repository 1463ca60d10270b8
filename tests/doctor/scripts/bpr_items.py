"""Ranking by pairs: the score of the item that was not bought is that of the one that was.

A slip of copied lines, as https://github.com/Layne-Huang/PMDM/issues/15 reports of another program's losses
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
USERS, ITEMS, RANK = 30, 50, 8
taste = torch.randn(USERS, 4) @ torch.randn(4, ITEMS)
bought = taste > 2.0


def triples(n):
    """A user, an item that the user bought and one that it did not."""
    user = torch.randint(0, USERS, (n,))
    yes = torch.multinomial(bought[user].float() + 1e-6, 1).squeeze(1)
    no = torch.multinomial((~bought[user]).float() + 1e-6, 1).squeeze(1)
    return user, yes, no


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.users = nn.Embedding(USERS, RANK)
        self.items = nn.Embedding(ITEMS, RANK)
        nn.init.normal_(self.users.weight, std=0.1)
        nn.init.normal_(self.items.weight, std=0.1)

    def forward(self, user, item):
        return (self.users(user) * self.items(item)).sum(1)


def bpr(model, user, yes, no):
    better = model(user, yes)
    worse = model(user, yes)  # bug
    worse = model(user, no)  # fix
    return -F.logsigmoid(better - worse).mean()  # here


def hit_rate(model):
    with torch.no_grad():
        scores = model.users.weight @ model.items.weight.t()
        top = scores.topk(5, dim=1).indices
        return bought.gather(1, top).float().mean().item()


model = Ranker()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)  # here
for step in range(80):
    loss = bpr(model, *triples(128))
    optimizer.zero_grad()
    loss.backward()  # here
    optimizer.step()  # here
    if step % 20 == 19:
        print(f"step {step}: {loss.item():.4f}, hits among five {hit_rate(model):.2f}")
