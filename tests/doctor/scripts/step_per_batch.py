"""A convolutional classifier: the scheduler counts epochs and is stepped for every batch.

Reported as https://github.com/ivadomed/ivadomed/pull/55
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def bars(n, side=8):
    """Horizontal bars are 0, vertical ones are 1."""
    images, labels = 0.3 * torch.randn(n, 1, side, side), torch.randint(0, 2, (n,))
    for i in range(n):
        at = int(torch.randint(0, side, (1,)))
        if labels[i] == 0:
            images[i, 0, at] += 1.0
        else:
            images[i, 0, :, at] += 1.0
    return images, labels


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 2 * 2, 2)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


EPOCHS = 12
images, labels = bars(320)
train = DataLoader(TensorDataset(images[:256], labels[:256]), batch_size=16, shuffle=True)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.1)  # here

for epoch in range(EPOCHS):
    model.train()
    for x, y in train:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()  # bug
    scheduler.step()  # fix
    model.eval()
    with torch.no_grad():
        right = (model(images[256:]).argmax(1) == labels[256:]).float().mean()
    print(f"epoch {epoch}: accuracy {right.item():.2f}")
