"""Gradients on their way into a step: gathered, cleared, clipped, scaled, in the wrong place."""

from __future__ import annotations

from tests.doctor.corpus.parts import batches, binary, classes, perceptron, regression


def cleared_right_before_the_step(torch):
    """cleared-early: the last group of gradients is set to zero, and then the optimizer steps.
    https://github.com/lucidrains/byol-pytorch/issues/93"""
    F = torch.nn.functional
    x = torch.randn(32, 4)
    net, predictor = perceptron(torch, 4, 16, 8), torch.nn.Linear(8, 8)
    optimizer = torch.optim.Adam([*net.parameters(), *predictor.parameters()], lr=3e-3)
    for _ in range(20):
        one, two = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
        with torch.no_grad():
            aim = net(two)
        loss = 2 - 2 * F.cosine_similarity(predictor(net(one)), aim, dim=-1).mean()
        loss.backward()  # here
        optimizer.zero_grad()  # bug
        optimizer.step()  # here
        optimizer.zero_grad()  # fix


def semi_supervised_clipping_of_scaled_gradients(torch):
    """clipped-scaled: with mixed precision the norm is clipped before anything is unscaled.
    https://github.com/TorchSSL/TorchSSL/pull/59"""
    F = torch.nn.functional
    x, y = classes(torch, n=48)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for _ in range(6):
        for inputs, targets in batches(16, x, y):
            sup_loss = F.cross_entropy(model(inputs[:8]), targets[:8])
            guess = model(inputs[8:]).detach().argmax(1)
            unsup_loss = F.cross_entropy(model(inputs[8:] + 0.05), guess)
            scaler.scale(sup_loss + 0.1 * unsup_loss).backward()
            scaler.unscale_(optimizer)  # fix
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # here
            scaler.step(optimizer)
            scaler.update()
            model.zero_grad()


def trainer_rescales_scaled_gradients(torch):
    """clipped-scaled: the trainer's method that limits the norm does not know of the scaler.
    https://github.com/allenai/allennlp/pull/5426"""
    x, y = regression(torch, n=48)

    class Trainer:
        def __init__(self, grad_norm):
            self.model = perceptron(torch, 4, 16, 1)
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
            self.scaler, self.grad_norm = torch.amp.GradScaler("cpu"), grad_norm

        def clip_gradient(self):
            self.scaler.unscale_(self.optimizer)  # fix
            torch.nn.utils.clip_grad_value_(self.model.parameters(), self.grad_norm)  # here

        def train_epoch(self):
            for inputs, targets in batches(12, x, y):
                self.optimizer.zero_grad(set_to_none=True)
                loss = torch.nn.functional.mse_loss(self.model(inputs), targets)
                self.scaler.scale(loss).backward()
                self.clip_gradient()  # here
                self.scaler.step(self.optimizer)
                self.scaler.update()

    trainer = Trainer(0.5)
    for _ in range(6):
        trainer.train_epoch()


def means_over_unequal_numbers_of_tokens(torch):
    """not-divided: each micro-batch is the mean of its tokens, and their numbers differ.
    https://github.com/meta-pytorch/torchtune/pull/1875"""
    F = torch.nn.functional
    x, y = classes(torch, n=64)
    labels = torch.where(
        torch.arange(64) % 16 < torch.tensor([2, 4, 12, 14]).repeat_interleave(16), y, -100
    )
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(10):
        optimizer.zero_grad()
        counted = (labels != -100).sum()
        for inputs, wanted in batches(16, x, labels):
            loss = F.cross_entropy(model(inputs), wanted, ignore_index=-100) / 4  # bug
            loss = F.cross_entropy(model(inputs), wanted, reduction="sum") / counted  # fix
            loss.backward()  # here
        optimizer.step()  # here


def virtual_steps_cleared_one_by_one(torch):
    """cleared-early: zero_grad() comes before every batch, also where only a virtual step follows.
    https://github.com/meta-pytorch/opacus/issues/93"""
    x, y = classes(torch, n=64)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    virtual = 4
    for _ in range(8):
        for i, (inputs, targets) in enumerate(batches(8, x, y)):
            optimizer.zero_grad()  # bug
            loss = torch.nn.functional.cross_entropy(model(inputs), targets) / virtual
            loss.backward()  # here
            if (i + 1) % virtual == 0:
                optimizer.step()  # here
                optimizer.zero_grad()  # fix


def learner_without_a_clearing(torch):
    """accumulated: the learner's train_step() steps and never clears.
    https://github.com/meta-pytorch/torchforge/pull/71"""
    x = torch.randn(48, 4)
    policy = perceptron(torch, 4, 16, 3)
    advantages, actions = torch.randn(48), torch.arange(48) % 3

    class Learner:
        def __init__(self):
            self.optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3)

        def train_step(self, states, chosen, advantage):
            logprobs = torch.log_softmax(policy(states), -1)
            taken = logprobs.gather(1, chosen[:, None]).squeeze(1)
            loss = -(taken * advantage).mean()
            loss.backward()  # here
            self.optimizer.step()  # here
            self.optimizer.zero_grad()  # fix
            return loss.item()

    learner = Learner()
    for _ in range(5):
        for part in batches(12, x, actions, advantages):
            learner.train_step(*part)


def cleared_at_the_head_of_the_epoch(torch):
    """accumulated: zero_grad() stands before the loop over the batches, backward() in it.
    https://github.com/heartcored98/Standalone-DeepLearning/issues/11"""
    x, y = classes(torch, n=64)
    net = perceptron(torch, 4, 16, 3)
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(5):
        net.train()
        optimizer.zero_grad()  # bug
        for inputs, labels in batches(16, x, y):
            optimizer.zero_grad()  # fix
            outputs = net(inputs)
            loss = criterion(outputs, labels)
            loss.backward()  # here
            optimizer.step()  # here


def backward_before_the_loop_that_clears_later(torch):
    """stray: a check before training leaves its gradients, and the first step uses them twice.
    https://github.com/karpathy/llm.c/pull/548"""
    F = torch.nn.functional
    x, y = classes(torch)
    model = perceptron(torch, 4, 16, 3)
    F.cross_entropy(model(x), y).backward()  # here
    model.zero_grad()  # fix
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(10):
        loss = F.cross_entropy(model(x), y)
        loss.backward()  # here
        optimizer.step()  # here
        optimizer.zero_grad()


def clipping_of_the_head_that_is_not_stepped(torch):
    """clipped-others: the policy is stepped, and the gradients of the value head are clipped.
    https://github.com/google-deepmind/open_spiel/issues/827"""
    nn = torch.nn
    states, actions, returns = torch.randn(32, 4), torch.arange(32) % 2, torch.randn(32)
    torso, policy, baseline = perceptron(torch, 4, 8), nn.Linear(8, 2), nn.Linear(8, 1)
    pi_optimizer = torch.optim.SGD([*torso.parameters(), *policy.parameters()], lr=0.1)
    critic_optimizer = torch.optim.SGD(baseline.parameters(), lr=0.1)
    for _ in range(15):
        features = torso(states)
        values = baseline(features.detach()).squeeze(1)
        critic_optimizer.zero_grad()
        (values - returns).square().mean().backward()
        critic_optimizer.step()
        taken = torch.log_softmax(policy(features), 1).gather(1, actions[:, None]).squeeze(1)
        pi_loss = -(taken * (returns - values.detach())).mean()
        pi_optimizer.zero_grad()
        pi_loss.backward()
        nn.utils.clip_grad_norm_(baseline.parameters(), 0.1)  # bug
        nn.utils.clip_grad_norm_([*torso.parameters(), *policy.parameters()], 0.1)  # fix
        pi_optimizer.step()  # here


def example_clips_what_is_not_there_yet(torch):
    """clipped-in-vain: the example clips before backward(), where there are no gradients.
    https://github.com/yandex-research/tabm/issues/20"""
    x, y = regression(torch, n=64)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=3e-4)
    gradient_clipping_norm = 1.0
    for _ in range(4):
        model.train()
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            parameters = model.parameters()
            torch.nn.utils.clip_grad_norm_(parameters, gradient_clipping_norm)  # bug
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, gradient_clipping_norm)  # fix
            optimizer.step()  # here


def first_parts_of_a_window_clipped_again(torch):
    """clipped-in-parts: the norm is limited after every backward of a window, not once before the step.
    https://github.com/huggingface/transformers/issues/986"""
    x, y = binary(torch, n=64)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(8):
        for step, (inputs, targets) in enumerate(batches(8, x, y)):
            out = model(inputs)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(out, targets) / 4
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.05)  # bug
            if (step + 1) % 4 == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.05)  # fix
                optimizer.step()  # here
                model.zero_grad()


def window_longer_than_the_epoch(torch):
    """never-stepped: the count of batches begins anew in each epoch and never reaches a window.
    https://github.com/timoschick/pet/pull/25"""
    x, y = classes(torch, n=24)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)  # here
    accumulation, step = 4, 0
    for _ in range(10):
        step = 0  # bug
        for inputs, targets in batches(8, x, y):
            loss = torch.nn.functional.cross_entropy(model(inputs), targets) / accumulation
            loss.backward()  # here
            step += 1
            if step % accumulation == 0:
                optimizer.step()  # here
                optimizer.zero_grad()


def tail_of_an_epoch_flows_into_the_next(torch):
    """not-divided: what is left over at the end of an epoch is used by the first step of the next.
    https://github.com/WalkingMeatAxolotl/AnimaLoraStudio/pull/305"""
    x, y = regression(torch, n=56)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    grad_accum, parts = 4, 7
    for _ in range(6):
        for i, (inputs, targets) in enumerate(batches(8, x, y)):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            size = grad_accum  # bug
            size = grad_accum if i < 4 else parts - 4  # fix
            (loss / size).backward()  # here
            full = (i + 1) % grad_accum == 0  # bug
            full = (i + 1) % grad_accum == 0 or i + 1 == parts  # fix
            if full:
                optimizer.step()  # here
                optimizer.zero_grad()
