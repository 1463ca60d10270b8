"""Parts that rightly get no gradient or a zero one: frozen, averaged, unused, or not yet awake."""

from __future__ import annotations

import copy
from typing import Any

from .case import sound
from .parts import batches, classes, images, perceptron, regression


@sound("frozen")
def first_step_of_lora(torch: Any):
    """B starts at 0, so that A's gradient is exactly 0 in the first step."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    class LoRA(nn.Module):
        def __init__(self, base, rank):
            super().__init__()
            self.base = base.requires_grad_(False)
            self.A = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
            self.B = nn.Parameter(torch.zeros(base.out_features, rank))

        def forward(self, x):
            return self.base(x) + x @ self.A.t() @ self.B.t()

    def loop():
        model = nn.Sequential(LoRA(nn.Linear(4, 8), 2), nn.Tanh(), LoRA(nn.Linear(8, 3), 2))
        learned = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(learned, lr=0.02)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()

    return loop


@sound("frozen")
def residual_branches_start_at_zero(torch: Any):
    """The last layer of each branch is 0: the ones before it get exact zeros at first."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = nn.Linear(4, 8), nn.Linear(8, 4)
            nn.init.zeros_(self.outer.weight)
            nn.init.zeros_(self.outer.bias)

        def forward(self, x):
            return x + self.outer(torch.relu(self.inner(x)))

    def loop():
        model = nn.Sequential(Block(), Block(), nn.Linear(4, 3))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()

    return loop


@sound("frozen")
def frozen_backbone(torch: Any):
    """Feature extraction: the backbone is frozen, in eval, and given to the optimizer all the same."""
    nn, F = torch.nn, torch.nn.functional
    x, y = images(torch)

    def loop():
        backbone = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
        head = nn.Linear(64, 3)
        model = nn.Sequential(backbone, head)
        backbone.requires_grad_(False).eval()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(10):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

    return loop


@sound("frozen")
def features_computed_under_no_grad(torch: Any):
    """A frozen encoder runs under no_grad; only the head is in the optimizer."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    def loop():
        encoder, head = perceptron(torch, 4, 8), nn.Linear(8, 3)
        encoder.eval()
        optimizer = torch.optim.SGD(head.parameters(), lr=0.2)
        for inputs, targets in batches(4, x, y):
            with torch.no_grad():
                features = encoder(inputs)
            optimizer.zero_grad()
            F.cross_entropy(head(features), targets).backward()
            optimizer.step()

    return loop


@sound("frozen")
def batch_norms_kept_in_eval(torch: Any):
    """Fine-tuning with small batches: model.train(), then every batch norm back to eval."""
    nn, F = torch.nn, torch.nn.functional
    x, y = images(torch)

    def loop():
        model = nn.Sequential(
            *(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.1)),
            *(nn.Flatten(), nn.Linear(64, 3)),
        )
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _epoch in range(3):
            model.train()
            for module in model.modules():
                if isinstance(module, nn.BatchNorm2d):
                    module.eval()
            for inputs, targets in batches(4, x, y):
                optimizer.zero_grad()
                F.cross_entropy(model(inputs), targets).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                F.cross_entropy(model(x), y)

    return loop


@sound("frozen")
def mean_teacher(torch: Any):
    """The teacher is a moving average, is never in an optimizer, and runs under no_grad."""
    F = torch.nn.functional
    x, y = classes(torch)

    def loop():
        student = perceptron(torch, 4, 8, 3)
        teacher = copy.deepcopy(student)
        optimizer = torch.optim.Adam(student.parameters(), lr=0.02)
        for inputs, targets in batches(4, x, y):
            noisy = inputs + 0.1 * torch.randn_like(inputs)
            with torch.no_grad():
                wanted = teacher(inputs).softmax(dim=1)
            logits = student(noisy)
            loss = F.cross_entropy(logits, targets) + F.mse_loss(logits.softmax(dim=1), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for kept, new in zip(teacher.parameters(), student.parameters(), strict=True):
                    kept.mul_(0.9).add_(new, alpha=0.1)

    return loop


@sound("frozen")
def momentum_encoder_with_a_predictor(torch: Any):
    """BYOL: the target branch has no gradient and follows the online one."""
    nn, F = torch.nn, torch.nn.functional
    x, _ = classes(torch)

    def loop():
        online, predictor = perceptron(torch, 4, 8, 4), nn.Linear(4, 4)
        target = copy.deepcopy(online).requires_grad_(False)
        optimizer = torch.optim.SGD([*online.parameters(), *predictor.parameters()], lr=0.1)
        for (batch,) in batches(4, x):
            one = batch + 0.1 * torch.randn_like(batch)
            two = batch + 0.1 * torch.randn_like(batch)
            wanted = F.normalize(target(two), dim=1)
            loss = 2 - 2 * (F.normalize(predictor(online(one)), dim=1) * wanted).sum(1)
            optimizer.zero_grad()
            loss.mean().backward()
            optimizer.step()
            for kept, new in zip(target.parameters(), online.parameters(), strict=True):
                kept.data = 0.95 * kept.data + 0.05 * new.data

    return loop


@sound("frozen")
def stop_gradient_in_a_siamese_net(torch: Any):
    """SimSiam: the same encoder's output is detached on one side of each of two losses."""
    nn, F = torch.nn, torch.nn.functional
    x, _ = classes(torch)

    def loop():
        encoder, predictor = perceptron(torch, 4, 8, 4), perceptron(torch, 4, 4, 4)
        model = nn.ModuleList([encoder, predictor])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        for (batch,) in batches(4, x):
            one = encoder(batch + 0.1 * torch.randn_like(batch))
            two = encoder(batch + 0.1 * torch.randn_like(batch))
            left = F.cosine_similarity(predictor(one), two.detach(), dim=1)
            right = F.cosine_similarity(predictor(two), one.detach(), dim=1)
            optimizer.zero_grad()
            (-(left + right).mean() / 2).backward()
            optimizer.step()

    return loop


@sound("frozen")
def distilled_from_a_frozen_teacher(torch: Any):
    """The teacher is frozen and in eval; its softened chances are the target of kl_div."""
    F = torch.nn.functional
    x, y = classes(torch)

    def loop():
        teacher, student = perceptron(torch, 4, 16, 3), perceptron(torch, 4, 4, 3)
        teacher.eval().requires_grad_(False)
        optimizer = torch.optim.Adam(student.parameters(), lr=0.02)
        for inputs, targets in batches(4, x, y):
            logits = student(inputs)
            soft = F.log_softmax(logits / 2, dim=1)
            wanted = F.softmax(teacher(inputs) / 2, dim=1)
            loss = 4 * F.kl_div(soft, wanted, reduction="batchmean")
            optimizer.zero_grad()
            (0.5 * loss + 0.5 * F.cross_entropy(logits, targets)).backward()
            optimizer.step()

    return loop


@sound("frozen")
def experts_that_are_not_chosen(torch: Any):
    """A mixture of experts: in most steps some experts do not run and have no gradient."""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch, n=36)

    class Mixture(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(4, 4)
            self.experts = nn.ModuleList([perceptron(torch, 4, 6, 1) for _ in range(4)])

        def forward(self, x):
            weight, chosen = self.gate(x).softmax(dim=1).max(dim=1)
            output = torch.zeros(len(x), 1)
            for i, expert in enumerate(self.experts):
                rows = (chosen == i).nonzero()[:, 0]
                if len(rows):
                    output = output.index_add(0, rows, expert(x[rows]) * weight[rows, None])
            return output

    def loop():
        model = Mixture()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _epoch in range(2):
            for inputs, targets in batches(3, x, y):
                optimizer.zero_grad()
                F.mse_loss(model(inputs), targets).backward()
                optimizer.step()

    return loop


@sound("frozen")
def unfrozen_on_a_schedule(torch: Any):
    """The head first, then the backbone: requires_grad is turned on and a group is added."""
    nn, F = torch.nn, torch.nn.functional
    x, y = classes(torch)

    def loop():
        backbone, head = perceptron(torch, 4, 8), nn.Linear(8, 3)
        backbone.requires_grad_(False)
        optimizer = torch.optim.SGD(head.parameters(), lr=0.2)
        for epoch in range(3):
            if epoch == 1:
                backbone.requires_grad_(True)
                optimizer.add_param_group({"params": backbone.parameters(), "lr": 0.02})
            for inputs, targets in batches(12, x, y):
                optimizer.zero_grad()
                F.cross_entropy(head(backbone(inputs)), targets).backward()
                optimizer.step()

    return loop


@sound("frozen")
def perceptual_loss_of_a_frozen_net(torch: Any):
    """The last net that the loss goes through is frozen, and rightly: it only judges."""
    F = torch.nn.functional
    x, y = regression(torch)

    def loop():
        judge = perceptron(torch, 1, 8, 4).requires_grad_(False)
        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(12):
            optimizer.zero_grad()
            F.mse_loss(judge(model(x)), judge(y)).backward()
            optimizer.step()

    return loop
