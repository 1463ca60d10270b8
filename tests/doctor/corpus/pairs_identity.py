"""Which parameter is which: held but dead, frozen by mistake, cloned where one was meant."""

from __future__ import annotations

import copy
from typing import Any

from .case import pair
from .parts import batches, classes, perceptron, regression, sentences


@pair("TG302", "TG301")
def optimizer_of_a_copy(torch: Any):
    """The model is deep-copied after the optimizer was made; the copy runs, the original is held."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # bug: here
        model = copy.deepcopy(model)  # bug: or here
        for _ in range(12):
            model.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()  # bug: or here

    def fix():
        model = perceptron(torch, 4, 8, 1)
        model = copy.deepcopy(model)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(12):
            model.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

    return bug, fix


@pair("TG302", "TG301")
def layer_reset_after_the_optimizer(torch: Any):
    """The last layer is made anew every epoch to `reset` it, and only the first one is ever stepped."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)  # bug: or here
        for _epoch in range(3):
            model[2] = nn.Linear(8, 3)  # bug: here
            for inputs, targets in batches(12, x, y):
                model.zero_grad()
                nn.functional.cross_entropy(model(inputs), targets).backward()
                optimizer.step()

    def fix():
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        for _epoch in range(3):
            model[2].reset_parameters()
            for inputs, targets in batches(12, x, y):
                model.zero_grad()
                nn.functional.cross_entropy(model(inputs), targets).backward()
                optimizer.step()

    return bug, fix


@pair("TG302", "TG301")
def weight_replaced_when_pruned(torch: Any):
    """Pruning assigns a new Parameter; the optimizer goes on with the old one."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)  # bug: or here
        for step in range(12):
            model.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            if step == 3:
                kept = model[0].weight.detach() * (model[0].weight.detach().abs() > 0.1)
                model[0].weight = nn.Parameter(kept)  # bug: here

    def fix():
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        for step in range(12):
            model.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            if step == 3:
                kept = model[0].weight.detach() * (model[0].weight.detach().abs() > 0.1)
                with torch.no_grad():
                    model[0].weight.copy_(kept)

    return bug, fix


@pair("TG303")
def output_layer_frozen_by_name(torch: Any):
    """The wrong side of the name test: the new head is frozen and the backbone trains."""
    nn = torch.nn
    x, y = classes(torch)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone = perceptron(torch, 4, 8, 8)
            self.head = nn.Linear(8, 3)

        def forward(self, x):
            return self.head(self.backbone(x))

    def bug():
        model = Net()
        for name, p in model.named_parameters():
            if "head" in name:
                p.requires_grad = False  # bug: here
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # bug: or here
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()  # bug: or here

    def fix():
        model = Net()
        for name, p in model.named_parameters():
            if "head" not in name:
                p.requires_grad = False
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()

    return bug, fix


@pair("TG303")
def frozen_for_a_probe_and_left_so(torch: Any):
    """After an epoch the encoder is frozen to probe it, and nobody thaws it for the next one."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        def probe_accuracy(encoder, head):
            encoder.requires_grad_(False)  # bug: here
            return (head(encoder(x)).argmax(1) == y).float().mean().item()

        encoder, head = perceptron(torch, 4, 8), nn.Linear(8, 3)
        optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.01)
        for _epoch in range(3):
            for inputs, targets in batches(12, x, y):
                optimizer.zero_grad()
                nn.functional.cross_entropy(head(encoder(inputs)), targets).backward()
                optimizer.step()  # bug: or here
            probe_accuracy(encoder, head)  # bug: or here

    def fix():
        def probe_accuracy(encoder, head):
            with torch.no_grad():
                return (head(encoder(x)).argmax(1) == y).float().mean().item()

        encoder, head = perceptron(torch, 4, 8), nn.Linear(8, 3)
        optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.01)
        for _epoch in range(3):
            for inputs, targets in batches(12, x, y):
                optimizer.zero_grad()
                nn.functional.cross_entropy(head(encoder(inputs)), targets).backward()
                optimizer.step()
            probe_accuracy(encoder, head)

    return bug, fix


@pair("TG303")
def attack_leaves_half_of_the_model_frozen(torch: Any):
    """An adversarial attack switches gradients of the weights off; only the head is switched on."""
    nn = torch.nn
    x, y = classes(torch)

    def bug():
        def attack(model, inputs, targets):
            model.requires_grad_(False)  # bug: here
            moved = inputs.clone().requires_grad_()
            nn.functional.cross_entropy(model(moved), targets).backward()
            model[2].requires_grad_(True)  # bug: or here
            return inputs + 0.1 * moved.grad.sign()

        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for i, (inputs, targets) in enumerate(batches(4, x, y)):
            if i >= 4:
                inputs = attack(model, inputs, targets)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()  # bug: or here

    def fix():
        def attack(model, inputs, targets):
            model.requires_grad_(False)
            moved = inputs.clone().requires_grad_()
            nn.functional.cross_entropy(model(moved), targets).backward()
            model.requires_grad_(True)
            return inputs + 0.1 * moved.grad.sign()

        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for i, (inputs, targets) in enumerate(batches(4, x, y)):
            if i >= 4:
                inputs = attack(model, inputs, targets)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()

    return bug, fix


@pair("TG304")
def tied_weights_cloned(torch: Any):
    """A language model whose output layer should share the word vectors gets a copy of them."""
    nn = torch.nn
    x, y = sentences(torch)

    def bug():
        embedding, body = nn.Embedding(11, 8), nn.GRU(8, 8, batch_first=True)
        head = nn.Linear(8, 11, bias=False)
        head.weight = nn.Parameter(embedding.weight.clone())  # bug: here
        model = nn.ModuleList([embedding, body, head])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # bug: or here
        for _ in range(10):
            optimizer.zero_grad()
            logits = head(body(embedding(x))[0])
            nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten()).backward()
            optimizer.step()

    def fix():
        embedding, body = nn.Embedding(11, 8), nn.GRU(8, 8, batch_first=True)
        head = nn.Linear(8, 11, bias=False)
        head.weight = embedding.weight
        model = nn.ModuleList([embedding, body, head])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(10):
            optimizer.zero_grad()
            logits = head(body(embedding(x))[0])
            nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten()).backward()
            optimizer.step()

    return bug, fix


@pair("TG304")
def tied_weights_parted_when_cast(torch: Any):
    """Tied at first; a loop that casts each layer makes two parameters of the one."""
    nn = torch.nn
    x, y = sentences(torch)

    def build():
        embedding, head = nn.Embedding(11, 8), nn.Linear(8, 11, bias=False)
        head.weight = embedding.weight
        return nn.Sequential(embedding, nn.Tanh(), head)

    def bug():
        model = build()
        for layer in (model[0], model[2]):
            layer.weight = nn.Parameter(layer.weight.detach().double())  # bug: here
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)  # bug: or here
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten()).backward()
            optimizer.step()

    def fix():
        model = build().double()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten()).backward()
            optimizer.step()

    return bug, fix


@pair("TG304")
def one_momentum_buffer_for_two_weights(torch: Any):
    """Optimizer state prepared by hand: both layers were given the same buffer."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        zeros = torch.zeros(4, 4)
        for layer in (model[0], model[2]):
            optimizer.state[layer.weight]["momentum_buffer"] = zeros  # bug: here
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()  # bug: or here

    def fix():
        model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        for layer in (model[0], model[2]):
            optimizer.state[layer.weight]["momentum_buffer"] = torch.zeros(4, 4)
        for _ in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

    return bug, fix
