"""An image classifier with a learning rate schedule: its epochs are counted in batches."""

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

TEMPLATES = torch.randn(4, 1, 8, 8)


def make_data(n):
    """Noisy copies of four templates."""
    labels = torch.randint(0, 4, (n,))
    images = TEMPLATES[labels] + 0.8 * torch.randn(n, 1, 8, 8)
    return TensorDataset(images, labels)


class Net(nn.Module):
    """As in the tutorials."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(16 * 4, 32)
        self.fc2 = nn.Linear(32, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.dropout(torch.flatten(x, 1))
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(x), dim=1)


def train(model, loader, optimizer, scheduler, epoch):
    model.train()
    for batch, (data, target) in enumerate(loader):
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()  # here
        scheduler.step()  # bug
        if batch % 8 == 0:
            print(f"epoch {epoch} batch {batch}: {loss.item():.3f}")


def test(model, loader):
    model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for data, target in loader:
            output = model(data)
            loss += F.nll_loss(output, target, reduction="sum").item()
            correct += (output.argmax(1) == target).sum().item()
    n = len(loader.dataset)
    print(f"test: loss {loss / n:.3f}, accuracy {correct / n:.2f}")


def main():
    train_loader = DataLoader(make_data(256), batch_size=16, shuffle=True)
    test_loader = DataLoader(make_data(64), batch_size=64)
    model = Net()
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)  # here
    for epoch in range(1, 7):
        train(model, train_loader, optimizer, scheduler, epoch)
        test(model, test_loader)
        scheduler.step()  # fix


if __name__ == "__main__":
    main()
