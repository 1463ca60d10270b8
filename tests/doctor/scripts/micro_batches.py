"""Gradients of four small batches for one step: they are cleared right before the last of the four.

Reported as https://github.com/pytorch/ignite/issues/583
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
ACCUMULATE = 4


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return x + torch.relu(self.linear(self.norm(x)))


class Trainer:
    def __init__(self, model, criterion, optimizer):
        self.model, self.criterion, self.optimizer = model, criterion, optimizer
        self.iteration = 0

    def update(self, x, y):
        self.model.train()
        self.iteration += 1
        if self.iteration % ACCUMULATE == 0:  # bug
            self.optimizer.zero_grad()  # bug
        loss = self.criterion(self.model(x), y) / ACCUMULATE
        loss.backward()
        if self.iteration % ACCUMULATE == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()  # fix
        return loss.item() * ACCUMULATE

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            losses = [self.update(x, y) for x, y in loader]
            print(f"epoch {epoch}: {sum(losses) / len(losses):.4f}")


x = torch.randn(256, 10)
y = torch.sin(x[:, :1]) + 0.5 * x[:, 1:2] * x[:, 2:3]
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(10, 32), Residual(32), Residual(32), nn.Linear(32, 1))
trainer = Trainer(model, nn.MSELoss(), torch.optim.Adam(model.parameters(), lr=2e-3))
trainer.fit(loader, 5)
