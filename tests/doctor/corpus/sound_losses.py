"""Losses that look like mistakes: softmax and sigmoid that belong there, broadcasts that are meant."""

from __future__ import annotations

from typing import Any

from .case import sound
from .parts import batches, binary, classes, images, perceptron, regression


@sound("losses")
def nll_of_log_softmax(torch: Any):
    """The two halves of cross-entropy, apart."""
    nn = torch.nn
    x, y = images(torch)

    def loop():
        model = nn.Sequential(
            *(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3), nn.LogSoftmax(dim=1))
        )
        criterion = nn.NLLLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(10):
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()

    return loop


@sound("losses")
def bce_of_sigmoid(torch: Any):
    """BCELoss wants probabilities and gets them."""
    nn = torch.nn
    x, y = binary(torch)

    def loop():
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())
        criterion = nn.BCELoss()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()

    return loop


@sound("losses")
def divergence_of_two_logarithms(torch: Any):
    """kl_div with log_target: both arguments are logarithms."""
    F = torch.nn.functional
    x, _ = classes(torch)

    def loop():
        teacher, student = perceptron(torch, 4, 8, 3), perceptron(torch, 4, 4, 3)
        optimizer = torch.optim.Adam(student.parameters(), lr=0.02)
        for _ in range(12):
            with torch.no_grad():
                wanted = F.log_softmax(3 * teacher(x), dim=1)
            given = F.log_softmax(student(x), dim=1)
            optimizer.zero_grad()
            F.kl_div(given, wanted, reduction="batchmean", log_target=True).backward()
            optimizer.step()

    return loop


@sound("losses")
def softmax_inside_the_model(torch: Any):
    """Attention and a gate use softmax and sigmoid, with a linear layer after them."""
    nn, F = torch.nn, torch.nn.functional
    x, y = torch.randn(24, 5, 4), torch.arange(24) % 3

    def loop():
        score, gate, head = nn.Linear(4, 1), nn.Linear(4, 4), nn.Linear(4, 3)
        model = nn.ModuleList([score, gate, head])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for inputs, targets in [*batches(8, x, y)] * 4:
            pooled = (score(inputs).softmax(dim=1) * inputs).sum(dim=1)
            logits = head(pooled * gate(pooled).sigmoid())
            optimizer.zero_grad()
            F.cross_entropy(logits, targets).backward()
            optimizer.step()

    return loop


@sound("losses")
def chances_as_targets(torch: Any):
    """Cross-entropy against probabilities: mixup, label smoothing, and another net's softmax."""
    F = torch.nn.functional
    x, y = classes(torch)
    hot = F.one_hot(y, 3).float()

    def loop():
        model, other = perceptron(torch, 4, 8, 3), perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for inputs, targets, labels in batches(4, x, hot, y):
            mixed, wanted = (
                0.7 * inputs + 0.3 * inputs.flip(0),
                0.7 * targets + 0.3 * targets.flip(0),
            )
            with torch.no_grad():
                soft = F.softmax(other(inputs), dim=1)
            loss = F.cross_entropy(model(mixed), wanted)
            loss = loss + F.cross_entropy(model(inputs), labels, label_smoothing=0.1)
            loss = loss + 0.1 * F.cross_entropy(model(inputs), soft)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return loop


@sound("losses")
def mixture_of_chances(torch: Any):
    """An ensemble averages probabilities and takes their logarithm for NLL."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    def loop():
        members = nn.ModuleList([perceptron(torch, 4, 6, 3) for _ in range(3)])
        optimizer = torch.optim.Adam(members.parameters(), lr=0.02)
        for inputs, targets in batches(4, x, y):
            chances = torch.stack([F.softmax(member(inputs), dim=1) for member in members])
            optimizer.zero_grad()
            F.nll_loss(chances.mean(dim=0).log(), targets).backward()
            optimizer.step()

    return loop


@sound("losses")
def contrastive_pairs(torch: Any):
    """SimCLR and CLIP: softmax over the batch, in both directions, is what is meant."""
    nn, F = torch.nn, torch.nn.functional
    x, _ = classes(torch, n=32)

    def loop():
        left, right = perceptron(torch, 4, 8, 4), perceptron(torch, 4, 8, 4)
        scale = nn.Parameter(torch.tensor(1.0))
        optimizer = torch.optim.Adam([*left.parameters(), *right.parameters(), scale], lr=0.02)
        for (batch,) in [*batches(8, x)] * 3:
            one = F.normalize(left(batch), dim=1)
            two = F.normalize(right(batch + 0.1 * torch.randn_like(batch)), dim=1)
            logits = scale.exp() * one @ two.t()
            pairs = torch.arange(len(batch))
            loss = F.cross_entropy(logits, pairs) + F.cross_entropy(logits.t(), pairs)
            optimizer.zero_grad()
            (loss / 2).backward()
            optimizer.step()

    return loop


@sound("losses")
def pairs_compared_by_broadcasting(torch: Any):
    """A ranking loss compares all with all: (N, 1) against (1, N) is meant."""
    x, y = regression(torch)

    def loop():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            score = model(x)
            margin = score - score.t()
            order = torch.sign(y - y.t())
            optimizer.zero_grad()
            torch.relu(0.1 - order * margin).mean().backward()
            optimizer.step()

    return loop


@sound("losses")
def moments_matched(torch: Any):
    """MMD: kernels of all pairs, made with unsqueeze, and a scale that is broadcast."""
    real = torch.randn(16, 2) * 0.5 + 1

    def kernel(a, b):
        return torch.exp(-(a.unsqueeze(1) - b.unsqueeze(0)).pow(2).sum(-1)).mean()

    def loop():
        model = perceptron(torch, 3, 8, 2)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            made = model(torch.randn(16, 3))
            optimizer.zero_grad()
            (kernel(made, made) + kernel(real, real) - 2 * kernel(made, real)).backward()
            optimizer.step()

    return loop


@sound("losses")
def deep_supervision(torch: Any):
    """Losses at several depths, one of them with weight 0 in the first epoch."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    def loop():
        first, second = perceptron(torch, 4, 8), perceptron(torch, 8, 8)
        early, late = nn.Linear(8, 3), nn.Linear(8, 3)
        model = nn.ModuleList([first, second, early, late])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            for inputs, targets in batches(12, x, y):
                hidden = torch.tanh(first(inputs))
                loss = F.cross_entropy(late(torch.tanh(second(hidden))), targets)
                loss = loss + min(epoch, 1) * 0.3 * F.cross_entropy(early(hidden), targets)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    return loop


@sound("losses")
def pseudo_labels_of_the_model_itself(torch: Any):
    """FixMatch: labels from the model's own argmax, without gradient, where it is sure."""
    F = torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for inputs, targets in batches(4, x, y):
            chances = model(inputs).detach().softmax(dim=1)
            sure, guess = chances.max(dim=1)
            strong = model(inputs + 0.2 * torch.randn_like(inputs))
            own = (F.cross_entropy(strong, guess, reduction="none") * (sure > 0.4)).mean()
            optimizer.zero_grad()
            (F.cross_entropy(model(inputs), targets) + own).backward()
            optimizer.step()

    return loop


@sound("losses")
def hard_examples_mined(torch: Any):
    """Only the largest losses of a batch go backward: topk chooses, and the rest get zeros."""
    F = torch.nn.functional
    x, y = classes(torch)

    def loop():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for inputs, targets in [*batches(8, x, y)] * 2:
            each = F.cross_entropy(model(inputs), targets, reduction="none")
            optimizer.zero_grad()
            each.topk(3).values.mean().backward()
            optimizer.step()

    return loop
