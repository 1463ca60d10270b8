"""Fine-tuning in two phases: the backbone is thawed for the second, but the optimizer has only ever known the head.

Asked in forums as "unfreezing layers mid-training has no effect"; the optimizer was built from a filter.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self, inputs=12, width=32):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
        )

    def forward(self, x):
        return self.layers(x)


class Classifier(nn.Module):
    def __init__(self, backbone, classes=4):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def run_epoch(model, loader, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


center = torch.randn(4, 12) * 1.5
label = torch.randint(0, 4, (320,))
inputs = center[label] + torch.randn(320, 12)
loader = DataLoader(TensorDataset(inputs, label), batch_size=32, shuffle=True)

model = Classifier(Backbone())
for p in model.backbone.parameters():
    p.requires_grad = False
trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=5e-3)  # here
for epoch in range(2):
    print(f"head only, epoch {epoch}: {run_epoch(model, loader, optimizer):.4f}")

for p in model.backbone.parameters():
    p.requires_grad = True  # bug
    p.requires_grad = True  # fix
optimizer.add_param_group({"params": model.backbone.parameters(), "lr": 1e-3})  # fix
for epoch in range(4):
    print(f"all of it, epoch {epoch}: {run_epoch(model, loader, optimizer):.4f}")
