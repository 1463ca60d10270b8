"""Segmentation of small scenes: logits are flattened with view alone, and classes and pixels change places.

Asked in forums as "segmentation loss does not decrease: view(-1, C) without permute".
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
CLASSES, SIDE = 3, 12


def scenes(n):
    """A square and a bar on a noisy ground."""
    images, masks = 0.2 * torch.randn(n, 1, SIDE, SIDE), torch.zeros(n, SIDE, SIDE).long()
    for i in range(n):
        r, c, b = torch.randint(0, SIDE - 4, (3,)).tolist()
        images[i, 0, r : r + 4, c : c + 4] += 1.0
        masks[i, r : r + 4, c : c + 4] = 1
        images[i, 0, b] -= 1.0
        masks[i, b] = 2
    return images, masks


class Segmenter(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU())
        self.middle = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.out = nn.Conv2d(2 * width, CLASSES, 1)

    def forward(self, x):
        low = self.down(x)
        return self.out(torch.cat([low, self.middle(low)], dim=1))


def pixel_loss(logits, masks):
    flat = logits.view(-1, CLASSES)  # bug
    flat = logits.permute(0, 2, 3, 1).reshape(-1, CLASSES)  # fix
    return F.cross_entropy(flat, masks.view(-1))  # here


images, masks = scenes(160)
loader = DataLoader(TensorDataset(images, masks), batch_size=16, shuffle=True)
model = Segmenter()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(4):
    model.train()
    hits = 0
    for x, m in loader:
        logits = model(x)
        loss = pixel_loss(logits, m)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hits += (logits.argmax(1) == m).float().mean().item()
    print(f"epoch {epoch}: {loss.item():.4f}, pixels right {hits / len(loader):.3f}")
