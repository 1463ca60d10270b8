"""Distillation of a teacher into a student: the divergence is given probabilities, not their logarithms."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

CLASSES = 5
TEMPERATURE = 3.0
ALPHA = 0.7


def make_data(n):
    """Clusters that overlap."""
    g = torch.Generator().manual_seed(3)
    centers = torch.randn(CLASSES, 12, generator=g)
    labels = torch.randint(0, CLASSES, (n,))
    return TensorDataset(centers[labels] + torch.randn(n, 12), labels)


def make_teacher():
    return nn.Sequential(
        nn.Linear(12, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, CLASSES)
    )


def make_student():
    return nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, CLASSES))


def train_teacher(model, loader):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(3):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def distillation_loss(student_logits, teacher_logits, labels):
    """Hard labels and soft ones."""
    student = F.softmax(student_logits / TEMPERATURE, dim=1)  # bug
    student = F.log_softmax(student_logits / TEMPERATURE, dim=1)  # fix
    teacher = F.softmax(teacher_logits / TEMPERATURE, dim=1)
    soft = F.kl_div(student, teacher, reduction="batchmean") * TEMPERATURE**2  # here
    hard = F.cross_entropy(student_logits, labels)
    return ALPHA * soft + (1 - ALPHA) * hard


def accuracy(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    model.train()
    return right / total


train_loader = DataLoader(make_data(400), batch_size=40, shuffle=True)
test_loader = DataLoader(make_data(100), batch_size=50)
teacher, student = make_teacher(), make_student()
train_teacher(teacher, train_loader)
teacher.eval()
for p in teacher.parameters():
    p.requires_grad = False

optimizer = torch.optim.Adam(student.parameters(), lr=2e-3)
for epoch in range(4):
    for x, y in train_loader:
        with torch.no_grad():
            teacher_logits = teacher(x)
        loss = distillation_loss(student(x), teacher_logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.3f}, student {accuracy(student, test_loader):.2f}")
print("teacher:", accuracy(teacher, test_loader))
