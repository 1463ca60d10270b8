"""Shapes that broadcast where they should have met."""

from __future__ import annotations

from tests.doctor.corpus.parts import binary, perceptron, regression


def mse_of_a_column_and_a_row(torch):
    """broadcast: (N, 1) against (N) in mse_loss.
    https://discuss.pytorch.org/t/output-of-the-model-depends-on-the-shape-of-the-weights-tensor/148155"""
    x, y = regression(torch)
    y = y.squeeze(1)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(20):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)  # bug
        loss = torch.nn.functional.mse_loss(model(x), y.unsqueeze(1))  # fix
        loss.backward()
        optimizer.step()


def squares_by_hand(torch):
    """broadcast: the difference of a column and a row, squared and averaged by hand.
    https://github.com/pytorch/pytorch/issues/105739"""
    x, y = regression(torch)
    y = y.flatten()
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(20):
        optimizer.zero_grad()
        loss = torch.mean((model(x) - y) ** 2)  # bug
        loss = torch.mean((model(x).squeeze(1) - y) ** 2)  # fix
        loss.backward()
        optimizer.step()


def advantage_of_a_column_and_a_row(torch):
    """broadcast: the value is not squeezed before it is taken from the returns.
    https://github.com/PacktPublishing/Deep-Reinforcement-Learning-Hands-On/issues/33"""
    F = torch.nn.functional
    state, action, returns = torch.randn(32, 4), torch.randint(3, (32,)), torch.randn(32)
    policy, critic = perceptron(torch, 4, 8, 3), perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        value = critic(state)
        value_loss = F.mse_loss(value.squeeze(-1), returns)
        advantage = returns - value.detach()  # bug
        advantage = returns - value.squeeze(-1).detach()  # fix
        chosen = F.log_softmax(policy(state), dim=1)[torch.arange(32), action]
        policy_loss = -(advantage * chosen).mean()  # here
        (policy_loss + value_loss).backward()
        optimizer.step()


def focal_loss_over_all_pairs(torch):
    """broadcast: an unsqueeze too many makes the loss one of all pairs of a batch.
    https://github.com/kornia/kornia/issues/1308"""
    F = torch.nn.functional
    x, y = binary(torch)
    target = y.squeeze(1)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        logit = model(x)
        logit = logit.squeeze(1)  # fix
        p = torch.sigmoid(logit)
        right = target * (1 - p) ** 2 * F.logsigmoid(logit)  # here
        wrong = (1 - target) * p**2 * F.logsigmoid(-logit)  # here
        loss = -(right + wrong).mean()  # here
        loss.backward()
        optimizer.step()


def log_cosh_of_a_column_and_a_row(torch):
    """broadcast: the same in a loss that no library has a name for.
    https://github.com/pytorch/pytorch/issues/2973"""
    x, y = regression(torch)
    target = y[:, 0]
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        gap = model(x) - target  # bug
        gap = model(x)[:, 0] - target  # fix
        torch.log(torch.cosh(gap)).mean().backward()
        optimizer.step()


def weights_of_samples_as_a_row(torch):
    """broadcast: a weight per sample, (N), times a loss per sample, (N, 1).
    https://github.com/dreamzero0/dreamzero/issues/25"""
    x, y = regression(torch)
    weight = torch.rand(len(x))
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        each = torch.nn.functional.mse_loss(model(x), y, reduction="none")
        loss = (each * weight).mean()  # bug
        loss = (each * weight.unsqueeze(1)).mean()  # fix
        loss.backward()
        optimizer.step()


def variance_of_the_wrong_shape(torch):
    """broadcast: (2, 1, 1) against (2, N) gives (2, 2, N): each row meets both means.
    https://github.com/davyneven/SpatialEmbeddings/issues/18"""
    x, y = regression(torch, n=24)
    model = perceptron(torch, 4, 8, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        sigma = model(x).t()
        middle = sigma.mean(1).view(2, 1, 1)  # bug
        middle = sigma.mean(1).view(2, 1)  # fix
        spread = torch.pow(sigma - middle.detach(), 2).mean()  # here
        loss = torch.nn.functional.mse_loss(sigma[:1].t(), y) + spread
        loss.backward()
        optimizer.step()


def td_error_of_a_row_and_a_column(torch):
    """broadcast: rewards are (N), values (N, 1): the target of each is all of them.
    https://github.com/rlworkgroup/garage/pull/1197"""
    F = torch.nn.functional
    state, following, reward = torch.randn(24, 4), torch.randn(24, 4), torch.randn(24)
    value = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.Adam(value.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        with torch.no_grad():
            wanted = reward + 0.9 * value(following)  # bug
            wanted = reward.unsqueeze(1) + 0.9 * value(following)  # fix
        F.smooth_l1_loss(value(state).expand_as(wanted), wanted).backward()  # here
        optimizer.step()


def pinball_with_where(torch):
    """broadcast: the quantile loss picks its branch from all pairs of prediction and target.
    https://solofox.github.io/torch/broadcasting/2025/12/07/torch-broadcasting-trap.html"""
    x, y = regression(torch)
    target = y.view(-1)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        gap = target - model(x)  # bug
        gap = target - model(x).view(-1)  # fix
        torch.where(gap > 0, 0.9 * gap, -0.1 * gap).mean().backward()
        optimizer.step()
