"""A classifier in mixed precision: the optimizer steps on gradients that are still scaled."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

FEATURES = 16
CLASSES = 3


def make_data(n):
    """Three Gaussian clusters."""
    torch.manual_seed(1)
    centers = torch.randn(CLASSES, FEATURES)
    labels = torch.randint(0, CLASSES, (n,))
    return TensorDataset(centers[labels] + torch.randn(n, FEATURES), labels)


class Classifier(nn.Module):
    """Two hidden layers with a norm."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(FEATURES, 64)
        self.norm = nn.LayerNorm(64)
        self.fc2 = nn.Linear(64, 64)
        self.out = nn.Linear(64, CLASSES)

    def forward(self, x):
        x = torch.relu(self.norm(self.fc1(x)))
        x = torch.relu(self.fc2(x))
        return self.out(x)


def accuracy(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for x, y in loader:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                guess = model(x).argmax(1)
            right += (guess == y).sum().item()
            total += y.size(0)
    model.train()
    return right / total


dataset = make_data(320)
train_loader = DataLoader(dataset, batch_size=32, shuffle=True)
val_loader = DataLoader(make_data(96), batch_size=32)

model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
criterion = nn.CrossEntropyLoss()
scaler = torch.amp.GradScaler("cpu")

for epoch in range(5):
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(x)
            loss = criterion(logits, y)
        scaler.scale(loss).backward()  # here
        optimizer.step()  # bug
        scaler.step(optimizer)  # fix
        scaler.update()  # fix
        running += loss.item()
    print(
        f"epoch {epoch}: loss {running / len(train_loader):.3f}, val {accuracy(model, val_loader):.2f}"
    )
