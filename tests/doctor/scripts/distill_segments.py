"""A small network learns a large one's opinions: the student's side of the divergence is no logarithm.

Reported as https://github.com/microsoft/ProDA/issues/20
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
CLASSES, T, LAM = 5, 2.0, 0.7
centers = torch.randn(CLASSES, 16) * 1.5
labels = torch.randint(0, CLASSES, (400,))
inputs = centers[labels] + torch.randn(400, 16)
loader = DataLoader(TensorDataset(inputs, labels), batch_size=50, shuffle=True)


def mlp(width):
    return nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, CLASSES))


def train_teacher(teacher, epochs=5):
    optimizer = torch.optim.Adam(teacher.parameters(), lr=1e-2)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(teacher(x), y).backward()
            optimizer.step()
    return teacher.eval()


def distillation(student_logits, teacher_logits):
    student = F.softmax(student_logits / T, dim=1)  # bug
    student = F.log_softmax(student_logits / T, dim=1)  # fix
    teacher = F.softmax(teacher_logits / T, dim=1)
    return F.kl_div(student, teacher, reduction="batchmean") * T * T  # here


teacher, student = train_teacher(mlp(128)), mlp(12)
optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
for epoch in range(6):
    student.train()
    correct = 0
    for x, y in loader:
        with torch.no_grad():
            opinion = teacher(x)
        out = student(x)
        loss = LAM * distillation(out, opinion) + (1 - LAM) * F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (out.argmax(1) == y).sum().item()
    print(f"epoch {epoch}: {loss.item():.3f}, accuracy {correct / 400:.2f}")
