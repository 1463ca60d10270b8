"""A two-layer network trained without nn or optim: one bias keeps its old gradients."""

import torch

torch.manual_seed(0)

N = 120
INPUTS = 4
HIDDEN = 16
EPOCHS = 40
LR = 0.02
BATCH = 30


def make_data(n):
    """A smooth function of four numbers."""
    x = torch.randn(n, INPUTS)
    y = torch.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] - 0.3 * x[:, 3]
    return x, y.unsqueeze(1)


def init_weight(rows, columns):
    """Scaled normal, as a leaf."""
    w = torch.randn(rows, columns) / rows**0.5
    w.requires_grad_()
    return w


def init_bias(columns):
    return torch.zeros(columns, requires_grad=True)


def forward(x, w1, b1, w2, b2):
    h = torch.tanh(x @ w1 + b1)
    return h @ w2 + b2


def mse(prediction, target):
    return ((prediction - target) ** 2).mean()


x_train, y_train = make_data(N)
x_test, y_test = make_data(60)

w1 = init_weight(INPUTS, HIDDEN)
b1 = init_bias(HIDDEN)
w2 = init_weight(HIDDEN, 1)
b2 = init_bias(1)

for epoch in range(EPOCHS):
    order = torch.randperm(N)
    total = 0.0
    for start in range(0, N, BATCH):
        index = order[start : start + BATCH]
        x, y = x_train[index], y_train[index]

        prediction = forward(x, w1, b1, w2, b2)
        loss = mse(prediction, y)
        loss.backward()  # here

        with torch.no_grad():
            w1 -= LR * w1.grad
            b1 -= LR * b1.grad
            w2 -= LR * w2.grad
            b2 -= LR * b2.grad  # here

            w1.grad.zero_()
            b1.grad.zero_()
            w2.grad.zero_()
            b2.grad.zero_()  # fix

        total += loss.item()

    if epoch % 10 == 0:
        with torch.no_grad():
            test_loss = mse(forward(x_test, w1, b1, w2, b2), y_test)
        print(f"epoch {epoch:3d}: train {total / (N // BATCH):.4f}, test {test_loss.item():.4f}")
