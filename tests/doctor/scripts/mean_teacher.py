"""Learning from few labels with a mean teacher: the average is computed and bound to a name, not to the teacher.

The question behind https://github.com/ultralytics/yolov5/issues/5240, where the update is in place and right
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
DECAY, WEIGHT = 0.95, 1.0


def moons(n):
    angle = torch.rand(n) * 3.14159
    which = torch.randint(0, 2, (n,))
    flip = 1.0 - 2.0 * which
    x = torch.stack([torch.cos(angle) * flip + which, torch.sin(angle) * flip + 0.5 * which], 1)
    return x + 0.1 * torch.randn(n, 2), which


def noisy(x):
    return x + 0.1 * torch.randn_like(x)


class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2)
        )

    def forward(self, x):
        return self.net(x)


@torch.no_grad()
def update_teacher(teacher, student):
    for t, s in zip(teacher.parameters(), student.parameters()):
        t = DECAY * t + (1 - DECAY) * s  # bug
        t.mul_(DECAY).add_(s, alpha=1 - DECAY)  # fix


student = Net()
teacher = copy.deepcopy(student)  # here
for p in teacher.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
few, label = moons(16)
many, truth = moons(256)

for step in range(60):
    batch = many[torch.randint(0, 256, (64,))]
    with torch.no_grad():
        wanted = F.softmax(teacher(noisy(batch)), dim=1)
    supervised = F.cross_entropy(student(noisy(few)), label)
    agreement = F.mse_loss(F.softmax(student(noisy(batch)), dim=1), wanted)
    loss = supervised + WEIGHT * agreement
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    update_teacher(teacher, student)
    if step % 20 == 19:
        right = (teacher(many).argmax(1) == truth).float().mean()
        print(f"step {step}: {loss.item():.3f}, teacher's accuracy {right.item():.2f}")
