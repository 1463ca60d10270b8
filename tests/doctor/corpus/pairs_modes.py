"""Modes: eval left on, dropout that never goes off, batch norm that counts twice."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, classes, images, perceptron, regression


@pair("TG601")
def eval_left_on_after_validation(torch: Any):
    """model.eval() for validation after each epoch, and model.train() only once, before all of them."""
    nn = torch.nn
    x, y = classes(torch)

    def network():
        return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3))

    def bug():
        def validate(model):
            model.eval()  # bug: here
            with torch.no_grad():
                return nn.functional.cross_entropy(model(x), y).item()

        model = network()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        model.train()
        for _epoch in range(4):
            for inputs, targets in batches(12, x, y):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(inputs), targets)  # bug: or here
                loss.backward()  # bug: or here
                optimizer.step()  # bug: or here
            validate(model)  # bug: or here

    def fix():
        def validate(model):
            model.eval()
            with torch.no_grad():
                return nn.functional.cross_entropy(model(x), y).item()

        model = network()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _epoch in range(4):
            model.train()
            for inputs, targets in batches(12, x, y):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(inputs), targets)
                loss.backward()
                optimizer.step()
            validate(model)

    return bug, fix


@pair("TG601")
def a_look_at_a_sample_leaves_eval_on(torch: Any):
    """Every few steps a Trainer shows a prediction, and its batch norms stay in eval from then on."""
    nn = torch.nn
    x, y = images(torch, n=24)

    class Trainer:
        def __init__(self):
            self.model = nn.Sequential(
                nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)
            )
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)

    def bug():
        class Broken(Trainer):
            def show(self):
                self.model.train(False)  # bug: here
                return self.model(x[:1]).argmax().item()

            def fit(self):
                for step in range(12):
                    self.optimizer.zero_grad()
                    loss = nn.functional.cross_entropy(self.model(x), y)  # bug: or here
                    loss.backward()  # bug: or here
                    self.optimizer.step()  # bug: or here
                    if step % 4 == 3:
                        self.show()  # bug: or here

        Broken().fit()

    def fix():
        class Fixed(Trainer):
            def show(self):
                self.model.train(False)
                shown = self.model(x[:1]).argmax().item()
                self.model.train()
                return shown

            def fit(self):
                for step in range(12):
                    self.optimizer.zero_grad()
                    loss = nn.functional.cross_entropy(self.model(x), y)
                    loss.backward()
                    self.optimizer.step()
                    if step % 4 == 3:
                        self.show()

        Fixed().fit()

    return bug, fix


@pair("TG601")
def only_the_head_is_set_back_to_train(torch: Any):
    """Validation puts two modules in eval; one of them is put back."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        encoder = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh())
        head = nn.Sequential(nn.Dropout(0.1), nn.Linear(8, 1))
        optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.02)
        for _epoch in range(3):
            head.train()  # bug: or here
            for inputs, targets in batches(8, x, y):
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(head(encoder(inputs)), targets)  # bug: or here
                loss.backward()  # bug: or here
                optimizer.step()  # bug: or here
            encoder.eval()  # bug: here
            head.eval()
            with torch.no_grad():
                nn.functional.mse_loss(head(encoder(x)), y).item()

    def fix():
        encoder = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh())
        head = nn.Sequential(nn.Dropout(0.1), nn.Linear(8, 1))
        optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.02)
        for _epoch in range(3):
            encoder.train()
            head.train()
            for inputs, targets in batches(8, x, y):
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(head(encoder(inputs)), targets)
                loss.backward()
                optimizer.step()
            encoder.eval()
            head.eval()
            with torch.no_grad():
                nn.functional.mse_loss(head(encoder(x)), y).item()

    return bug, fix


@pair("TG602")
def functional_dropout_without_the_mode(torch: Any):
    """F.dropout(x, 0.5) in forward is always on; validation is as noisy as training."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    def train(model):
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _epoch in range(3):
            model.train()
            for inputs, targets in batches(12, x, y):
                optimizer.zero_grad()
                F.cross_entropy(model(inputs), targets).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                F.cross_entropy(model(x), y)

    def bug():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(4, 16), nn.Linear(16, 3)

            def forward(self, x):
                return self.second(F.dropout(torch.relu(self.first(x)), 0.3))  # bug: here

        train(Net())

    def fix():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(4, 16), nn.Linear(16, 3)

            def forward(self, x):
                return self.second(F.dropout(torch.relu(self.first(x)), 0.3, self.training))

        train(Net())

    return bug, fix


@pair("TG602")
def dropout_made_in_forward(torch: Any):
    """A new nn.Dropout in every forward is always in training mode."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)

    def train(model):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _epoch in range(3):
            model.train()
            for inputs, targets in batches(8, x, y):
                optimizer.zero_grad()
                F.mse_loss(model(inputs), targets).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                F.mse_loss(model(x), y)

    def bug():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = perceptron(torch, 4, 16), nn.Linear(16, 1)

            def forward(self, x):
                hidden = nn.Dropout(0.2)(torch.tanh(self.body(x)))  # bug: here
                return self.head(hidden)

        train(Net())

    def fix():
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = perceptron(torch, 4, 16), nn.Linear(16, 1)
                self.dropout = nn.Dropout(0.2)

            def forward(self, x):
                hidden = self.dropout(torch.tanh(self.body(x)))
                return self.head(hidden)

        train(Net())

    return bug, fix


@pair("TG603")
def batch_norm_under_checkpoint(torch: Any):
    """Recomputing the block moves its running statistics a second time."""
    nn = torch.nn
    checkpoint = torch.utils.checkpoint.checkpoint
    x, y = classes(torch)

    def bug():
        block = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
        head = nn.Linear(8, 3)
        optimizer = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            hidden = checkpoint(block, inputs, use_reentrant=False)  # bug: here
            nn.functional.cross_entropy(head(hidden), targets).backward()  # bug: or here
            optimizer.step()

    def fix():
        block = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
        head = nn.Linear(8, 3)
        optimizer = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            hidden = block(inputs)
            nn.functional.cross_entropy(
                checkpoint(head, hidden, use_reentrant=False), targets
            ).backward()
            optimizer.step()

    return bug, fix


@pair("TG603")
def batch_norm_in_a_checkpointed_sequence(torch: Any):
    """checkpoint_sequential over a convolutional net with batch norms."""
    nn = torch.nn
    sequential = torch.utils.checkpoint.checkpoint_sequential
    x, y = images(torch)

    def network(norm):
        return nn.Sequential(
            *(nn.Conv2d(1, 4, 3), norm(), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.ReLU()),
            *(nn.Flatten(), nn.Linear(16, 3)),
        )

    def bug():
        model = network(lambda: nn.BatchNorm2d(4))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(10):
            optimizer.zero_grad()
            logits = sequential(model, 2, x, use_reentrant=False)  # bug: here
            nn.functional.cross_entropy(logits, y).backward()  # bug: or here
            optimizer.step()

    def fix():
        model = network(lambda: nn.GroupNorm(2, 4))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(10):
            optimizer.zero_grad()
            logits = sequential(model, 2, x, use_reentrant=False)
            nn.functional.cross_entropy(logits, y).backward()
            optimizer.step()

    return bug, fix
