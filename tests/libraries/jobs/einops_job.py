"""einops: rearrangements, reductions and layers inside of a small patch network."""

import torch
from einops import einsum, rearrange, reduce, repeat
from einops.layers.torch import Rearrange, Reduce
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=2, q=2),
    nn.Linear(12, 16),
    nn.GELU(),
    Reduce("b n d -> b d", "mean"),
    nn.Linear(16, 3),
)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
images, labels = torch.randn(8, 3, 4, 4), torch.arange(8) % 3
for _ in range(5):
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
x = torch.arange(24.0).reshape(2, 3, 4)
print(rearrange(x, "a b c -> (a c) b").shape, reduce(x, "a b c -> a c", "max").sum().item())
print(repeat(x, "a b c -> a b c r", r=2).shape, einsum(x, x, "a b c, a d c -> b d").sum().item())
