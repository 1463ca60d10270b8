"""Mixed inputs, whose loss takes the labels of the first of each pair twice."""

import torch
import torch.nn as nn

torch.manual_seed(0)
centers = torch.randn(4, 10) * 2
labels = torch.randint(0, 4, (400,))
inputs = centers[labels] + torch.randn(400, 10)
model = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 4))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)


def mixup_data(x, y, alpha=0.4):
    lam = torch.distributions.Beta(alpha, alpha).sample().item()
    index = torch.randperm(x.size(0))
    mixed = lam * x + (1 - lam) * x[index]
    return mixed, y, y[index], lam


for epoch in range(6):
    perm = torch.randperm(len(inputs))
    total = 0.0
    for i in range(0, len(inputs), 40):
        idx = perm[i : i + 40]
        x, ya, yb, lam = mixup_data(inputs[idx], labels[idx])
        out = model(x)
        loss = lam * criterion(out, ya) + (1 - lam) * criterion(out, ya)  # bug
        loss = lam * criterion(out, ya) + (1 - lam) * criterion(out, yb)  # fix
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        hits = (model(inputs).argmax(1) == labels).float().mean().item()
    model.train()
    shown = total / len(inputs)
    print(f"epoch {epoch}: loss {shown:.3f}, right {hits:.2f}")
