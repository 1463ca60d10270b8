"""Opacus: training with differential privacy, the gradient of each sample clipped and noise added."""

import warnings

import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
torch.manual_seed(0)
inputs = torch.randn(64, 1, 8, 8)
labels = (inputs.mean((1, 2, 3)) > 0).long()
model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3, padding=1),
    torch.nn.GroupNorm(2, 4),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Linear(256, 2),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
loader = DataLoader(TensorDataset(inputs, labels), batch_size=16)
engine = PrivacyEngine()
model, optimizer, loader = engine.make_private(
    module=model,
    optimizer=optimizer,
    data_loader=loader,
    noise_multiplier=1.0,
    max_grad_norm=1.0,
    poisson_sampling=False,
    noise_generator=torch.Generator().manual_seed(1),
)
for epoch in range(3):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total:.4f}")
print(f"epsilon {engine.get_epsilon(delta=1e-3):.2f}")
