"""Pretraining and fine-tuning: the second phase has a new optimizer, and the scheduler still turns the old one.

Asked in forums as "scheduler has no effect after I re-create the optimizer".
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Autoencoder(nn.Module):
    def __init__(self, inputs=16, code=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, code))
        self.decoder = nn.Sequential(nn.Linear(code, 32), nn.ReLU(), nn.Linear(32, inputs))

    def forward(self, x):
        return self.decoder(self.encoder(x))


center = torch.randn(3, 16)
label = torch.randint(0, 3, (300,))
x = center[label] + 0.5 * torch.randn(300, 16)
loader = DataLoader(TensorDataset(x, label), batch_size=30, shuffle=True)

model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)  # here
for epoch in range(3):
    for xb, _ in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(xb), xb)
        loss.backward()
        optimizer.step()
    scheduler.step()
    print(f"pretraining {epoch}: {loss.item():.4f}")

classifier = nn.Sequential(model.encoder, nn.ReLU(), nn.Linear(6, 3))
optimizer = torch.optim.Adam(classifier.parameters(), lr=1e-3)  # here
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)  # fix
for epoch in range(5):
    hits = 0
    for xb, yb in loader:
        optimizer.zero_grad()
        out = classifier(xb)
        loss = F.cross_entropy(out, yb)
        loss.backward()
        optimizer.step()
        hits += (out.argmax(1) == yb).sum().item()
    scheduler.step()  # bug
    scheduler.step()  # fix
    print(f"fine-tuning {epoch}: {loss.item():.4f}, accuracy {hits / 300:.2f}")
