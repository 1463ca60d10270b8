"""Loops without an optimizer: the learner's first loop, with the same mistakes."""

from __future__ import annotations

from tests.doctor.corpus.parts import binary, classes, perceptron, regression


def gradients_not_cleared_by_hand(torch):
    """accumulated: w.grad is never put to zero.
    https://airoads.org/ch06-deep-learning/ch02-pytorch/02-autograd/"""
    x, y = regression(torch)
    w = torch.zeros(4, 1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    for _ in range(20):
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()  # here
        with torch.no_grad():
            w -= 0.02 * w.grad  # here
            b -= 0.02 * b.grad
            w.grad.zero_()  # fix
            b.grad.zero_()  # fix


def update_bound_to_a_new_tensor(torch):
    """update-in-a-copy: `w = w - ...` under no_grad makes a tensor that needs no gradient.
    https://mlkatas.com/kata/23"""
    x, y = regression(torch)
    w = torch.zeros(4, 1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    for _ in range(20):
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()  # here
        with torch.no_grad():
            new = w - 0.05 * w.grad  # bug
            w -= 0.05 * w.grad  # fix
            b -= 0.05 * b.grad
            w.grad.zero_()
            b.grad.zero_()
            new = w  # fix
    assert new is not None


def model_updated_through_the_loop_variable(torch):
    """update-in-a-copy: `p = p - lr * p.grad` binds the loop's name and changes no weight.
    https://androidkt.com/print-computed-gradient-values-of-pytorch-model/"""
    x, y = classes(torch)
    model = perceptron(torch, 4, 8, 3)
    for _ in range(20):
        model.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()  # here
        with torch.no_grad():
            for p in model.parameters():
                p = p - 0.1 * p.grad  # bug
                p -= 0.1 * p.grad  # fix


def update_climbs(torch):
    """ascent: the gradient is added, not taken off.
    https://github.com/andersbll/deeppy/issues/17"""
    x, y = regression(torch)
    w = torch.zeros(4, 1, requires_grad=True)
    for _ in range(30):
        loss = ((x @ w - y) ** 2).mean()
        loss.backward()  # here
        with torch.no_grad():
            w += 0.01 * w.grad  # bug
            w -= 0.01 * w.grad  # fix
            w.grad.zero_()


def bias_never_updated(torch):
    """not-held: the bias gets gradients and no update.
    https://github.com/apache/systemds/pull/2330"""
    x, y = regression(torch)
    w = torch.zeros(4, 1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)  # here
    for _ in range(30):
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()  # here
        with torch.no_grad():
            w -= 0.05 * w.grad  # here
            b -= 0.05 * b.grad  # fix
            w.grad.zero_()
            b.grad.zero_()


def row_against_column_by_hand(torch):
    """broadcast: predictions (N, 1) against targets (N), by hand from end to end.
    https://jimypbr.github.io/2020/02/fast-ai-lesson-8-notes-backprop-from-the-foundations"""
    x, y = regression(torch)
    y = y.squeeze(1)
    w = torch.zeros(4, 1, requires_grad=True)
    for _ in range(20):
        loss = (x @ w - y).pow(2).mean()  # bug
        loss = ((x @ w).squeeze(1) - y).pow(2).mean()  # fix
        loss.backward()
        with torch.no_grad():
            w -= 0.05 * w.grad
            w.grad.zero_()


def rate_of_nothing_by_hand(torch):
    """rate-tiny: the update is a millionth of a millionth of the weights.
    https://taourl.com/read-2391810.html"""
    x, y = binary(torch)
    model = perceptron(torch, 4, 8, 1)
    rate = 1e-10  # bug
    rate = 0.1  # fix
    for _ in range(40):
        model.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x), y)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p.sub_(rate * p.grad)  # here


def hidden_layer_cut_by_hand(torch):
    """cut: the hidden layer goes through .data, so its weights get no gradient.
    https://github.com/jcjohnson/pytorch-examples/issues/31"""
    x, y = regression(torch)
    w1 = (0.3 * torch.randn(4, 8)).requires_grad_()
    w2 = (0.3 * torch.randn(8, 1)).requires_grad_()
    for _ in range(20):
        h = torch.tanh(x @ w1)
        out = h.data @ w2  # bug
        out = h @ w2  # fix
        (out - y).pow(2).mean().backward()  # here
        with torch.no_grad():
            for w in (w1, w2):
                if w.grad is not None:
                    w -= 0.05 * w.grad  # here
                    w.grad.zero_()


def model_cleared_before_the_update(torch):
    """cleared-early: zero_grad between backward and the update: nothing is added, ever.
    https://github.com/karpathy/micrograd/pull/102"""
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1)
    for _ in range(20):
        model.zero_grad()  # fix
        torch.nn.functional.mse_loss(model(x), y).backward()  # here
        model.zero_grad(set_to_none=False)  # bug
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.05 * p.grad  # here
