"""Contrastive learning with two views of each sample: the embeddings are normalized over the batch."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

DIM = 20
CLASSES = 5
CENTERS = torch.randn(CLASSES, DIM)


def sample(n):
    """Points around their class's center."""
    labels = torch.randint(0, CLASSES, (n,))
    return CENTERS[labels] + 0.3 * torch.randn(n, DIM), labels


def augment(x):
    """Noise, a random scale, and some features left out."""
    noisy = x + 0.1 * torch.randn_like(x)
    scaled = noisy * (0.8 + 0.4 * torch.rand(x.size(0), 1))
    return scaled * (torch.rand_like(x) > 0.1).float()


class Encoder(nn.Module):
    """A backbone and a projection head."""

    def __init__(self, width=64, out=16):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Linear(DIM, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
        )
        self.projection = nn.Sequential(
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, out),
        )

    def forward(self, x):
        features = self.backbone(x)
        z = self.projection(features)
        return features, F.normalize(z, dim=0)  # bug
        return features, F.normalize(z, dim=1)  # fix


def nt_xent(z1, z2, temperature=0.2):
    """The loss of SimCLR."""
    n = z1.size(0)
    z = torch.cat([z1, z2], dim=0)
    similarity = z @ z.t() / temperature
    mask = torch.eye(2 * n, dtype=torch.bool)
    similarity = similarity.masked_fill(mask, -1e9)
    targets = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(similarity, targets)


model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for step in range(60):
    x, _ = sample(48)
    _, z1 = model(augment(x))
    _, z2 = model(augment(x))
    loss = nt_xent(z1, z2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        print(f"step {step}: loss {loss.item():.3f}")

# how well do the features separate the classes?
model.eval()
with torch.no_grad():
    x, labels = sample(200)
    features, _ = model(x)
    means = torch.stack([features[labels == c].mean(0) for c in range(CLASSES)])
    guess = torch.cdist(features, means).argmin(1)
print("nearest class mean:", (guess == labels).float().mean().item())
