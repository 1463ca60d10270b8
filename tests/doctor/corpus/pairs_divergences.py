"""Losses of distributions that get the wrong form of them, and losses that broadcast."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, classes, perceptron, regression, waves


@pair("TG503")
def nll_of_probabilities(torch: Any):
    """NLLLoss of softmax: the loss is minus a probability."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3), nn.Softmax(dim=1))
        criterion = nn.NLLLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            criterion(model(inputs), targets).backward()  # bug: here
            optimizer.step()

    def fix():
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3), nn.LogSoftmax(dim=1))
        criterion = nn.NLLLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            criterion(model(inputs), targets).backward()
            optimizer.step()

    return bug, fix


@pair("TG503")
def nll_of_logits(torch: Any):
    """NLL of plain scores has no lower bound: they grow for ever."""
    F = torch.nn.functional
    x, y = classes(torch)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            loss = F.nll_loss(model(inputs), targets)  # bug: here
            loss.backward()
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            loss = F.nll_loss(F.log_softmax(model(inputs), dim=1), targets)
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG503")
def divergence_of_probabilities(torch: Any):
    """Distillation: the student's probabilities go into kl_div without their logarithm."""
    F = torch.nn.functional
    x, _ = classes(torch)

    def bug():
        teacher, student = (
            perceptron(torch, 4, 8, 3).requires_grad_(False),
            perceptron(torch, 4, 4, 3),
        )
        optimizer = torch.optim.Adam(student.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            wanted = F.softmax(3 * teacher(x), dim=1)
            given = F.softmax(student(x), dim=1)
            F.kl_div(given, wanted, reduction="batchmean").backward()  # bug: here
            optimizer.step()

    def fix():
        teacher, student = (
            perceptron(torch, 4, 8, 3).requires_grad_(False),
            perceptron(torch, 4, 4, 3),
        )
        optimizer = torch.optim.Adam(student.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            wanted = F.softmax(3 * teacher(x), dim=1)
            given = F.log_softmax(student(x), dim=1)
            F.kl_div(given, wanted, reduction="batchmean").backward()
            optimizer.step()

    return bug, fix


@pair("TG503")
def divergence_with_arguments_swapped(torch: Any):
    """kl_div takes the logarithm first; here it gets it second."""
    F = torch.nn.functional
    x, _ = classes(torch)

    def bug():
        teacher, student = (
            perceptron(torch, 4, 8, 3).requires_grad_(False),
            perceptron(torch, 4, 4, 3),
        )
        optimizer = torch.optim.Adam(student.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            wanted = F.softmax(3 * teacher(x), dim=1)
            given = F.log_softmax(student(x), dim=1)
            F.kl_div(wanted, given, reduction="batchmean").backward()  # bug: here
            optimizer.step()

    def fix():
        teacher, student = (
            perceptron(torch, 4, 8, 3).requires_grad_(False),
            perceptron(torch, 4, 4, 3),
        )
        optimizer = torch.optim.Adam(student.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            wanted = F.softmax(3 * teacher(x), dim=1)
            given = F.log_softmax(student(x), dim=1)
            F.kl_div(given, wanted, reduction="batchmean").backward()
            optimizer.step()

    return bug, fix


@pair("TG503")
def divergence_averaged_over_classes(torch: Any):
    """KLDivLoss() without a word about reduction divides by the number of classes as well."""
    nn, F = torch.nn, torch.nn.functional
    x, _ = classes(torch, k=6)

    def bug():
        teacher, student = (
            perceptron(torch, 4, 8, 6).requires_grad_(False),
            perceptron(torch, 4, 4, 6),
        )
        criterion = nn.KLDivLoss()  # bug: or here
        optimizer = torch.optim.SGD(student.parameters(), lr=0.5)
        for _ in range(12):
            student.zero_grad()
            target = F.softmax(3 * teacher(x), dim=1)
            criterion(F.log_softmax(student(x), dim=1), target).backward()  # bug: here
            optimizer.step()

    def fix():
        teacher, student = (
            perceptron(torch, 4, 8, 6).requires_grad_(False),
            perceptron(torch, 4, 4, 6),
        )
        criterion = nn.KLDivLoss(reduction="batchmean")
        optimizer = torch.optim.SGD(student.parameters(), lr=0.5)
        for _ in range(12):
            student.zero_grad()
            target = F.softmax(3 * teacher(x), dim=1)
            criterion(F.log_softmax(student(x), dim=1), target).backward()
            optimizer.step()

    return bug, fix


@pair("TG504")
def column_against_row(torch: Any):
    """Predictions are (N, 1), targets (N): mse_loss compares all with all."""
    nn = torch.nn
    x, y = regression(torch)
    y = y.squeeze(1)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)  # bug: here
            loss.backward()
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x).squeeze(1), y)
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG504")
def row_against_column_in_a_criterion(torch: Any):
    """The other way round, with SmoothL1Loss and batches: a squeezed prediction, column targets."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        criterion = nn.SmoothL1Loss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _epoch in range(3):
            for inputs, targets in batches(8, x, y):
                optimizer.zero_grad()
                criterion(model(inputs).squeeze(), targets).backward()  # bug: here
                optimizer.step()

    def fix():
        model = perceptron(torch, 4, 8, 1)
        criterion = nn.SmoothL1Loss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _epoch in range(3):
            for inputs, targets in batches(8, x, y):
                optimizer.zero_grad()
                criterion(model(inputs), targets).backward()
                optimizer.step()

    return bug, fix


@pair("TG504")
def squares_written_by_hand(torch: Any):
    """((prediction - target) ** 2).mean() of (N, 1) and (N), with no loss function to warn."""
    x, y = regression(torch)
    y = y.squeeze(1)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean()  # bug: here
            loss.backward()
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            loss = ((model(x)[:, 0] - y) ** 2).mean()
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG504")
def sequence_against_its_last_value(torch: Any):
    """An LSTM returns (N, T, 1) and the target is (N, 1): every moment is compared with everyone."""
    nn = torch.nn
    x, y = waves(torch, n=8, length=8)
    last = y[:, -1]

    def bug():
        lstm, head = nn.LSTM(1, 6, batch_first=True), nn.Linear(6, 1)
        optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=0.02)
        for _ in range(10):
            optimizer.zero_grad()
            output, _ = lstm(x)
            nn.functional.l1_loss(head(output), last).backward()  # bug: here
            optimizer.step()

    def fix():
        lstm, head = nn.LSTM(1, 6, batch_first=True), nn.Linear(6, 1)
        optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=0.02)
        for _ in range(10):
            optimizer.zero_grad()
            output, _ = lstm(x)
            nn.functional.l1_loss(head(output[:, -1]), last).backward()
            optimizer.step()

    return bug, fix
