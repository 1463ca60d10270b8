"""Who holds what: optimizers and their parameters, copies and what they should follow."""

from __future__ import annotations

import copy

from tests.doctor.corpus.parts import batches, classes, images, perceptron, regression


def adam_made_anew_for_each_epoch(torch):
    """state-lost: train_epoch() makes its optimizer, so every epoch begins without moments.
    https://github.com/alan-turing-institute/deepsensor/issues/47"""
    x, y = regression(torch, n=48)
    model = perceptron(torch, 4, 16, 1)
    kept = torch.optim.Adam(model.parameters(), lr=5e-3)

    def train_epoch(model, lr):
        optimizer = torch.optim.Adam(model.parameters(), lr=lr)  # bug
        optimizer = kept  # fix
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()  # here

    for _ in range(10):
        train_epoch(model, lr=5e-3)


def value_optimizer_of_the_actor(torch):
    """wrong-optimizer: the optimizer of the value network is made of the actor's parameters.
    https://github.com/juliusfrost/dreamer-pytorch/pull/79"""
    x = torch.randn(32, 4)
    actor, value = perceptron(torch, 4, 16, 2), perceptron(torch, 4, 16, 1)
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=0.01)
    value_optimizer = torch.optim.Adam(actor.parameters(), lr=0.01)  # bug
    value_optimizer = torch.optim.Adam(value.parameters(), lr=0.01)  # fix
    returns = x.sum(1)
    for _ in range(20):
        actor_loss = -(torch.tanh(actor(x)).sum(1) * returns).mean()
        value_loss = (value(x).squeeze(1) - returns).square().mean()
        actor_optimizer.zero_grad()
        value_optimizer.zero_grad()
        actor_loss.backward()
        value_loss.backward()  # here
        actor_optimizer.step()
        value_optimizer.step()  # here


def generator_trained_by_the_other_optimizer(torch):
    """wrong-optimizer: after the generator's loss it is the discriminator's optimizer that steps.
    https://github.com/ufal/npfl138/issues/57"""
    F = torch.nn.functional
    real = torch.randn(32, 2) + 2
    generator, discriminator = perceptron(torch, 4, 16, 2), perceptron(torch, 2, 16, 1)
    optimizer = {
        "generator": torch.optim.Adam(generator.parameters(), lr=0.01),  # here
        "discriminator": torch.optim.Adam(discriminator.parameters(), lr=0.01),
    }
    ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
    for _ in range(20):
        optimizer["discriminator"].zero_grad()  # bug
        optimizer["generator"].zero_grad()  # fix
        generated = generator(torch.randn(32, 4))
        generator_loss = F.binary_cross_entropy_with_logits(discriminator(generated), ones)
        generator_loss.backward()  # here
        optimizer["discriminator"].step()  # bug
        optimizer["generator"].step()  # fix

        optimizer["discriminator"].zero_grad()
        said = discriminator(torch.cat([real, generated.detach()]))
        F.binary_cross_entropy_with_logits(said, torch.cat([ones, zeros])).backward()
        optimizer["discriminator"].step()


def soft_update_of_parameters_no_longer_there(torch):
    """update-in-a-copy: the target's parameters were taken out of it before they were shared anew.
    https://github.com/AgileRL/AgileRL/pull/464"""
    nn = torch.nn
    x, y = regression(torch)
    actor = perceptron(torch, 4, 16, 1)
    target = copy.deepcopy(actor)
    shared = [p.detach().clone() for p in target.parameters()]  # bug
    shared = list(target.parameters())  # fix
    optimizer = torch.optim.Adam(actor.parameters(), lr=0.01)
    for _ in range(25):
        with torch.no_grad():
            aim = 0.5 * y + 0.5 * target(x)  # here
        optimizer.zero_grad()
        nn.functional.mse_loss(actor(x), aim).backward()
        optimizer.step()  # here
        with torch.no_grad():
            for mine, other in zip(actor.parameters(), shared, strict=True):
                other.mul_(0.9).add_(0.1 * mine)  # here


def target_copied_before_training_only(torch):
    """copy-frozen: the target is set once before the episodes, and never again.
    https://github.com/higgsfield-ai/higgsfield/issues/14"""
    states, after, rewards = torch.randn(64, 4), torch.randn(64, 4), torch.randn(64)
    actions = torch.arange(64) % 3
    model, target_model = perceptron(torch, 4, 16, 3), perceptron(torch, 4, 16, 3)

    def update_target():
        target_model.load_state_dict(model.state_dict())

    update_target()  # here
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    for episode in range(40):
        chosen = model(states).gather(1, actions[:, None]).squeeze(1)
        with torch.no_grad():
            aim = rewards + 0.9 * target_model(after).max(1).values  # here
        optimizer.zero_grad()
        (chosen - aim).square().mean().backward()  # here
        optimizer.step()  # here
        if episode % 5 == 4:  # fix
            update_target()  # fix


def average_with_its_rate_turned_round(torch):
    """copy-is-self: beta weighs the new weights and not the old, so the average is the model.
    https://github.com/marin-community/levanter/pull/883"""
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    ema = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    beta = 0.999
    for _ in range(25):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()  # here
        with torch.no_grad():
            for old, new in zip(ema.parameters(), model.parameters(), strict=True):
                old.copy_(beta * new + (1 - beta) * old)  # bug
                old.copy_(beta * old + (1 - beta) * new)  # fix
    with torch.no_grad():
        ema(x)  # here


def momentum_update_that_nobody_calls(torch):
    """copy-frozen: the target encoder has a method that moves it; the training script does not call it.
    https://github.com/PatrickHua/SimSiam/issues/26"""
    nn, F = torch.nn, torch.nn.functional

    class Byol(nn.Module):
        def __init__(self):
            super().__init__()
            self.online = perceptron(torch, 4, 16, 8)
            self.target = copy.deepcopy(self.online)
            self.predictor = nn.Linear(8, 8)

        @torch.no_grad()
        def update_moving_average(self):
            for mine, theirs in zip(
                self.online.parameters(), self.target.parameters(), strict=True
            ):
                theirs.data = 0.9 * theirs.data + 0.1 * mine.data

        def forward(self, one, two):
            with torch.no_grad():
                aim = self.target(two)  # here
            return -F.cosine_similarity(self.predictor(self.online(one)), aim, dim=-1).mean()

    x = torch.randn(32, 4)
    model = Byol()
    learned = [*model.online.parameters(), *model.predictor.parameters()]
    optimizer = torch.optim.SGD(learned, lr=0.05, momentum=0.9)
    for _ in range(30):
        one, two = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
        optimizer.zero_grad()
        model(one, two).backward()  # here
        optimizer.step()  # here
        model.update_moving_average()  # fix


def best_weights_kept_by_reference(torch):
    """best-not-copied: best_weights = model.state_dict() goes on being trained.
    https://github.com/THGLab/LP-PDBBind/pull/1"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    best_loss, best_weights = float("inf"), None
    for _ in range(20):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x[:24]), y[:24]).backward()
        optimizer.step()  # here
        with torch.no_grad():
            val_loss = torch.nn.functional.mse_loss(model(x[24:]), y[24:]).item()
        if val_loss < best_loss:
            best_loss = val_loss
            best_weights = model.state_dict()  # bug
            best_weights = copy.deepcopy(model.state_dict())  # fix
    model.load_state_dict(best_weights)  # here


def thawing_asks_what_is_thawed_already(torch):
    """not-unfrozen: set_trainable() skips every parameter that does not require a gradient.
    https://github.com/nttcslab/byol-a/issues/7"""
    nn = torch.nn
    x, y = classes(torch)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = perceptron(torch, 4, 16, 8), nn.Linear(8, 3)

        def forward(self, x):
            return self.head(torch.tanh(self.body(x)))

        def set_trainable(self, trainable):
            for p in self.body.parameters():
                if p.requires_grad:  # bug
                    p.requires_grad = trainable  # bug
                p.requires_grad = trainable  # fix

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for epoch in range(24):
        if epoch == 8:
            model.set_trainable(False)  # here
        if epoch == 14:
            model.set_trainable(True)  # here
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()  # here
        optimizer.step()  # here


def activation_whose_slope_is_a_plain_tensor(torch):
    """not-held: the slope of the activation should be learned, and is a tensor of zeros.
    https://github.com/shenweichen/DeepCTR-Torch/issues/93"""
    nn = torch.nn

    class Dice(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.bn = nn.BatchNorm1d(width)
            self.alpha = torch.zeros(width)  # bug
            self.alpha = nn.Parameter(torch.zeros(width))  # fix

        def forward(self, x):
            gate = torch.sigmoid(self.bn(x))
            return self.alpha * (1 - gate) * x + gate * x  # here

    x, y = classes(torch)
    model = nn.Sequential(nn.Linear(4, 16), Dice(16), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def filters_in_a_list_of_parameters(torch):
    """not-held: the filters of all octaves are Parameters in a Python list.
    https://github.com/kymatio/murenn/issues/42"""
    nn = torch.nn

    class Direct(nn.Module):
        def __init__(self):
            super().__init__()
            self.psis = [nn.Parameter(torch.randn(2, 1, 3)) for _ in range(3)]  # bug
            self.psis = nn.ParameterList([torch.randn(2, 1, 3) for _ in range(3)])  # fix
            self.head = nn.Linear(6, 3)

        def forward(self, x):
            bands = [
                nn.functional.conv1d(x, psi, padding=1).square().mean(2) for psi in self.psis
            ]  # here
            return self.head(torch.cat(bands, 1))

    x, y = images(torch)
    model = Direct()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x.flatten(2)), y).backward()  # here
        optimizer.step()  # here


def layer_that_is_made_at_the_first_forward(torch):
    """not-held: the projection of the ligands is made when the first batch tells its width.
    https://github.com/prism-science/WaterFlow/pull/78"""
    nn = torch.nn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.ligand_embed = nn.Linear(4, 8), None
            self.ligand_embed = nn.Linear(4, 8, bias=False)  # fix
            self.out = nn.Linear(8, 1)

        def forward(self, x):
            h = torch.tanh(self.embed(x))
            if self.ligand_embed is None:
                self.ligand_embed = nn.Linear(x.shape[1], h.shape[1], bias=False)  # here
            return self.out(h + self.ligand_embed(x))  # here

    x, y = regression(torch)
    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)  # here
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()  # here
        optimizer.step()  # here


def every_layer_of_the_block_gets_its_input(torch):
    """layer-unused: out = layer(x) in the loop: only the last layer of each block counts.
    https://github.com/cyclomon/UNSB/issues/29"""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])

        def forward(self, x):
            out = x
            for layer in self.layers:
                out = torch.tanh(layer(x))  # bug
                out = torch.tanh(layer(out))  # fix
            return x + out  # here

    x, y = regression(torch)
    model = nn.Sequential(nn.Linear(4, 8), Block(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()  # here
        optimizer.step()  # here


def dropout_declared_and_not_called(torch):
    """layer-unused: the dropout is made in __init__ and does not stand in forward.
    https://github.com/univieCUBE/deepnog/issues/44"""
    nn = torch.nn

    class DeepNog(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.classification = nn.Linear(4, 16), nn.Linear(16, 3)
            self.dropout = nn.Dropout(0.3)  # here

        def forward(self, x):
            x = torch.relu(self.first(x))  # here
            x = self.dropout(x)  # fix
            return self.classification(x)  # here

    x, y = classes(torch)
    model = DeepNog()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
