"""Sentences as bags of words, with a contrastive term beside the classifier: the term is computed in NumPy.

Reported as https://github.com/sl-93/SUPERVISED-CONTRASTIVE-LEARNING-FOR-PRE-TRAINED-LANGUAGE-MODEL-FINE-TUNING/issues/2
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
WORDS, LENGTH, CLASSES, LAM, TEMPERATURE = 50, 8, 3, 0.5, 0.3


def sentences(n):
    """Each class prefers its own words."""
    label = torch.randint(0, CLASSES, (n,))
    common = torch.randint(0, WORDS, (n, LENGTH))
    own = label[:, None] * 10 + torch.randint(0, 10, (n, LENGTH))
    return torch.where(torch.rand(n, LENGTH) < 0.4, own, common), label


class Classifier(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.embed = nn.EmbeddingBag(WORDS, width, mode="mean")
        self.hidden = nn.Linear(width, width)
        self.out = nn.Linear(width, CLASSES)

    def forward(self, words):
        state = torch.tanh(self.hidden(self.embed(words)))
        return state, self.out(state)


def contrastive_numpy(state, label):
    state = state / np.linalg.norm(state, axis=1, keepdims=True)
    similarity = np.exp(state @ state.T / TEMPERATURE)
    np.fill_diagonal(similarity, 0.0)
    same = label[:, None] == label[None, :]
    np.fill_diagonal(same, False)
    share = (similarity * same).sum(1) / similarity.sum(1)
    return float(-np.log(share + 1e-9).mean())


def contrastive(state, label):
    state = F.normalize(state, dim=1)
    similarity = torch.exp(state @ state.t() / TEMPERATURE) * (1 - torch.eye(len(state)))
    same = (label[:, None] == label[None, :]).float() * (1 - torch.eye(len(state)))
    share = (similarity * same).sum(1) / similarity.sum(1)
    return -torch.log(share + 1e-9).mean()


model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(40):
    words, label = sentences(48)
    state, logits = model(words)
    cross = F.cross_entropy(logits, label)
    pulled = contrastive_numpy(state.detach().numpy(), label.numpy())  # bug
    pulled = contrastive(state, label)  # fix
    loss = LAM * pulled + (1 - LAM) * cross  # here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(f"step {step}: {loss.item():.3f}, contrastive {float(pulled):.3f}")
