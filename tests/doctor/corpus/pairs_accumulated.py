"""Gradients left over: what a step has used is still there when the next backward adds to it."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, classes, loader, perceptron, regression, waves


@pair("TG101")
def never_cleared(torch: Any):
    """The plainest loop there is, without zero_grad."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()  # bug: here
            optimizer.step()  # bug: or here

    def fix():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(12):
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG101")
def cleared_once_per_epoch(torch: Any):
    """zero_grad stands one level too far out: before the batches instead of among them."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        criterion = nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _epoch in range(3):
            optimizer.zero_grad()
            for inputs, targets in batches(12, x, y):
                loss = criterion(model(inputs), targets)
                loss.backward()  # bug: here
                optimizer.step()  # bug: or here

    def fix():
        model = perceptron(torch, 4, 8, 3)
        criterion = nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _epoch in range(3):
            for inputs, targets in batches(12, x, y):
                optimizer.zero_grad()
                loss = criterion(model(inputs), targets)
                loss.backward()
                optimizer.step()

    return bug, fix


@pair("TG101")
def never_cleared_in_a_helper(torch: Any):
    """`train_one_epoch` over a DataLoader, with Adam; nobody clears."""
    nn = torch.nn
    x, y = classes(torch, n=40)

    def bug():
        def train_one_epoch(model, data, criterion, optimizer):
            model.train()
            running = 0.0
            for inputs, targets in data:
                loss = criterion(model(inputs), targets)
                loss.backward()  # bug: here
                optimizer.step()  # bug: or here
                running += loss.item() * len(inputs)
            return running / len(data.dataset)

        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(3):
            train_one_epoch(model, loader(torch, x, y), nn.CrossEntropyLoss(), optimizer)

    def fix():
        def train_one_epoch(model, data, criterion, optimizer):
            model.train()
            running = 0.0
            for inputs, targets in data:
                optimizer.zero_grad(set_to_none=False)
                loss = criterion(model(inputs), targets)
                loss.backward()
                optimizer.step()
                running += loss.item() * len(inputs)
            return running / len(data.dataset)

        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(3):
            train_one_epoch(model, loader(torch, x, y), nn.CrossEntropyLoss(), optimizer)

    return bug, fix


@pair("TG101")
def zero_grad_without_parentheses(torch: Any):
    """The method is named and not called."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
        for _ in range(11):
            optimizer.zero_grad  # bug: or here
            loss = nn.functional.smooth_l1_loss(model(x), y)
            loss.backward()  # bug: here
            optimizer.step()  # bug: or here

    def fix():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
        for _ in range(11):
            optimizer.zero_grad()
            loss = nn.functional.smooth_l1_loss(model(x), y)
            loss.backward()
            optimizer.step()

    return bug, fix


@pair("TG101")
def another_model_is_cleared(torch: Any):
    """A Trainer clears the averaged copy, which has no gradients, and not the model it trains."""
    import copy

    nn = torch.nn
    x, y = regression(torch)

    class Trainer:
        def __init__(self, model):
            self.model, self.average = model, copy.deepcopy(model)
            self.optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

        def update_average(self):
            with torch.no_grad():
                pairs = zip(self.average.parameters(), self.model.parameters(), strict=True)
                for kept, new in pairs:
                    kept.lerp_(new, 0.1)

    def bug():
        class BrokenTrainer(Trainer):
            def train_step(self, inputs, targets):
                self.average.zero_grad()  # bug: or here
                loss = nn.functional.mse_loss(self.model(inputs), targets)
                loss.backward()  # bug: here
                self.optimizer.step()  # bug: or here
                self.update_average()

        trainer = BrokenTrainer(perceptron(torch, 4, 6, 1))
        for _epoch in range(3):
            for inputs, targets in batches(8, x, y):
                trainer.train_step(inputs, targets)

    def fix():
        class FixedTrainer(Trainer):
            def train_step(self, inputs, targets):
                self.model.zero_grad()
                loss = nn.functional.mse_loss(self.model(inputs), targets)
                loss.backward()
                self.optimizer.step()
                self.update_average()

        trainer = FixedTrainer(perceptron(torch, 4, 6, 1))
        for _epoch in range(3):
            for inputs, targets in batches(8, x, y):
                trainer.train_step(inputs, targets)

    return bug, fix


@pair("TG101")
def one_of_two_optimizers_is_cleared(torch: Any):
    """Encoder and decoder have an optimizer each; the decoder's is never cleared."""
    nn = torch.nn
    x, _ = classes(torch)

    def bug():
        encoder, decoder = perceptron(torch, 4, 6, 2), perceptron(torch, 2, 6, 4)
        for_encoder = torch.optim.Adam(encoder.parameters(), lr=0.01)
        for_decoder = torch.optim.Adam(decoder.parameters(), lr=0.01)
        for _ in range(12):
            for_encoder.zero_grad()
            loss = nn.functional.mse_loss(decoder(encoder(x)), x)
            loss.backward()  # bug: here
            for_encoder.step()
            for_decoder.step()  # bug: or here

    def fix():
        encoder, decoder = perceptron(torch, 4, 6, 2), perceptron(torch, 2, 6, 4)
        for_encoder = torch.optim.Adam(encoder.parameters(), lr=0.01)
        for_decoder = torch.optim.Adam(decoder.parameters(), lr=0.01)
        for _ in range(12):
            for_encoder.zero_grad()
            for_decoder.zero_grad()
            loss = nn.functional.mse_loss(decoder(encoder(x)), x)
            loss.backward()
            for_encoder.step()
            for_decoder.step()

    return bug, fix


@pair("TG101")
def updated_by_hand_and_not_cleared(torch: Any):
    """Gradient descent written out, as in a tutorial; the gradients stay."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = nn.Linear(4, 1)
        for _ in range(12):
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()  # bug: here
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.05 * p.grad  # bug: or here

    def fix():
        model = nn.Linear(4, 1)
        for _ in range(12):
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.05 * p.grad
                    p.grad.zero_()

    return bug, fix


@pair("TG101")
def never_cleared_under_amp(torch: Any):
    """Mixed precision: scale, step, update, and no zero_grad."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu")
        for inputs, targets in batches(4, x, y):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = nn.functional.cross_entropy(model(inputs), targets)
            scaler.scale(loss).backward()  # bug: here
            scaler.step(optimizer)  # bug: or here
            scaler.update()

    def fix():
        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu")
        for inputs, targets in batches(4, x, y):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = nn.functional.cross_entropy(model(inputs), targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()

    return bug, fix


@pair("TG101")
def window_not_cleared_after_its_step(torch: Any):
    """Accumulation over two batches; the window that was stepped on runs into the next one."""
    nn = torch.nn
    x, y = regression(torch, n=96)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for i, (inputs, targets) in enumerate(batches(4, x, y)):
            loss = nn.functional.mse_loss(model(inputs), targets) / 2
            loss.backward()  # bug: here
            if i % 2 == 1:
                optimizer.step()  # bug: or here

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for i, (inputs, targets) in enumerate(batches(4, x, y)):
            loss = nn.functional.mse_loss(model(inputs), targets) / 2
            loss.backward()
            if i % 2 == 1:
                optimizer.step()
                optimizer.zero_grad()

    return bug, fix


@pair("TG101")
def a_copy_of_the_gradient_is_cleared(torch: Any):
    """An RNN whose gradients are `cleared` through a clone of each."""
    nn = torch.nn
    x, y = waves(torch)

    def bug():
        rnn, head = nn.RNN(1, 6, batch_first=True), nn.Linear(6, 1)
        parameters = [*rnn.parameters(), *head.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.05)
        for _ in range(10):
            for p in parameters:
                if p.grad is not None:
                    p.grad.clone().zero_()  # bug: or here
            loss = nn.functional.mse_loss(head(rnn(x)[0]), y)
            loss.backward()  # bug: here
            optimizer.step()  # bug: or here

    def fix():
        rnn, head = nn.RNN(1, 6, batch_first=True), nn.Linear(6, 1)
        parameters = [*rnn.parameters(), *head.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.05)
        for _ in range(10):
            for p in parameters:
                if p.grad is not None:
                    p.grad.data.zero_()
            loss = nn.functional.mse_loss(head(rnn(x)[0]), y)
            loss.backward()
            optimizer.step()

    return bug, fix
