"""Rates that change at other moments than their numbers were written for, or that nobody's step reads."""

from __future__ import annotations

import copy

from tests.doctor.corpus.parts import batches, binary, classes, loader, perceptron, regression


def rate_decayed_while_an_episode_lasts(torch):
    """schedule-vanished: the decay is due at one iteration, and applied for every frame of it.
    https://github.com/amoudgl/pygoturn/issues/16"""
    x, y = regression(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for iteration in range(1, 16):
        for inputs, targets in batches(8, x, y):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()  # here
            if iteration % 5 == 0:  # bug
                optimizer.param_groups[0]["lr"] *= 0.1  # bug
        if iteration % 5 == 0:  # fix
            optimizer.param_groups[0]["lr"] *= 0.5  # fix


def cosine_of_a_loader_stepped_per_epoch(torch):
    """rate-unchanged: T_max is the length of the loader, and the step comes once in an epoch.
    https://github.com/sthalles/SimCLR/issues/8"""
    F = torch.nn.functional
    x, y = classes(torch, n=96)
    model = perceptron(torch, 4, 16, 3)
    train_loader = loader(torch, x, y, batch_size=2)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3, weight_decay=1e-4)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR
    scheduler = cosine(optimizer, T_max=len(train_loader), eta_min=0, last_epoch=-1)  # bug
    scheduler = cosine(optimizer, T_max=4, eta_min=0, last_epoch=-1)  # fix
    for _ in range(4):
        for xis, labels in train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(xis), labels)
            loss.backward()
            optimizer.step()
        scheduler.step()  # here


def scheduler_stepped_while_gradients_gather(torch):
    """schedule-stale: the optimizer steps every fourth batch, its schedule at every batch.
    https://github.com/huggingface/accelerate/issues/963"""
    x, y = classes(torch, n=64)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    steps = 6 * 2

    def factor(step):
        return min(1.0, (step + 1) / 3) * max(0.0, 1 - step / steps)

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)  # here
    for _ in range(6):
        for i, (inputs, targets) in enumerate(batches(8, x, y)):
            loss = torch.nn.functional.cross_entropy(model(inputs), targets) / 4
            loss.backward()
            if (i + 1) % 4 == 0:
                optimizer.step()  # here
                optimizer.zero_grad()
                scheduler.step()  # fix
            scheduler.step()  # bug


def global_batch_of_several_schedule_steps(torch):
    """schedule-stale: the trainer steps its schedule in the loop over the parts of a batch.
    https://github.com/nvidia-cosmos/cosmos-rl/pull/207"""
    x, y = binary(torch, n=96)

    class Trainer:
        def __init__(self):
            self.model = perceptron(torch, 4, 8, 1)
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
            schedules = torch.optim.lr_scheduler
            self.schedule = schedules.LinearLR(self.optimizer, 1.0, 0.1, total_iters=12)  # here

        def train_batch(self, inputs, targets):
            self.optimizer.zero_grad()
            for part, wanted in batches(4, inputs, targets):
                out = self.model(part)
                loss = torch.nn.functional.binary_cross_entropy_with_logits(out, wanted)
                (loss / 4).backward()
                self.schedule.step()  # bug
            self.optimizer.step()  # here
            self.schedule.step()  # fix

    trainer = Trainer()
    for _ in range(2):
        for inputs, targets in batches(16, x, y):
            trainer.train_batch(inputs, targets)


def warming_up_for_ever(torch):
    """schedule-never-stepped: a rate below one is taken for a warm-up that goes on, so no decay begins.
    https://github.com/facebookresearch/ParlAI/pull/4384"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedules = torch.optim.lr_scheduler
    warm_up = schedules.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 5))  # here
    decay = schedules.StepLR(optimizer, step_size=5, gamma=0.8)  # here
    for step in range(40):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        warming = warm_up.get_last_lr()[0] < 1.0  # bug
        warming = step < 5  # fix
        if warming:
            warm_up.step()  # here
        else:
            decay.step()  # here


def scheduler_counts_on_from_a_rate_already_reset(torch):
    """schedule-undone: the new scheduler sets the first rate; last_epoch is written behind its back.
    https://github.com/ultralytics/yolov5/issues/292"""
    F, schedules = torch.nn.functional, torch.optim.lr_scheduler
    x, y = classes(torch, n=32)

    def start():
        model = perceptron(torch, 4, 16, 3)
        return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def train(model, optimizer, scheduler, epochs):
        for _ in epochs:
            for inputs, targets in batches(8, x, y):
                optimizer.zero_grad()
                F.cross_entropy(model(inputs), targets).backward()
                optimizer.step()  # here
            scheduler.step()  # here

    def lf(epoch):
        return 1 - 0.9 * min(1.0, epoch / 8)

    model, optimizer = start()
    scheduler = schedules.LambdaLR(optimizer, lf)
    train(model, optimizer, scheduler, range(5))
    ckpt = copy.deepcopy([model.state_dict(), optimizer.state_dict(), scheduler.state_dict()])
    model, optimizer = start()
    model.load_state_dict(ckpt[0])
    optimizer.load_state_dict(ckpt[1])  # here
    scheduler = schedules.LambdaLR(optimizer, lf)  # bug
    scheduler.last_epoch = 5 - 1  # bug
    scheduler = schedules.LambdaLR(optimizer, lf, last_epoch=4)  # fix
    train(model, optimizer, scheduler, range(5, 8))


def checkpoint_without_its_scheduler(torch):
    """schedule-undone: the checkpoint holds weights and moments, and warm-up and cosine begin again.
    https://github.com/PolymathicAI/the_well/pull/63"""
    x, y = regression(torch, n=32)
    schedules = torch.optim.lr_scheduler

    class Trainer:
        def __init__(self):
            self.model = perceptron(torch, 4, 16, 1)
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.01)
            warm_up = schedules.LinearLR(self.optimizer, 0.1, 1.0, total_iters=3)  # here
            cosine = schedules.CosineAnnealingLR(self.optimizer, 12)  # here
            self.lr_scheduler = schedules.SequentialLR(  # here
                self.optimizer, [warm_up, cosine], milestones=[3]
            )

        def save_model(self):
            kept = {"model": self.model, "optimizer_state_dict": self.optimizer}
            kept["lr_scheduler"] = self.lr_scheduler  # fix
            return {k: copy.deepcopy(v.state_dict()) for k, v in kept.items()}

        def load_checkpoint(self, checkpoint):
            self.model.load_state_dict(checkpoint["model"])
            self.optimizer.load_state_dict(checkpoint["optimizer_state_dict"])  # here
            self.lr_scheduler.load_state_dict(checkpoint["lr_scheduler"])  # fix

        def train(self, epochs):
            for _ in range(epochs):
                for inputs, targets in batches(16, x, y):
                    self.optimizer.zero_grad()
                    torch.nn.functional.mse_loss(self.model(inputs), targets).backward()
                    self.optimizer.step()  # here
                self.lr_scheduler.step()  # here

    first = Trainer()
    first.train(8)
    second = Trainer()
    second.load_checkpoint(first.save_model())
    second.train(6)


def annealing_wrapped_around_its_length(torch):
    """schedule-period: the count goes round with a modulo, and the rate jumps back to its start.
    https://github.com/tracel-ai/burn/pull/5191"""
    math = __import__("math")
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    class Annealing:
        def __init__(self, iterations):
            self.iterations, self.current = iterations, 0

        def step(self):
            self.current = (self.current + 1) % (self.iterations + 1)  # bug
            self.current = min(self.current + 1, self.iterations)  # fix
            factor = 0.5 * (1 + math.cos(math.pi * self.current / self.iterations))
            optimizer.param_groups[0]["lr"] = 0.001 + 0.099 * factor  # here

    annealing = Annealing(12)
    for _ in range(30):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()  # here
        annealing.step()  # here


def scheduled_optimizer_not_handed_to_the_trainer(torch):
    """schedule-stale: a schedule is made for one optimizer; the trainer makes itself another.
    https://github.com/hiyouga/LlamaFactory/pull/5163"""
    x, y = regression(torch)

    class Trainer:
        def __init__(self, model, optimizers=(None, None)):
            self.model = model
            self.optimizer, self.schedule = optimizers
            if self.optimizer is None:
                self.optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)  # here

        def train(self, then):
            for _ in range(24):
                self.optimizer.zero_grad()
                torch.nn.functional.mse_loss(self.model(x), y).backward()
                self.optimizer.step()  # here
                then()  # here

    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)  # here
    schedules = torch.optim.lr_scheduler
    scheduler = schedules.CosineAnnealingLR(optimizer, 24)  # here
    trainer = Trainer(model)  # bug
    trainer = Trainer(model, (optimizer, scheduler))  # fix
    trainer.train(scheduler.step)  # here


def schedule_multiplied_by_the_accumulation(torch):
    """rate-unchanged: the schedule's length is in batches, its steps are those of the optimizer.
    https://github.com/huggingface/diffusers/issues/4387"""
    x, y = classes(torch, n=64)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    accumulation, epochs = 4, 6
    max_train_steps = epochs * 8 // accumulation
    total = max_train_steps * accumulation * accumulation  # bug
    total = max_train_steps  # fix
    schedules = torch.optim.lr_scheduler
    lr_scheduler = schedules.LambdaLR(optimizer, lambda s: max(0.0, 1 - s / total))  # here
    for _ in range(epochs):
        for i, (inputs, targets) in enumerate(batches(8, x, y)):
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
            (loss / accumulation).backward()
            if (i + 1) % accumulation == 0:
                optimizer.step()  # here
                lr_scheduler.step()  # here
                optimizer.zero_grad()


def new_layers_in_the_group_of_the_frozen(torch):
    """rate-zero: the backbone's group has rate 0, and its new untrained layers are in it.
    https://github.com/hustvl/WeakCLIP/issues/2"""
    nn = torch.nn
    x, y = classes(torch)

    class Backbone(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.fpn = nn.Linear(4, 8), nn.Linear(8, 8)

        def forward(self, x):
            with torch.no_grad():
                h = torch.tanh(self.body(x))
            return torch.tanh(self.fpn(h))

    backbone, head = Backbone(), nn.Linear(8, 3)
    backbone.body.requires_grad_(False)
    rest = [*head.parameters()]
    fpn_rate = 0.0  # bug
    fpn_rate = 0.01  # fix
    optimizer = torch.optim.AdamW(  # here
        [{"params": backbone.fpn.parameters(), "lr": fpn_rate}, {"params": rest}], lr=0.01
    )
    for _ in range(25):
        optimizer.zero_grad()
        nn.functional.cross_entropy(head(backbone(x)), y).backward()
        optimizer.step()  # here
