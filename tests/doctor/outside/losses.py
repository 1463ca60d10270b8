"""Losses that are given what they do not expect."""

from __future__ import annotations

from tests.doctor.corpus.parts import binary, classes, images, perceptron


def softmax_in_forward_before_a_cross_entropy(torch):
    """loss-input: probabilities go into CrossEntropyLoss, which takes a softmax itself.
    https://github.com/jindongwang/Deep-learning-activity-recognition/issues/10"""
    nn, F = torch.nn, torch.nn.functional
    x, y = images(torch)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.fc = nn.Conv2d(1, 4, 3), nn.Linear(64, 3)

        def forward(self, x):
            x = self.fc(F.relu(self.conv(x)).flatten(1))
            return F.softmax(x, dim=1)  # bug
            return x  # fix

    model = Net()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        criterion(model(x), y).backward()  # here
        optimizer.step()


def softmax_of_a_softmax_by_hand(torch):
    """loss-input: nll_loss of log_softmax of softmax.
    https://github.com/Lightning-Universe/lightning-bolts/issues/654"""
    F = torch.nn.functional
    x, y = classes(torch)
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        out = F.softmax(model(x), dim=1)  # bug
        out = model(x)  # fix
        F.nll_loss(F.log_softmax(out, dim=1), y).backward()  # here
        optimizer.step()


def similarities_through_a_softmax(torch):
    """loss-input: attention weights over the support set go into cross_entropy.
    https://github.com/gitabcworld/MatchingNetworks/issues/5"""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch, n=30)
    embed = perceptron(torch, 4, 8, 8)
    support = torch.randn(3, 4)
    attend = nn.Softmax(dim=1)
    optimizer = torch.optim.Adam(embed.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        scores = embed(x) @ embed(support).t()
        scores = attend(scores)  # bug
        F.cross_entropy(scores, y).backward()  # here
        optimizer.step()
    attend(torch.zeros(1, 3))


def sigmoid_before_the_logits_loss(torch):
    """loss-input: a sigmoid before BCEWithLogitsLoss: no score is below a half.
    https://github.com/cvg/glue-factory/issues/89"""
    nn = torch.nn
    x, y = binary(torch)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())  # bug
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))  # fix
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        criterion(model(x), y).backward()  # here
        optimizer.step()


def nll_of_probabilities(torch):
    """loss-input: NLLLoss of a softmax without the logarithm; the loss is always negative.
    https://github.com/AnubhavGupta3377/Text-Classification-Models-Pytorch/issues/9"""
    nn = torch.nn
    x, y = classes(torch)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3), nn.Softmax(dim=1))  # bug
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3), nn.LogSoftmax(dim=1))  # fix
    criterion = nn.NLLLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        criterion(model(x), y).backward()  # here
        optimizer.step()


def divergence_of_probabilities(torch):
    """loss-input: KLDivLoss wants log-probabilities first; the student gives probabilities.
    https://github.com/pytorch/pytorch/issues/5282"""
    nn, F = torch.nn, torch.nn.functional
    x, _ = classes(torch)
    teacher, student = nn.Linear(4, 3), perceptron(torch, 4, 8, 3)
    criterion = nn.KLDivLoss(reduction="batchmean")
    optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        with torch.no_grad():
            soft = F.softmax(teacher(x), dim=1)
        criterion(F.softmax(student(x), dim=1), soft).backward()  # bug
        criterion(F.log_softmax(student(x), dim=1), soft).backward()  # fix
        optimizer.step()


def divergence_with_its_arguments_swapped(torch):
    """loss-input: kl_div(target, prediction): the logarithm is taken of the wrong one.
    https://github.com/Kaixhin/ACER/issues/6"""
    nn, F = torch.nn, torch.nn.functional
    x, _ = classes(torch)
    teacher, student = nn.Linear(4, 3), perceptron(torch, 4, 8, 3)
    optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        with torch.no_grad():
            soft = F.softmax(teacher(x), dim=1)
        out = student(x)
        loss = F.kl_div(soft, F.softmax(out, dim=1), reduction="batchmean")  # bug
        loss = F.kl_div(F.log_softmax(out, dim=1), soft, reduction="batchmean")  # fix
        loss.backward()
        optimizer.step()


def focal_loss_of_a_sigmoid(torch):
    """loss-input: binary_cross_entropy_with_logits is given what has been through a sigmoid.
    https://github.com/itakurah/focal-loss-pytorch/pull/5"""
    F = torch.nn.functional
    x, y = binary(torch)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        logit = model(x)
        p = torch.sigmoid(logit)
        each = F.binary_cross_entropy_with_logits(p, y, reduction="none")  # bug
        each = F.binary_cross_entropy_with_logits(logit, y, reduction="none")  # fix
        focus = (y * (1 - p) + (1 - y) * p).detach() ** 2
        (focus * each).mean().backward()
        optimizer.step()


def attention_over_an_axis_of_one(torch):
    """softmax-of-one: a softmax over an axis of size one is all ones: the scorer learns nothing.
    https://github.com/DEEP-PolyU/KEQA_WSDM19/issues/2"""
    nn, F = torch.nn, torch.nn.functional
    x, y = torch.randn(12, 5, 6), torch.arange(12) % 3

    class Pool(nn.Module):
        def __init__(self):
            super().__init__()
            self.score, self.out = nn.Linear(6, 1), nn.Linear(6, 3)

        def forward(self, x):
            weights = F.softmax(self.score(x), dim=2)  # bug
            weights = F.softmax(self.score(x), dim=1)  # fix
            return self.out((weights * x).sum(1))

    model = Pool()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def capsule_attention_over_one(torch):
    """softmax-of-one: the attention of a capsule has one row, so each weight is 1.
    https://github.com/phanideepgampa/stacked-capsule-networks/pull/5"""
    nn, F = torch.nn, torch.nn.functional
    x, y = torch.randn(10, 4, 6), torch.randn(10, 6)

    class Attend(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.mix = nn.Linear(6, 6), nn.Linear(6, 6)

        def forward(self, x):
            scores = (self.query(x) * x).sum(2).unsqueeze(1)
            weights = scores.softmax(1)  # bug
            weights = scores.softmax(2)  # fix
            return self.mix((weights @ x).squeeze(1))

    model = Attend()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(20):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
