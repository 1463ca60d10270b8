"""Weights that are kept, averaged or shared: copies that are none, and averages moved by the wrong hand."""

from __future__ import annotations

import copy

from tests.doctor.corpus.parts import batches, classes, perceptron, regression


def reset_to_a_start_that_moved(torch):
    """best-not-copied: the state of the start is a view of the weights; resetting to it does nothing.
    https://github.com/kmzzhang/nbi/issues/11"""
    x, y = regression(torch)
    network = perceptron(torch, 4, 16, 1)
    start = network.state_dict()  # bug
    start = copy.deepcopy(network.state_dict())  # fix
    for _ in range(3):
        network.load_state_dict(start)  # here
        optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
        for _ in range(10):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(network(x), y).backward()
            optimizer.step()


def best_state_is_a_reference(torch):
    """best-not-copied: the best state of the validation goes on changing until it is loaded.
    https://github.com/WenjieDu/PyPOTS/issues/667"""
    x, y = classes(torch, n=60)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    lowest, best = float("inf"), None
    for _ in range(8):
        for inputs, targets in batches(16, x[:48], y[:48]):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
        with torch.no_grad():
            held = torch.nn.functional.cross_entropy(model(x[48:]), y[48:]).item()
        if held < lowest:
            lowest = held
            best = model.state_dict()  # bug
            best = copy.deepcopy(model.state_dict())  # fix
    model.load_state_dict(best)  # here


def shallow_copy_of_the_best(torch):
    """best-not-copied: state_dict().copy() copies the dictionary, not the tensors in it.
    https://github.com/WMD-group/SMACT/pull/601"""
    x, y = regression(torch, n=48)

    class Best:
        def __init__(self):
            self.loss, self.state = float("inf"), None

        def see(self, loss, model):
            if loss < self.loss:
                self.loss = loss
                self.state = model.state_dict().copy()  # bug
                self.state = {k: v.clone() for k, v in model.state_dict().items()}  # fix

    model, best = perceptron(torch, 4, 16, 1), Best()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        best.see(loss.item(), model)
    model.load_state_dict(best.state)  # here


def validation_moves_the_momentum_encoder(torch):
    """changed-in-validation: the momentum update stands in forward and runs in validation, too.
    https://github.com/lightly-ai/lightly/issues/322"""
    nn = torch.nn

    class Momentum(nn.Module):
        def __init__(self):
            super().__init__()
            self.online = perceptron(torch, 4, 16, 8)
            self.slow = copy.deepcopy(self.online).requires_grad_(False)

        def forward(self, x):
            if self.training:  # fix
                self.follow()  # fix
            self.follow()  # bug
            return self.online(x), self.slow(x)

        def follow(self):
            with torch.no_grad():
                for s, o in zip(self.slow.parameters(), self.online.parameters(), strict=True):
                    s.mul_(0.9).add_(0.1 * o)  # here

    x, _ = regression(torch, n=48)
    model = Momentum()
    optimizer = torch.optim.Adam(model.online.parameters(), lr=0.01)
    for _ in range(4):
        model.train()
        for (inputs,) in batches(12, x[:36]):
            fast, slow = model(inputs + 0.1 * torch.randn_like(inputs))
            optimizer.zero_grad()
            nn.functional.mse_loss(fast, slow.detach() + 1).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            model(x[36:])  # here


def layers_of_each_head_are_one_layer(torch):
    """shared-by-multiplication: `[block] * n` is one block n times, though each head should have its own.
    https://github.com/linkedin/Liger-Kernel/pull/269"""
    nn = torch.nn

    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(4, 8)
            self.blocks = nn.ModuleList([nn.Linear(8, 8)] * 3)  # bug
            self.blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])  # fix
            self.out = nn.ModuleList([nn.Linear(8, 3) for _ in range(3)])

        def forward(self, x):
            x = torch.tanh(self.body(x))
            pairs = zip(self.blocks, self.out, strict=True)
            return [out(x + torch.tanh(block(x))) for block, out in pairs]

    x, y = classes(torch)
    model = Heads()  # here
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(15):
        optimizer.zero_grad()
        outs = model(x)
        sum(nn.functional.cross_entropy(o, (y + i) % 3) for i, o in enumerate(outs)).backward()
        optimizer.step()


def norms_shared_with_the_layers(torch):
    """shared-by-multiplication: dropping the deepcopy shares the batch norms as well as the layers.
    https://github.com/dreamquark-ai/tabnet/pull/76"""
    nn = torch.nn
    x, y = regression(torch, n=48)
    shared = nn.Linear(4, 4)
    norm = nn.BatchNorm1d(4)  # bug
    steps = [nn.Sequential(shared, norm, nn.ReLU()) for _ in range(3)]  # bug
    steps = [nn.Sequential(shared, nn.BatchNorm1d(4), nn.ReLU()) for _ in range(3)]  # fix
    model = nn.Sequential(*steps, nn.Linear(4, 1))  # here
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()  # here
            optimizer.step()
