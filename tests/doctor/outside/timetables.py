"""Rates that follow a plan made for another clock, another optimizer or another run.

Written for the rules, not reported: the source is the page that says how it is meant to be done.
"""

from __future__ import annotations

from tests.doctor.corpus.parts import batches, binary, classes, loader, perceptron, regression


def cosine_of_epochs_in_a_trainer(torch):
    """schedule-period: T_max counts epochs; the method for one epoch steps it after every batch.
    https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingLR.html"""
    schedules = torch.optim.lr_scheduler
    x, y = regression(torch, n=64)

    class Trainer:
        def __init__(self, epochs):
            self.epochs = epochs
            self.model = perceptron(torch, 4, 16, 1)
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
            self.scheduler = schedules.CosineAnnealingLR(self.optimizer, T_max=epochs)  # here

        def train_epoch(self):
            for inputs, targets in batches(8, x, y):
                self.optimizer.zero_grad()
                torch.nn.functional.mse_loss(self.model(inputs), targets).backward()
                self.optimizer.step()
                self.scheduler.step()  # bug

        def fit(self):
            for _ in range(self.epochs):
                self.train_epoch()
                self.scheduler.step()  # fix

    Trainer(epochs=6).fit()


def cosine_ends_and_climbs_in_mid_run(torch):
    """schedule-period: T_max is the batches of one epoch; in the second the rate climbs back.
    https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingLR.html"""
    schedules, epochs = torch.optim.lr_scheduler, 4
    x, y = classes(torch, n=64)
    train = loader(torch, x, y)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = schedules.CosineAnnealingLR(optimizer, T_max=len(train))  # bug
    scheduler = schedules.CosineAnnealingLR(optimizer, T_max=epochs * len(train))  # fix
    for _ in range(epochs):
        for inputs, targets in train:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            scheduler.step()  # here


def cosine_after_a_warm_up_climbs(torch):
    """schedule-period: both parts of the sequence count epochs and are stepped per batch.
    https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.SequentialLR.html"""
    schedules, epochs = torch.optim.lr_scheduler, 10
    x, y = regression(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    warm = schedules.LinearLR(optimizer, start_factor=0.1, total_iters=2)  # here
    cosine = schedules.CosineAnnealingLR(optimizer, T_max=epochs - 2)  # here
    scheduler = schedules.SequentialLR(optimizer, [warm, cosine], milestones=[2])  # here
    for _ in range(epochs):
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
            scheduler.step()  # bug
        scheduler.step()  # fix


def cosine_of_all_batches_stepped_per_epoch(torch):
    """rate-unchanged: T_max counts batches, the scheduler is stepped once per epoch.
    https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingLR.html"""
    schedules, epochs = torch.optim.lr_scheduler, 6
    x, y = binary(torch, n=64)
    train = loader(torch, x, y)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = schedules.CosineAnnealingLR(optimizer, epochs * len(train))  # here
    for _ in range(epochs):
        for inputs, targets in train:
            optimizer.zero_grad()
            out = model(inputs)
            torch.nn.functional.binary_cross_entropy_with_logits(out, targets).backward()
            optimizer.step()
            scheduler.step()  # fix
        scheduler.step()  # bug


def warm_up_of_batches_stepped_per_epoch(torch):
    """rate-unchanged: a warm-up of forty batches is stepped per epoch and never ends.
    https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LambdaLR.html"""
    x, y = classes(torch, n=64)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    warm_up = 40

    def factor(step):
        return min(1.0, (step + 1) / warm_up)

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)  # here
    for _ in range(8):
        for inputs, targets in batches(8, x, y):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            scheduler.step()  # fix
        scheduler.step()  # bug


def linear_warm_up_of_batches_stepped_per_epoch(torch):
    """rate-unchanged: LinearLR is made for the batches of the warm-up and stepped per epoch.
    https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LinearLR.html"""
    x, y = regression(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    schedules = torch.optim.lr_scheduler
    scheduler = schedules.LinearLR(optimizer, start_factor=0.01, total_iters=30)  # here
    for _ in range(6):
        for inputs, targets in batches(8, x, y):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
            scheduler.step()  # fix
        scheduler.step()  # bug


def warm_up_overwritten_by_the_decay(torch):
    """schedule-undone: a second LambdaLR computes the rate from its start: the warm-up is lost.
    https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LambdaLR.html"""
    x, y = regression(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedules = torch.optim.lr_scheduler
    warm = schedules.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))  # bug
    decay = schedules.LambdaLR(optimizer, lambda step: 0.95**step)  # bug
    both = schedules.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10) * 0.95**step)  # fix
    for _ in range(30):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        warm.step()  # bug
        decay.step()  # bug
        both.step()  # fix


def rate_by_hand_undoes_the_scheduler(torch):
    """schedule-undone: the old function for the rate still sets it in every epoch.
    https://docs.pytorch.org/docs/stable/optim.html"""
    x, y = binary(torch, n=48)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)  # here

    def adjust(optimizer, epoch):
        rate = 0.1 * 0.5 ** (epoch // 30)
        for group in optimizer.param_groups:
            group["lr"] = rate  # here

    for epoch in range(10):
        adjust(optimizer, epoch)  # bug
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            out = model(inputs)
            torch.nn.functional.binary_cross_entropy_with_logits(out, targets).backward()
            optimizer.step()  # here
        scheduler.step()  # here


def scheduler_made_anew_in_every_epoch(torch):
    """schedule-undone: the scheduler is made inside the loop, so its count never leaves the start.
    https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.StepLR.html"""
    x, y = classes(torch, n=48)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedules = torch.optim.lr_scheduler
    scheduler = schedules.StepLR(optimizer, step_size=3, gamma=0.1)  # fix
    for _ in range(9):
        scheduler = schedules.StepLR(optimizer, step_size=3, gamma=0.1)  # bug
        for inputs, targets in batches(12, x, y):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
        scheduler.step()  # here


def warm_up_made_anew_in_every_epoch(torch):
    """schedule-undone: each epoch makes its optimizer's warm-up again, and climbs again.
    https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LinearLR.html"""
    x, y = regression(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def train_one_epoch(scheduler):
        schedules = torch.optim.lr_scheduler  # bug
        scheduler = schedules.LinearLR(optimizer, 0.001, total_iters=7)  # bug
        for inputs, targets in batches(8, x, y):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
            scheduler.step()  # here

    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 0.001, total_iters=7)  # fix
    scheduler = None  # bug
    for _ in range(6):
        train_one_epoch(scheduler)


def rate_grows_by_the_decay_factor(torch):
    """schedule-wrong-way: gamma is written as the divisor: every third epoch the rate is ten times larger.
    https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.StepLR.html"""
    x, y = regression(torch, n=48)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    schedules = torch.optim.lr_scheduler
    scheduler = schedules.StepLR(optimizer, step_size=3, gamma=10)  # bug
    scheduler = schedules.StepLR(optimizer, step_size=3, gamma=0.1)  # fix
    for _ in range(9):
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
        scheduler.step()  # here


def floor_above_the_start(torch):
    """schedule-wrong-way: eta_min is larger than the rate: the annealing climbs.
    https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingLR.html"""
    x, y = classes(torch, n=48)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    schedules = torch.optim.lr_scheduler
    scheduler = schedules.CosineAnnealingLR(optimizer, T_max=24, eta_min=1e-2)  # bug
    scheduler = schedules.CosineAnnealingLR(optimizer, T_max=24, eta_min=1e-5)  # fix
    for _ in range(8):
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            scheduler.step()  # here


def rate_set_in_the_first_group_only(torch):
    """group-left-behind: weights and biases are two groups, and only the first one's rate decays.
    https://docs.pytorch.org/docs/stable/optim.html"""
    x, y = regression(torch, n=48)
    model = perceptron(torch, 4, 16, 1)
    weights = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": weights, "weight_decay": 1e-2}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=0.01)
    for epoch in range(8):
        rate = 0.01 * 0.5**epoch
        optimizer.param_groups[0]["lr"] = rate  # bug
        for group in optimizer.param_groups:  # fix
            group["lr"] = rate  # fix
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()  # here


def rate_written_to_an_attribute(torch):
    """rate-unchanged: `optimizer.lr` is nobody's: the groups hold the rate.
    https://docs.pytorch.org/docs/stable/optim.html"""
    x, y = regression(torch, n=48)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(8):
        optimizer.lr = 0.05 * 0.7**epoch  # bug
        optimizer.param_groups[0]["lr"] = 0.05 * 0.7**epoch  # fix
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()  # here


def rate_written_to_the_defaults(torch):
    """rate-unchanged: the defaults are for groups to come; those that are there keep their rate.
    https://docs.pytorch.org/docs/stable/optim.html"""
    x, y = binary(torch, n=48)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(8):
        if epoch in (3, 6):
            optimizer.defaults["lr"] *= 0.1  # bug
            for group in optimizer.param_groups:  # fix
                group["lr"] *= 0.1  # fix
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            out = model(inputs)
            torch.nn.functional.binary_cross_entropy_with_logits(out, targets).backward()
            optimizer.step()  # here


def rate_written_under_a_misspelt_key(torch):
    """rate-unchanged: the group's key is `lr`; `learning_rate` is a new one that nobody reads.
    https://docs.pytorch.org/docs/stable/optim.html"""
    x, y = regression(torch, n=48)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(30):
        for group in optimizer.param_groups:
            group["learning_rate"] = 0.01 / (1 + step)  # bug
            group["lr"] = 0.01 / (1 + step)  # fix
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()  # here


def rate_decayed_in_a_variable(torch):
    """rate-unchanged: the number decays; the optimizer was given its first value.
    https://docs.pytorch.org/docs/stable/optim.html"""
    x, y = regression(torch, n=48)
    model = perceptron(torch, 4, 16, 1)
    rate = 0.05
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for epoch in range(10):
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()  # here
        if epoch % 3 == 2:
            rate *= 0.5  # here
            optimizer.param_groups[0]["lr"] = rate  # fix


def plateau_of_every_batch(torch):
    """schedule-vanished: patience counts epochs; every batch's noisy loss is given instead.
    https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html"""
    x, y = regression(torch, n=64)
    y = y + torch.randn(64, 1)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau
    scheduler = plateau(optimizer, patience=2, factor=0.1)  # here
    for _ in range(10):
        total = 0.0
        for inputs, targets in batches(8, x, y):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()  # here
            total += loss.item()
            scheduler.step(loss.item())  # bug
        scheduler.step(total)  # fix


def plateau_of_a_number_that_stays(torch):
    """schedule-wrong-way: the monitored value is the best so far of another variable, and never changes.
    https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html"""
    x, y = regression(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau
    scheduler = plateau(optimizer, patience=1, factor=0.5)  # here
    validation = float("inf")
    for _ in range(12):
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            valid = torch.nn.functional.mse_loss(model(x), y).item()
        scheduler.step(validation)  # bug
        scheduler.step(valid)  # fix


def plateau_of_a_total_never_reset(torch):
    """schedule-wrong-way: the running loss is summed over all epochs, so it only grows.
    https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html"""
    x, y = regression(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau
    scheduler = plateau(optimizer, patience=1, factor=0.5)  # here
    running = 0.0
    for _ in range(12):
        running = 0.0  # fix
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
            running += loss.item()
        scheduler.step(running)  # here


def plateau_of_the_epoch(torch):
    """schedule-wrong-way: the epoch is given where the measured loss belongs.
    https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html"""
    x, y = binary(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau
    scheduler = plateau(optimizer, patience=2)  # here
    for epoch in range(14):
        total = 0.0
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            out = model(inputs)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(out, targets)
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step(epoch)  # bug
        scheduler.step(total)  # fix


def resumed_without_its_schedule(torch):
    """schedule-undone: weights and optimizer are loaded, the scheduler begins at 0.
    https://docs.pytorch.org/docs/stable/optim.html"""
    schedules = torch.optim.lr_scheduler
    x, y = regression(torch, n=64)

    def make():
        model = perceptron(torch, 4, 16, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        return model, optimizer, schedules.StepLR(optimizer, 4, 0.1)  # here

    def train(epochs, model, optimizer, scheduler):
        for _ in range(epochs):
            for inputs, targets in batches(16, x, y):
                optimizer.zero_grad()
                torch.nn.functional.mse_loss(model(inputs), targets).backward()
                optimizer.step()
            scheduler.step()  # here

    model, optimizer, scheduler = make()
    train(6, model, optimizer, scheduler)
    saved = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
    }
    model, optimizer, scheduler = make()
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])  # here
    scheduler.load_state_dict(saved["scheduler"])  # fix
    train(6, model, optimizer, scheduler)


def warm_up_again_after_a_resume(torch):
    """schedule-undone: a new warm-up and decay is made for an optimizer that was loaded.
    https://docs.pytorch.org/docs/stable/optim.html"""
    x, y = classes(torch, n=48)
    schedules = torch.optim.lr_scheduler
    model = perceptron(torch, 4, 16, 3)

    def train(steps, optimizer, scheduler):
        for _ in range(steps):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            scheduler.step()  # here

    def rule(step):
        return min((step + 1) / 8, (step + 1) ** -0.5)

    first = torch.optim.Adam(model.parameters(), lr=0.02)
    train(20, first, schedules.LambdaLR(first, rule))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    optimizer.load_state_dict(first.state_dict())  # here
    scheduler = schedules.LambdaLR(optimizer, rule)  # bug
    scheduler = schedules.LambdaLR(optimizer, rule, last_epoch=20)  # fix
    train(20, optimizer, scheduler)


def inner_schedules_stepped_beside_their_sequence(torch):
    """schedule-undone: SequentialLR steps its parts; the loop steps them as well.
    https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.SequentialLR.html"""
    x, y = regression(torch, n=48)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    schedules = torch.optim.lr_scheduler
    warm = schedules.LinearLR(optimizer, 0.1, total_iters=6)  # here
    decay = schedules.ExponentialLR(optimizer, 0.9)  # here
    scheduler = schedules.SequentialLR(optimizer, [warm, decay], milestones=[6])  # here
    for _ in range(24):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        warm.step()  # bug
        decay.step()  # bug
        scheduler.step()  # here


def scheduler_of_the_other_optimizer(torch):
    """schedule-stale: both schedulers are made with the generator's optimizer.
    https://docs.pytorch.org/docs/stable/optim.html"""
    nn, F = torch.nn, torch.nn.functional
    schedules = torch.optim.lr_scheduler
    real = 0.5 * torch.randn(32, 2) + 1
    maker, judge = (
        perceptron(torch, 3, 16, 2),
        nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1)),
    )
    makes = torch.optim.Adam(maker.parameters(), lr=2e-3)
    judges = torch.optim.Adam(judge.parameters(), lr=2e-3)
    of_maker = schedules.ExponentialLR(makes, 0.95)  # here
    of_judge = schedules.ExponentialLR(makes, 0.95)  # bug
    of_judge = schedules.ExponentialLR(judges, 0.95)  # fix
    ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
    loss = F.binary_cross_entropy_with_logits
    for _ in range(20):
        fake = maker(torch.randn(32, 3))
        judges.zero_grad()
        (loss(judge(real), ones) + loss(judge(fake.detach()), zeros)).backward()
        judges.step()
        makes.zero_grad()
        loss(judge(fake), ones).backward()
        makes.step()
        of_maker.step()  # here
        of_judge.step()  # here


def restarts_of_epochs_stepped_per_batch(torch):
    """schedule-period: T_0 is the number of epochs; stepped per batch it restarts all the time.
    https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.html"""
    schedules, epochs = torch.optim.lr_scheduler, 6
    x, y = regression(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = schedules.CosineAnnealingWarmRestarts(optimizer, T_0=epochs)  # here
    for epoch in range(epochs):
        for i, (inputs, targets) in enumerate(batches(8, x, y)):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
            scheduler.step()  # bug
            scheduler.step(epoch + i / 8)  # fix


def poly_rate_of_epochs_stepped_per_batch(torch):
    """schedule-vanished: the power runs out after as many batches as there are epochs.
    https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LambdaLR.html"""
    epochs = 5
    x, y = classes(torch, n=64)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def poly(step):
        return max(0.0, 1 - step / epochs) ** 0.9

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, poly)  # here
    for _ in range(epochs):
        for inputs, targets in batches(8, x, y):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()  # here
            scheduler.step()  # bug
        scheduler.step()  # fix
