"""Fine-tuning a pretrained network on three new classes: the new head came after the optimizer."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Network(nn.Module):
    """A small convolutional network, as if it came from a model zoo."""

    def __init__(self, num_classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.fc = nn.Linear(16, num_classes)

    def forward(self, x):
        x = self.features(x)
        x = torch.flatten(x, 1)
        return self.fc(x)


def make_data(n):
    """Bars in one of three directions."""
    images, labels = [], []
    for i in range(n):
        label = i % 3
        image = 0.1 * torch.randn(1, 12, 12)
        where = int(torch.randint(2, 10, (1,)))
        if label == 0:
            image[0, where, :] += 1
        elif label == 1:
            image[0, :, where] += 1
        else:
            image[0] += torch.eye(12)
        images.append(image)
        labels.append(label)
    return TensorDataset(torch.stack(images), torch.tensor(labels))


def accuracy(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for images, labels in loader:
            right += (model(images).argmax(1) == labels).sum().item()
            total += len(labels)
    model.train()
    return right / total


train_loader = DataLoader(make_data(192), batch_size=16, shuffle=True)
test_loader = DataLoader(make_data(48), batch_size=16)

model = Network(num_classes=10)
model.load_state_dict(Network(num_classes=10).state_dict())  # the pretrained weights

model.fc = nn.Linear(16, 3)  # fix
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)  # here
model.fc = nn.Linear(16, 3)  # bug

for epoch in range(4):
    total_loss = 0.0
    for images, labels in train_loader:
        optimizer.zero_grad()
        outputs = model(images)
        loss = F.cross_entropy(outputs, labels)
        loss.backward()
        optimizer.step()  # here
        total_loss += loss.item()
    print(f"epoch {epoch}: loss {total_loss:.3f}, accuracy {accuracy(model, test_loader):.2f}")
