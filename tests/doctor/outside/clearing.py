"""Gradients that are left over, thrown away, summed up or clipped in vain."""

from __future__ import annotations

from tests.doctor.corpus.parts import batches, binary, classes, perceptron, regression


def nobody_clears(torch):
    """accumulated: the executor steps and never clears.
    https://github.com/wenet-e2e/wekws/pull/73"""
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for inputs, targets in batches(4, x, y):
        optimizer.zero_grad()  # fix
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()  # here
        optimizer.step()


def cleared_once_per_epoch(torch):
    """accumulated: zero_grad stands at the beginning of the epoch instead of the iteration.
    https://github.com/pytorch/pytorch/issues/47175"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for _ in range(4):
        optimizer.zero_grad()  # bug
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()  # fix
            torch.nn.functional.mse_loss(model(inputs), targets).backward()  # here
            optimizer.step()


def one_of_two_optimizers_is_not_cleared(torch):
    """accumulated: the discriminator's gradients are never cleared.
    https://github.com/Hsintien-Ng/idinvert_pytorch-reproduced/issues/1"""
    F = torch.nn.functional
    g, d = perceptron(torch, 3, 8, 2), perceptron(torch, 2, 8, 1)
    g_optimizer = torch.optim.Adam(g.parameters(), lr=0.01)
    d_optimizer = torch.optim.Adam(d.parameters(), lr=0.01)
    one, zero = torch.ones(16, 1), torch.zeros(16, 1)
    for _ in range(20):
        real, fake = torch.randn(16, 2) + 2, g(torch.randn(16, 3))
        d_optimizer.zero_grad()  # fix
        loss = F.binary_cross_entropy_with_logits(d(real), one)
        loss = loss + F.binary_cross_entropy_with_logits(d(fake.detach()), zero)
        loss.backward()  # here
        d_optimizer.step()
        g_optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(d(fake), one).backward()  # here
        g_optimizer.step()


def cleared_between_backward_and_step(torch):
    """cleared-early: what backward computed is thrown away before the step.
    https://github.com/yuval-alaluf/hyperstyle/issues/40"""
    x, y = binary(torch)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(20):
        optimizer.zero_grad()  # fix
        torch.nn.functional.binary_cross_entropy_with_logits(model(x), y).backward()
        optimizer.zero_grad()  # bug
        optimizer.step()  # here


def policy_gradients_stay_in_the_critic(torch):
    """accumulated: the actor's loss leaves gradients in the critic, which the critic's step uses.
    https://github.com/watchernyu/REDQ/pull/3"""
    F = torch.nn.functional
    state, reward = torch.randn(32, 4), torch.randn(32, 1)
    actor, critic = perceptron(torch, 4, 8, 1), perceptron(torch, 5, 8, 1)
    a_optimizer = torch.optim.Adam(actor.parameters(), lr=0.01)
    c_optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(20):
        a_optimizer.zero_grad()
        action = actor(state)
        (-critic(torch.cat([state, action], 1)).mean()).backward()  # here
        a_optimizer.step()
        c_optimizer.zero_grad()  # fix
        value = critic(torch.cat([state, action.detach()], 1))
        F.mse_loss(value, reward).backward()  # here
        c_optimizer.step()  # here
        c_optimizer.zero_grad()  # bug


def actor_loss_lands_between_backward_and_step(torch):
    """accumulated: the critic steps on its own gradients and those of the actor's loss.
    https://github.com/ray-project/ray/pull/65125"""
    F = torch.nn.functional
    state, reward = torch.randn(32, 4), torch.randn(32, 1)
    actor, critic = perceptron(torch, 4, 8, 1), perceptron(torch, 5, 8, 1)
    a_optimizer = torch.optim.Adam(actor.parameters(), lr=0.01)
    c_optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(20):
        a_optimizer.zero_grad()
        c_optimizer.zero_grad()
        taken = actor(state).detach()
        F.mse_loss(critic(torch.cat([state, taken], 1)), reward).backward()
        c_optimizer.step()  # fix
        actor_loss = -critic(torch.cat([state, actor(state)], 1)).mean()
        actor_loss.backward()  # here
        a_optimizer.step()
        c_optimizer.step()  # bug


def accumulated_loss_not_divided(torch):
    """not-divided: four backwards are summed into a step as if they were one.
    https://github.com/hirofumi0810/neural_sp/issues/168"""
    x, y = regression(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    every = 4
    for _ in range(5):
        for i, (inputs, targets) in enumerate(batches(4, x, y)):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            loss = loss / every  # fix
            loss.backward()  # here
            if (i + 1) % every == 0:
                optimizer.step()  # here
                optimizer.zero_grad()


def accumulated_remainder_never_stepped(torch):
    """not-divided: the sum of eight micro-batches is reported and followed eight times too large.
    https://github.com/agokrani/distillKitPlus/issues/5"""
    x, y = classes(torch, n=64)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for _ in range(12):
        optimizer.zero_grad()
        parts = list(batches(8, x, y))
        for inputs, targets in parts:
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()  # bug
            (loss / len(parts)).backward()  # fix
        optimizer.step()  # here


def clipped_after_the_step(torch):
    """clipped-in-vain: the norm is clipped when the step has already used the gradients.
    https://github.com/awslabs/graphstorm/issues/1366"""
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for inputs, targets in batches(4, x, y):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # fix
        optimizer.step()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # bug


def clipped_before_the_backward(torch):
    """clipped-in-vain: the gradients of the last step are clipped, those of this one are not.
    https://github.com/simchowitzlabpublic/nano-world-model/pull/22"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for _ in range(20):
        loss = torch.nn.functional.mse_loss(model(x), y)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # bug
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # fix
        optimizer.step()


def clipped_in_every_micro_batch(torch):
    """clipped-in-parts: the sum so far is clipped after each backward of an accumulation.
    https://github.com/huggingface/transformers/issues/1563"""
    x, y = regression(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(5):
        for i, (inputs, targets) in enumerate(batches(4, x, y)):
            (torch.nn.functional.mse_loss(model(inputs), targets) / 4).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # bug
            if i % 4 == 3:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # fix
                optimizer.step()
                optimizer.zero_grad()


def clipped_before_unscaling(torch):
    """clipped-scaled: the threshold is applied to gradients that are still scaled.
    https://github.com/milesial/Pytorch-UNet/issues/468"""
    x, y = binary(torch)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for _ in range(20):
        optimizer.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)  # fix
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # here
        scaler.step(optimizer)
        scaler.update()


def scheduler_stepped_in_place_of_the_optimizer(torch):
    """never-stepped: with a scheduler, only the scheduler is stepped.
    https://github.com/ClementPinard/SfmLearner-Pytorch/issues/5"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    for _ in range(20):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()  # here
        optimizer.step()  # fix
        scheduler.step()  # here
