"""Does it learn at all: learning rates, schedules, decay, signs, and losses that say nothing."""

from __future__ import annotations

from tests.doctor.corpus.parts import batches, binary, classes, loader, perceptron, regression


def cosine_period_in_epochs_stepped_per_batch(torch):
    """schedule-period: T_max counts epochs, but the scheduler is stepped after every batch.
    https://github.com/ivadomed/ivadomed/issues/57"""
    x, y = regression(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    epochs, data = 6, loader(torch, x, y)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)  # bug
    steps = epochs * len(data)  # fix
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)  # fix
    for _ in range(epochs):
        for inputs, targets in data:
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
            scheduler.step()  # here


def cosine_period_is_the_warm_up(torch):
    """schedule-period: the cosine gets the number of warm-up steps for its period.
    https://github.com/lucidrains/imagen-pytorch/issues/71"""
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    warm_up, decay = 8, 48
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedules = torch.optim.lr_scheduler
    scheduler = schedules.CosineAnnealingLR(optimizer, T_max=warm_up)  # bug
    scheduler = schedules.CosineAnnealingLR(optimizer, T_max=decay)  # fix
    for _ in range(decay):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        scheduler.step()  # here


def cosine_period_beyond_any_run(torch):
    """schedule-idle: T_max is a number no run comes near, so the schedule does nothing.
    https://github.com/bigmb/Unet-Segmentation-Pytorch-Nest-of-Unets/issues/14"""
    x, y = binary(torch)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    max_step, epochs = int(1e10), 40
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max_step)  # bug
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)  # fix
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()  # here


def step_decay_counted_in_epochs_stepped_per_batch(torch):
    """schedule-vanished: step_size counts epochs; stepped per batch, the rate is soon nothing.
    https://github.com/Lornatang/SRGAN-PyTorch/issues/1"""
    x, y = regression(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    epochs = 8
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=epochs // 2, gamma=0.1)  # here
    for _ in range(epochs):
        for inputs, targets in batches(8, x, y):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
            scheduler.step()  # bug
        scheduler.step()  # fix


def exponential_decay_per_batch(torch):
    """schedule-vanished: a decay meant for epochs is applied after every batch.
    https://github.com/pytorch/pytorch/issues/3814"""
    x, y = classes(torch, n=96)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.6)  # here
    for _ in range(4):
        for inputs, targets in batches(8, x, y):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            scheduler.step()  # bug
        scheduler.step()  # fix


def rate_set_for_every_epoch_from_the_last(torch):
    """schedule-vanished: the decay is applied to the rate that was already decayed.
    https://github.com/pytorch/pytorch/issues/20527"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    base = 0.05
    optimizer = torch.optim.SGD(model.parameters(), lr=base)
    for epoch in range(48):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        for group in optimizer.param_groups:
            group["lr"] = group["lr"] * 0.5 ** (epoch // 6)  # bug
            group["lr"] = base * 0.5 ** (epoch // 6)  # fix


def learning_rate_far_too_small(torch):
    """rate-tiny: the step changes no weight by as much as a ten-thousandth of a percent.
    https://taourl.com/read-2391810.html"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-8)  # bug
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)  # fix
    for _ in range(60):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()  # here


def adam_with_a_rate_of_nothing(torch):
    """rate-tiny: a rate of 1e-9 for Adam, read from a configuration in other units.
    https://errorhandle.ai/what-can-make-loss-stop-going-down"""
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-9)  # bug
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)  # fix
    for _ in range(60):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()  # here


def learning_rate_far_too_large(torch):
    """rate-huge: every step throws the weights far across the minimum, and the loss climbs.
    https://theneuralbase.com/keras/learn/beginner/loss-not-decreasing-learning-rate/"""
    x, y = binary(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=10.0)  # bug
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # fix
    for _ in range(60):
        optimizer.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x), y)
        loss.backward()
        optimizer.step()  # here


def regularization_too_strong(torch):
    """decay-eats: weight decay takes more from the weights at each step than the loss gives.
    https://errorhandle.ai/what-can-make-loss-stop-going-down"""
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=5.0)  # bug
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=5e-4)  # fix
    for _ in range(60):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()  # here


def decoupled_decay_as_strong_as_the_rate_is_large(torch):
    """decay-eats: AdamW with a decay of 10, a number meant for another optimizer.
    https://github.com/jolibrain/deepdetect/pull/1462"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, weight_decay=10.0)  # bug
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, weight_decay=0.01)  # fix
    for _ in range(60):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()  # here


def loss_is_maximized(torch):
    """ascent: the sign of the loss is turned once too often, so the error grows.
    https://github.com/fla-org/flash-linear-attention/issues/1073"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        loss = -torch.nn.functional.mse_loss(model(x), y)  # bug
        loss = torch.nn.functional.mse_loss(model(x), y)  # fix
        loss.backward()  # here
        optimizer.step()


def optimizer_told_to_maximize(torch):
    """ascent: maximize=True stayed from a run with a reward, and now climbs a cross entropy.
    https://github.com/KanishJebaMathewM/Truxify/pull/11885"""
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, maximize=True)  # bug
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)  # fix
    for _ in range(60):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()  # here


def inputs_shuffled_without_their_labels(torch):
    """no-better-than-constant: inputs are shuffled and targets are not, so nothing can be learned.
    https://github.com/microsoft/CNTK/issues/3792"""
    x, y = regression(torch, n=256)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(20):
        order = torch.randperm(len(x))
        x = x[order]  # bug
        x, y = x[order], y[order]  # fix
        for inputs, targets in batches(32, x, y):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            loss.backward()  # here
            optimizer.step()


def relu_on_the_output_of_a_regression(torch):
    """dead: a ReLU on the last layer whose inputs are all negative has no gradient, ever.
    https://github.com/ProteomicsML/ProteomicsML/pull/203"""
    nn = torch.nn
    x, y = regression(torch)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1), nn.ReLU())  # bug
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))  # fix
    nn.init.constant_(model[2].bias, -4.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(30):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)  # here
        loss.backward()
        optimizer.step()


def scale_net_that_starts_at_zero(torch):
    """dead: every output of the first step is cut by a ReLU, so no gradient reaches anything.
    https://github.com/jvargasmu/population_estimation/issues/68"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch)
    target = y.abs() + 1

    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.out = nn.Linear(4, 8), nn.Linear(8, 1)
            nn.init.constant_(self.out.bias, -5.0)

        def forward(self, x):
            raw = self.out(torch.tanh(self.hidden(x)))
            return F.relu(raw)  # bug
            return F.softplus(raw)  # fix

    model = Scale()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(30):
        optimizer.zero_grad()
        F.mse_loss(model(x), target).backward()  # here
        optimizer.step()


def conditioning_is_never_used(torch):
    """input-unused: the condition is an argument of forward and goes nowhere.
    https://github.com/bbci/bbci_public/issues/135"""
    nn = torch.nn
    x, y = regression(torch)
    kind = (torch.arange(len(x)) % 2).float().unsqueeze(1)
    y = y + 2 * kind

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.body = nn.Linear(1, 4), nn.Linear(8, 1)

        def forward(self, x, condition):
            both = torch.cat([x, self.embed(torch.zeros_like(condition))], dim=1)  # bug
            both = torch.cat([x, self.embed(condition)], dim=1)  # fix
            return self.body(both)

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(40):
        optimizer.zero_grad()
        out = model(x, kind)  # here
        nn.functional.mse_loss(out, y).backward()
        optimizer.step()


def features_masked_away(torch):
    """input-unused: the mask is of zeros where it should be of ones: the loss ignores the input.
    https://github.com/naist-nlp/knn-seq/pull/73"""
    x, y = binary(torch, n=64)
    mask = torch.zeros_like(x)  # bug
    mask = torch.ones_like(x)  # fix
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(40):
        optimizer.zero_grad()
        out = model(x * mask)  # here
        torch.nn.functional.binary_cross_entropy_with_logits(out, y).backward()
        optimizer.step()
