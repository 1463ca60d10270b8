"""Learning rates that end, restart, or move without a reason."""

from __future__ import annotations

from tests.doctor.corpus.parts import batches, binary, classes, loader, perceptron, regression


def schedule_switched_off_by_a_factor_of_zero(torch):
    """schedule-vanished: without a schedule gamma is 0, not 1, and the rate ends at the first step.
    https://github.com/LINCellularNeuroscience/VAME/issues/26"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedules, scheduled = torch.optim.lr_scheduler, False
    gamma = 0.2 if scheduled else 0.0  # bug
    gamma = 0.2 if scheduled else 1.0  # fix
    scheduler = schedules.StepLR(optimizer, step_size=10, gamma=gamma)  # here
    for _ in range(60):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()  # here
        scheduler.step()  # here


def layer_decay_applied_at_every_step(torch):
    """schedule-vanished: the decay by layers multiplies the rates at every step, not once.
    https://github.com/jaehyunnn/ViTPose_pytorch/issues/20"""
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 16, 3)
    layers = [model[0], model[2], model[4]]
    groups = [{"params": list(m.parameters()), "lr": 0.01} for m in layers]
    optimizer = torch.optim.AdamW(groups)

    def decayed():
        for depth, group in enumerate(reversed(optimizer.param_groups)):
            group["lr"] = group["lr"] * 0.75**depth  # here

    decayed()  # fix
    for _ in range(60):
        decayed()  # bug
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()  # here


def warm_up_starts_again_in_each_epoch(torch):
    """schedule-period: the warm-up counts the step inside the epoch, so each epoch starts from nothing.
    https://github.com/Vision-CAIR/MiniGPT-4/pull/263"""
    x, y = regression(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(6):
        for i, (inputs, targets) in enumerate(batches(8, x, y)):
            step = i  # bug
            step = epoch * 8 + i  # fix
            for group in optimizer.param_groups:
                group["lr"] = 0.05 * min(1.0, (step + 1) / 16)  # here
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()  # here


def cocktail_scheduled_per_batch(torch):
    """schedule-period: a cosine over the epochs is stepped by the batches and comes back up.
    https://github.com/automl/Auto-PyTorch/pull/210"""
    x, y = classes(torch, n=64)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    epochs = 5
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)  # here
    data = loader(torch, x, y)

    def train_epoch():
        for inputs, targets in data:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            scheduler.step()  # bug

    for _ in range(epochs):
        train_epoch()
        scheduler.step()  # fix


def milestones_in_epochs_stepped_per_update(torch):
    """schedule-vanished: milestones count epochs; the trainer steps the scheduler at every update.
    https://github.com/nodefluxio/vortex/issues/58"""
    x, y = binary(torch, n=64)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedules = torch.optim.lr_scheduler
    scheduler = schedules.MultiStepLR(optimizer, milestones=[2, 4, 6, 8, 10], gamma=0.1)  # here
    for _ in range(6):
        for inputs, targets in batches(8, x, y):
            optimizer.zero_grad()
            out = model(inputs)
            torch.nn.functional.binary_cross_entropy_with_logits(out, targets).backward()
            optimizer.step()  # here
            scheduler.step()  # bug
        if x is None:
            scheduler.step()  # here
        scheduler.step()  # fix


def scheduler_does_all_the_stepping(torch):
    """never-stepped: the wrapper steps its schedule and never the optimizer inside it.
    https://github.com/pyro-ppl/pyro/pull/1241"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)

    class Scheduled:
        def __init__(self, parameters):
            self.inner = torch.optim.Adam(parameters, lr=0.01)
            self.schedule = torch.optim.lr_scheduler.ExponentialLR(self.inner, 0.99)

        def clear(self):
            self.inner.zero_grad()

        def advance(self):
            self.inner.step()  # fix
            self.schedule.step()  # here

    optimizer = Scheduled(model.parameters())
    for _ in range(20):
        optimizer.clear()
        torch.nn.functional.mse_loss(model(x), y).backward()  # here
        optimizer.advance()  # here


def plateau_of_an_accuracy_in_min_mode(torch):
    """schedule-wrong-way: the accuracy grows, and the schedule takes each better one for a plateau.
    https://github.com/md-mohaiminul/ViS4mer/issues/4"""
    x, y = classes(torch, n=60)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau
    scheduler = plateau(optimizer, factor=0.2, patience=0)  # bug
    scheduler = plateau(optimizer, mode="max", factor=0.2, patience=3)  # fix
    for _ in range(12):
        for inputs, targets in batches(20, x, y):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
        with torch.no_grad():
            accuracy = (model(x).argmax(1) == y).float().mean().item()
        scheduler.step(accuracy)  # here


def plateau_of_a_loss_in_max_mode(torch):
    """schedule-wrong-way: the mode stayed at max when the monitored AUROC became a loss.
    https://github.com/FunctionLab/selene/issues/115"""
    x, y = regression(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau
    scheduler = plateau(optimizer, mode="max", patience=1, factor=0.5)  # bug
    scheduler = plateau(optimizer, mode="min", patience=1, factor=0.5)  # fix
    for _ in range(12):
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
        with torch.no_grad():
            held = torch.nn.functional.mse_loss(model(x), y).item()
        scheduler.step(held)  # here


def rate_set_in_a_copy_of_the_groups(torch):
    """rate-unchanged: the new rate is written into state_dict()'s groups, which are copies.
    https://github.com/pytorch/examples/issues/64"""
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def adjust(epoch):
        groups = optimizer.state_dict()["param_groups"]  # bug
        groups = optimizer.param_groups  # fix
        for group in groups:
            group["lr"] = 0.1 * 0.5 ** (epoch // 4)  # here

    for epoch in range(16):
        adjust(epoch)  # here
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def wrapper_that_sets_the_rate_is_bypassed(torch):
    """rate-zero: the wrapper's step sets the rate; the inner optimizer is stepped, whose rate is 0.
    https://github.com/gentaiscool/end2end-asr-pytorch/issues/4"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)

    class Noam:
        def __init__(self, inner):
            self.optimizer, self.count = inner, 0

        def step(self):
            self.count += 1
            for group in self.optimizer.param_groups:
                group["lr"] = 0.05 * min(self.count**-0.5, self.count / 8)
            self.optimizer.step()

    opt = Noam(torch.optim.Adam(model.parameters(), lr=0.0))  # here
    for _ in range(20):
        opt.optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        opt.optimizer.step()  # bug
        opt.step()  # fix


def optimizer_made_anew_to_lower_the_rate(torch):
    """state-lost: each epoch makes another Adam for its rate, and throws the moments away.
    https://github.com/skorch-dev/skorch/issues/349"""
    x, y = regression(torch, n=48)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(10):
        rate = 0.02 * 0.9**epoch
        optimizer = torch.optim.Adam(model.parameters(), lr=rate)  # bug
        optimizer.param_groups[0]["lr"] = rate  # fix
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()  # here
