"""Losses given what they do not expect: probabilities for logits, and logits for probabilities."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, binary, classes, images, perceptron, sentences


@pair("TG501")
def softmax_layer_before_cross_entropy(torch: Any):
    """The last layer of the model is nn.Softmax, and the criterion takes another."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        model = nn.Sequential(
            nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3), nn.Softmax(dim=1)
        )  # bug: or here
        criterion = nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            output = model(inputs)  # bug: or here
            loss = criterion(output, targets)  # bug: here
            loss.backward()
            optimizer.step()

    def fix():
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        criterion = nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            output = model(inputs)
            loss = criterion(output, targets)
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG501")
def softmax_in_forward_before_cross_entropy(torch: Any):
    """A convolutional net that returns F.softmax, and F.cross_entropy outside."""
    nn, F = torch.nn, torch.nn.functional
    x, y = images(torch)

    def bug():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.fc = nn.Conv2d(1, 4, 3), nn.Linear(64, 3)

            def forward(self, x):
                x = F.relu(self.conv(x)).flatten(1)
                return F.softmax(self.fc(x), dim=1)  # bug: or here

        model = Net()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(10):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)  # bug: here
            loss.backward()
            optimizer.step()

    def fix():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.fc = nn.Conv2d(1, 4, 3), nn.Linear(64, 3)

            def forward(self, x):
                x = F.relu(self.conv(x)).flatten(1)
                return self.fc(x)

        model = Net()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(10):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG501")
def log_softmax_before_cross_entropy(torch: Any):
    """log_softmax twice: once in the model, once in the loss."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            scores = F.log_softmax(model(inputs), dim=-1)  # bug: or here
            criterion(scores, targets).backward()  # bug: here
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 8, 3)
        criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            criterion(model(inputs), targets).backward()
            optimizer.step()

    return bug, fix


@pair("TG501")
def softmax_over_words_then_reshaped(torch: Any):
    """A language model's softmax and its loss are apart: a reshape and a helper lie between."""
    nn, F = torch.nn, torch.nn.functional
    x, y = sentences(torch)

    def word_loss(scores, following):
        words = scores.shape[-1]
        return F.cross_entropy(scores.reshape(-1, words), following.reshape(-1))

    def bug():
        def word_loss(scores, following):
            words = scores.shape[-1]
            return F.cross_entropy(scores.reshape(-1, words), following.reshape(-1))  # bug: here

        embedding, body, head = (
            nn.Embedding(11, 8),
            nn.GRU(8, 12, batch_first=True),
            nn.Linear(12, 11),
        )
        model = nn.ModuleList([embedding, body, head])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(10):
            optimizer.zero_grad()
            hidden, _ = body(embedding(x))
            chances = torch.softmax(head(hidden), dim=-1)  # bug: or here
            loss = word_loss(chances, y)  # bug: or here
            loss.backward()
            optimizer.step()

    def fix():
        embedding, body, head = (
            nn.Embedding(11, 8),
            nn.GRU(8, 12, batch_first=True),
            nn.Linear(12, 11),
        )
        model = nn.ModuleList([embedding, body, head])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(10):
            optimizer.zero_grad()
            hidden, _ = body(embedding(x))
            loss = word_loss(head(hidden), y)
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG502")
def sigmoid_layer_before_bce_with_logits(torch: Any):
    """nn.Sigmoid ends the model, and BCEWithLogitsLoss applies a second one."""
    nn = torch.nn
    x, y = binary(torch, n=48)

    def bug():
        model = nn.Sequential(
            nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid()
        )  # bug: or here
        criterion = nn.BCEWithLogitsLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            loss = criterion(model(inputs), targets)  # bug: here
            loss.backward()
            optimizer.step()

    def fix():
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        criterion = nn.BCEWithLogitsLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            loss = criterion(model(inputs), targets)
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG502")
def discriminator_with_a_sigmoid(torch: Any):
    """A GAN: the discriminator returns chances, the loss wants logits."""
    nn, F = torch.nn, torch.nn.functional
    real = torch.randn(16, 2) * 0.3 + 1
    yes, no = torch.ones(16, 1), torch.zeros(16, 1)

    def bug():
        generator = perceptron(torch, 3, 8, 2)
        discriminator = nn.Sequential(
            nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1), nn.Sigmoid()
        )  # bug: or here
        for_g = torch.optim.Adam(generator.parameters(), lr=0.01)
        for_d = torch.optim.Adam(discriminator.parameters(), lr=0.01)
        for _ in range(12):
            fake = generator(torch.randn(16, 3))
            for_d.zero_grad()
            telling = F.binary_cross_entropy_with_logits(discriminator(real), yes)  # bug: here
            other = F.binary_cross_entropy_with_logits(
                discriminator(fake.detach()), no
            )  # bug: or here
            (telling + other).backward()
            for_d.step()
            for_g.zero_grad()
            F.binary_cross_entropy_with_logits(discriminator(fake), yes).backward()  # bug: or here
            for_g.step()

    def fix():
        generator = perceptron(torch, 3, 8, 2)
        discriminator = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        for_g = torch.optim.Adam(generator.parameters(), lr=0.01)
        for_d = torch.optim.Adam(discriminator.parameters(), lr=0.01)
        for _ in range(12):
            fake = generator(torch.randn(16, 3))
            for_d.zero_grad()
            telling = F.binary_cross_entropy_with_logits(discriminator(real), yes)
            other = F.binary_cross_entropy_with_logits(discriminator(fake.detach()), no)
            (telling + other).backward()
            for_d.step()
            for_g.zero_grad()
            F.binary_cross_entropy_with_logits(discriminator(fake), yes).backward()
            for_g.step()

    return bug, fix


@pair("TG502")
def sigmoid_then_squeezed(torch: Any):
    """torch.sigmoid in forward, a squeeze, and the loss with logits."""
    F = torch.nn.functional
    x, y = binary(torch)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        weight = torch.tensor(2.0)
        for _ in range(12):
            optimizer.zero_grad()
            chance = torch.sigmoid(model(x)).squeeze(1)  # bug: or here
            loss = F.binary_cross_entropy_with_logits(
                chance, y[:, 0], pos_weight=weight
            )  # bug: here
            loss.backward()
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        weight = torch.tensor(2.0)
        for _ in range(12):
            optimizer.zero_grad()
            logit = model(x).squeeze(1)
            loss = F.binary_cross_entropy_with_logits(logit, y[:, 0], pos_weight=weight)
            loss.backward()
            optimizer.step()

    return bug, fix
