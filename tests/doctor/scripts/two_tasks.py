"""Two heads on one trunk, a class and a position: the position's loss was turned into a number."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def make_data(n):
    """A bump in a row of 16 cells: how wide is it, and where?"""
    rows, widths, places = [], [], []
    cells = torch.arange(16).float()
    for _ in range(n):
        width = int(torch.randint(0, 3, (1,)))
        place = torch.rand(1) * 15
        row = torch.exp(-((cells - place) ** 2) / (2 * (0.5 + width) ** 2))
        rows.append(row + 0.05 * torch.randn(16))
        widths.append(width)
        places.append(place / 15)
    return TensorDataset(torch.stack(rows), torch.tensor(widths), torch.stack(places))


class TwoHeads(nn.Module):
    """A shared trunk."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(16, 48),
            nn.ReLU(),
            nn.Linear(48, 48),
            nn.ReLU(),
        )
        self.classify = nn.Linear(48, 3)
        self.locate = nn.Sequential(nn.Linear(48, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        h = self.trunk(x)
        return self.classify(h), self.locate(h)


def evaluate(model, loader):
    model.eval()
    right, error, n = 0, 0.0, 0
    with torch.no_grad():
        for x, width, place in loader:
            logits, where = model(x)
            right += (logits.argmax(1) == width).sum().item()
            error += (where - place).abs().sum().item()
            n += len(x)
    model.train()
    return right / n, error / n


train_loader = DataLoader(make_data(320), batch_size=32, shuffle=True)
test_loader = DataLoader(make_data(64), batch_size=32)
model = TwoHeads()
cross_entropy = nn.CrossEntropyLoss()
smooth_l1 = nn.SmoothL1Loss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(5):
    history = {"class": 0.0, "place": 0.0}
    for x, width, place in train_loader:
        logits, where = model(x)
        loss_class = cross_entropy(logits, width)
        loss_place = smooth_l1(where, place).item()  # bug
        loss_place = smooth_l1(where, place)  # fix
        loss = loss_class + 5.0 * loss_place  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history["class"] += loss_class.item()
        history["place"] += float(loss_place)
    accuracy, error = evaluate(model, test_loader)
    print(f"epoch {epoch}: {history}, accuracy {accuracy:.2f}, error {error:.3f}")
