"""Circles in noise: the overlap is measured on a mask that is a comparison."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)


def make_batch(n):
    yy, xx = torch.meshgrid(torch.arange(16), torch.arange(16), indexing="ij")
    c = torch.randint(4, 12, (n, 2, 1, 1))
    mask = ((yy - c[:, 0]) ** 2 + (xx - c[:, 1]) ** 2 < 12).float()[:, None]
    return mask + 0.5 * torch.randn(n, 1, 16, 16), mask


class SegNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.c2 = nn.Conv2d(8, 8, 3, padding=1)
        self.head = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        x = F.relu(self.bn(self.c1(x)))
        x = F.relu(self.c2(x))
        return self.head(x)


def dice_loss(logits, mask, eps=1.0):
    pred = (torch.sigmoid(logits) > 0.5).float()  # bug
    pred = torch.sigmoid(logits)  # fix
    inter = (pred * mask).sum((1, 2, 3))
    union = pred.sum((1, 2, 3)) + mask.sum((1, 2, 3))
    return 1 - ((2 * inter + eps) / (union + eps)).mean()


model = SegNet()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(25):
    img, mask = make_batch(8)
    logits = model(img)
    loss = F.binary_cross_entropy_with_logits(logits, mask) + dice_loss(logits, mask)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, f"{loss.item():.4f}")
