"""Numbers: scalers, half precision, zeros for ever, and values changed behind autograd's back."""

from __future__ import annotations

from tests.doctor.corpus.parts import binary, classes, perceptron, regression


def both_factors_zero(torch):
    """zero-for-ever: both matrices of a low-rank update start at zero, and stay there.
    https://github.com/Guitaricet/relora/issues/18"""
    nn = torch.nn
    x, y = regression(torch)

    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = nn.Linear(4, 1)
            self.a = nn.Parameter(torch.zeros(4, 2))  # bug
            self.a = nn.Parameter(0.3 * torch.randn(4, 2))  # fix
            self.b = nn.Parameter(torch.zeros(2, 1))

        def forward(self, x):
            return self.base(x) + x @ self.a @ self.b  # here

    model = Adapted()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(30):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()  # here
        optimizer.step()  # here


def adapter_reset_by_the_model(torch):
    """zero-for-ever: the model's own initialization puts the adapter's first matrix to zero too.
    https://github.com/nvidia-cosmos/cosmos-predict2.5/pull/15"""
    nn = torch.nn
    x, y = classes(torch)

    class Adapter(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.up = nn.Linear(8, 2, bias=False), nn.Linear(2, 8, bias=False)
            nn.init.zeros_(self.up.weight)

        def forward(self, x):
            return x + self.up(self.down(x))  # here

    body, adapter, head = nn.Linear(4, 8), Adapter(), nn.Linear(8, 3)
    model = nn.Sequential(body, adapter, head)
    for p in adapter.parameters():  # bug
        nn.init.zeros_(p)  # bug
    body.requires_grad_(False)
    trained = [*adapter.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(trained, lr=0.02)
    for _ in range(30):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()  # here
        optimizer.step()  # here


def every_step_skipped_by_the_scaler(torch):
    """scaler-skips: an infinite gradient in every backward, so the scaler never steps.
    https://github.com/sanghyun-son/EDSR-PyTorch/issues/36"""
    x, y = regression(torch)
    x = x.clone()
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for _ in range(30):
        optimizer.zero_grad()
        gap = (model(x) - y).abs()
        loss = gap.mean() + torch.sqrt((gap - gap).sum())  # bug
        loss = gap.mean()  # fix
        scaler.scale(loss).backward()  # here
        scaler.step(optimizer)  # here
        scaler.update()


def half_precision_without_a_scaler(torch):
    """underflow: the gradients of a half-precision model are too small to be anything but zero.
    https://github.com/warner-benjamin/optimi/pull/15"""
    nn = torch.nn
    x, y = regression(torch, n=16)
    model = perceptron(torch, 4, 8, 1)
    half = torch.float16  # bug
    half = torch.float32  # fix
    model = model.to(half)
    x, y = x.to(half), y.to(half)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        out = model(x)
        loss = nn.functional.mse_loss(out, y) * 1e-6
        loss.backward()  # here
        optimizer.step()  # here


def weights_changed_between_forward_and_backward(torch):
    """changed-behind: .data is clamped after the forward: backward uses weights that never were.
    https://github.com/square-coder/STGODE/issues/11"""
    nn = torch.nn
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(20):
        optimizer.zero_grad()
        out = model(x)
        model[2].weight.data.mul_(0.5)  # bug
        nn.functional.mse_loss(out, y).backward()  # here
        optimizer.step()
        model[2].weight.data.mul_(0.5)  # fix


def activations_changed_through_data(torch):
    """changed-behind: an activation is overwritten through .data after it was saved.
    https://github.com/pytorch/pytorch/issues/193981"""
    nn = torch.nn
    x, y = regression(torch)
    first, second = nn.Linear(4, 8), nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.05)
    for _ in range(20):
        optimizer.zero_grad()
        h = torch.tanh(first(x))
        out = second(h)
        h.data.clamp_(min=0)  # bug
        nn.functional.mse_loss(out, y).backward()  # here
        optimizer.step()
        h.data.clamp_(min=0)  # fix


def gradients_divided_by_a_scale_they_never_had(torch):
    """scaled-down: the gradients are divided by the loss scale, but the loss was not multiplied.
    https://github.com/deepspeedai/DeepSpeed/pull/8588"""
    x, y = binary(torch)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    scale = 65536.0
    for _ in range(20):
        optimizer.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x), y)
        loss.backward()  # bug
        (scale * loss).backward()  # fix
        for p in model.parameters():
            p.grad /= scale  # here
        optimizer.step()  # here


def bias_counted_by_a_shared_counter(torch):
    """update-in-a-copy: the update of weights is written into a copy made by float().
    https://github.com/joennlae/tensorli/issues/1"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1).double()
    params = [p.float() for p in model.parameters()]  # bug
    params = list(model.parameters())  # fix
    x, y = x.double(), y.double()
    for _ in range(20):
        for p in model.parameters():
            p.grad = None
        torch.nn.functional.mse_loss(model(x), y).backward()  # here
        with torch.no_grad():
            for p, source in zip(params, model.parameters(), strict=True):
                p -= 0.05 * source.grad.to(p.dtype)  # here


def epsilon_that_half_precision_loses(torch):
    """non-finite: Adam's epsilon is zero in half precision, so an unused weight becomes NaN.
    https://github.com/pytorch/pytorch/issues/8860"""
    nn = torch.nn
    table = nn.Embedding(6, 3).to(torch.float16)
    words = torch.tensor([0, 1, 2, 3])
    eps = 1e-8  # bug
    eps = 1e-3  # fix
    optimizer = torch.optim.Adam(table.parameters(), lr=0.01, eps=eps, foreach=False)
    for _ in range(20):
        optimizer.zero_grad()
        (table(words) ** 2).sum().backward()
        optimizer.step()  # here


def root_of_a_zero_distance(torch):
    """non-finite: the square root of a squared distance of zero has an infinite slope.
    https://github.com/pytorch/pytorch/issues/57459"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 2)
    x = torch.cat([x, x[:1]])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        optimizer.zero_grad()
        code = model(x)
        squared = (code[1:] - code[:-1]).pow(2).sum(1)
        same = (code[:1] - code[-1:]).pow(2).sum(1)
        distance = torch.sqrt(torch.cat([squared, same]))  # bug
        distance = torch.sqrt(torch.cat([squared, same]) + 1e-8)  # fix
        distance.mean().backward()  # here
        optimizer.step()
    assert len(y)
