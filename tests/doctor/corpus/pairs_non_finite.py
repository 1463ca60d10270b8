"""Gradients that are not finite: the trap is one operation, often one that was masked, or the data."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import batches, binary, perceptron, regression


@pair("TG701")
def distance_at_zero(torch: Any):
    """Triplets with an anchor equal to its positive: sqrt has slope 1/0 there."""
    anchors, others = torch.randn(12, 4), torch.randn(12, 4)

    def bug():
        def distance(a, b):
            return ((a - b) ** 2).sum(1).sqrt()  # bug: here

        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(10):
            optimizer.zero_grad()
            positive = torch.cat([anchors[:1], anchors[1:] + 0.1])
            near = distance(model(anchors), model(positive))
            far = distance(model(anchors), model(others))
            torch.relu(near - far + 1).mean().backward()
            optimizer.step()

    def fix():
        def distance(a, b):
            return (((a - b) ** 2).sum(1) + 1e-12).sqrt()

        model = perceptron(torch, 4, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(10):
            optimizer.zero_grad()
            positive = torch.cat([anchors[:1], anchors[1:] + 0.1])
            near = distance(model(anchors), model(positive))
            far = distance(model(anchors), model(others))
            torch.relu(near - far + 1).mean().backward()
            optimizer.step()

    return bug, fix


@pair("TG701")
def root_under_a_where(torch: Any):
    """where() hides the root of a negative number in the value, and not in the gradient."""
    nn = torch.nn
    x, y = regression(torch)

    def bug():
        def compress(v):
            return torch.where(v > 0, torch.sqrt(v), torch.zeros_like(v))  # bug: here

        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(10):
            optimizer.zero_grad()
            nn.functional.mse_loss(compress(model(x)), y.relu()).backward()
            optimizer.step()

    def fix():
        def compress(v):
            inside = torch.where(v > 0, v, torch.ones_like(v))
            return torch.where(v > 0, torch.sqrt(inside), torch.zeros_like(v))

        model = perceptron(torch, 4, 8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(10):
            optimizer.zero_grad()
            nn.functional.mse_loss(compress(model(x)), y.relu()).backward()
            optimizer.step()

    return bug, fix


@pair("TG701")
def softplus_written_by_hand(torch: Any):
    """log(1 + exp(x)) with a where for large x: exp overflows in the branch that is not taken."""
    x, y = regression(torch)
    x = torch.cat([x, 4000 * torch.ones(1, 4)])
    y = torch.cat([y, torch.ones(1, 1)])

    def bug():
        def softplus(v):
            soft = torch.log(1 + torch.exp(v))  # bug: here
            return torch.where(v > 20, v, soft)  # bug: or here

        scale, model = torch.tensor(1e-2), torch.nn.Linear(4, 1)
        torch.nn.init.constant_(model.weight, 0.1)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for _ in range(10):
            optimizer.zero_grad()
            (scale * (softplus(model(x)) - y).abs()).mean().backward()
            optimizer.step()

    def fix():
        def softplus(v):
            soft = torch.log(1 + torch.exp(v.clamp(max=20)))
            return torch.where(v > 20, v, soft)

        scale, model = torch.tensor(1e-2), torch.nn.Linear(4, 1)
        torch.nn.init.constant_(model.weight, 0.1)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for _ in range(10):
            optimizer.zero_grad()
            (scale * (softplus(model(x)) - y).abs()).mean().backward()
            optimizer.step()

    return bug, fix


@pair("TG701")
def angle_of_no_rotation(torch: Any):
    """A pose starts at the identity: acos has an infinite slope at exactly 1."""
    nn = torch.nn

    def bug():
        pose = nn.Parameter(torch.tensor([1.0, 0.0, 0.0, 0.0]))
        optimizer = torch.optim.Adam([pose], lr=0.05)
        for _ in range(10):
            optimizer.zero_grad()
            turn = pose / pose.norm()
            angle = 2 * torch.acos(turn[0])  # bug: here
            ((angle - 0.8) ** 2 + turn[2:].pow(2).sum()).backward()
            optimizer.step()

    def fix():
        pose = nn.Parameter(torch.tensor([1.0, 1e-3, 0.0, 0.0]))
        optimizer = torch.optim.Adam([pose], lr=0.05)
        for _ in range(10):
            optimizer.zero_grad()
            turn = pose / pose.norm()
            angle = 2 * torch.atan2(turn[1:].norm(), turn[0])
            ((angle - 0.8) ** 2 + turn[2:].pow(2).sum()).backward()
            optimizer.step()

    return bug, fix


@pair("TG701")
def signed_root_of_a_zero_layer(torch: Any):
    """sign(v) * sqrt(|v|) of a layer that was initialised to 0, as residual branches are."""
    nn = torch.nn
    x, y = regression(torch, n=40)

    def bug():
        branch, head = nn.Linear(4, 8), nn.Linear(8, 1)
        nn.init.zeros_(branch.weight)
        nn.init.zeros_(branch.bias)
        optimizer = torch.optim.Adam([*branch.parameters(), *head.parameters()], lr=0.01)
        for _epoch in range(5):
            for inputs, targets in batches(20, x, y):
                optimizer.zero_grad()
                v = branch(inputs)
                rooted = torch.sign(v) * torch.sqrt(torch.abs(v))  # bug: here
                nn.functional.l1_loss(head(rooted), targets).backward()
                optimizer.step()

    def fix():
        branch, head = nn.Linear(4, 8), nn.Linear(8, 1)
        nn.init.normal_(branch.weight, std=0.1)
        nn.init.zeros_(branch.bias)
        optimizer = torch.optim.Adam([*branch.parameters(), *head.parameters()], lr=0.01)
        for _epoch in range(5):
            for inputs, targets in batches(20, x, y):
                optimizer.zero_grad()
                v = branch(inputs)
                rooted = torch.sign(v) * torch.sqrt(torch.abs(v) + 1e-6)
                nn.functional.l1_loss(head(rooted), targets).backward()
                optimizer.step()

    return bug, fix


@pair("TG701")
def attention_row_masked_entirely(torch: Any):
    """A softmax written out over a row of which everything is masked: 0/0 hidden by a where."""
    nn = torch.nn
    x = torch.randn(8, 5, 4)
    lengths = torch.tensor([5, 4, 3, 2, 1, 0, 5, 3])
    mask = torch.arange(5) < lengths[:, None]

    def bug():
        def pool(scores, values):
            weights = scores.exp() * mask
            shares = weights / weights.sum(1, keepdim=True)  # bug: here
            shares = torch.where(mask, shares, torch.zeros_like(shares))
            return (shares.unsqueeze(2) * values).sum(1)

        score, head = nn.Linear(4, 1), nn.Linear(4, 1)
        optimizer = torch.optim.Adam([*score.parameters(), *head.parameters()], lr=0.02)
        for _ in range(10):
            optimizer.zero_grad()
            pooled = pool(score(x)[..., 0], x)
            nn.functional.mse_loss(head(pooled)[:, 0], x[:, 0, 0]).backward()
            optimizer.step()

    def fix():
        def pool(scores, values):
            weights = scores.exp() * mask
            shares = weights / weights.sum(1, keepdim=True).clamp(min=1e-6)
            return (shares.unsqueeze(2) * values).sum(1)

        score, head = nn.Linear(4, 1), nn.Linear(4, 1)
        optimizer = torch.optim.Adam([*score.parameters(), *head.parameters()], lr=0.02)
        for _ in range(10):
            optimizer.zero_grad()
            pooled = pool(score(x)[..., 0], x)
            nn.functional.mse_loss(head(pooled)[:, 0], x[:, 0, 0]).backward()
            optimizer.step()

    return bug, fix


@pair("TG701")
def log_of_a_chance_that_rounds_to_nothing(torch: Any):
    """Cross-entropy by hand: a sure and wrong answer has probability 0, and its log is infinite."""
    nn = torch.nn
    x, y = binary(torch)

    def bug():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=5.0)
        for _ in range(12):
            optimizer.zero_grad()
            chance = torch.sigmoid(model(300 * x))
            right = y * torch.log(chance) + (1 - y) * torch.log(1 - chance)  # bug: here
            (-right.mean()).backward()
            optimizer.step()

    def fix():
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=5.0)
        for _ in range(12):
            optimizer.zero_grad()
            right = -nn.functional.binary_cross_entropy_with_logits(model(300 * x), y)
            (-right.mean()).backward()
            optimizer.step()

    return bug, fix


@pair("TG701")
def a_feature_that_is_missing(torch: Any):
    """A hole in the data is NaN; after the batch that has it, so is every weight."""
    nn = torch.nn
    x, y = regression(torch)
    x[20, 2] = float("nan")

    def bug():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for inputs, targets in batches(4, x, y):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)  # bug: here
            loss.backward()  # bug: or here
            optimizer.step()

    def fix():
        model = perceptron(torch, 4, 6, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for inputs, targets in batches(4, torch.nan_to_num(x), y):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()

    return bug, fix
