"""Right gradients of code in unusual shape: odd inputs, views, changes in place, branches."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, right, tensor


@right("inputs")
def integer_and_boolean_inputs(torch: Any) -> Check:
    """Labels and a mask come as inputs as well."""

    def loss(x, labels, keep):
        return torch.nn.functional.cross_entropy(x, labels, reduction="none")[keep].sum()

    labels, keep = torch.tensor([0, 2, 1]), torch.tensor([True, False, True])
    return Check(loss, draw(torch, 3, 4), labels, keep)


@right("inputs")
def unused_input(torch: Any) -> Check:
    """An input that nothing depends on has a gradient of 0."""
    return Check(lambda x, unused: x.sin(), draw(torch, 3), draw(torch, 2))


@right("inputs")
def several_outputs(torch: Any) -> Check:
    """Outputs of different shapes, one of them of integers."""
    return Check(lambda x: (x.sum(), x.t() @ x, x.argmax(1), {"log": x.exp()}), draw(torch, 2, 3))


@right("inputs")
def constant_output(torch: Any) -> Check:
    """One of the outputs does not depend on the input at all."""
    return Check(lambda x: (x.cos(), torch.ones(2, dtype=x.dtype)), draw(torch, 3))


@right("inputs")
def empty_input(torch: Any) -> Check:
    """An empty tensor beside one that is not."""
    empty = torch.zeros(0, 3, dtype=torch.float64, requires_grad=True)
    return Check(lambda x, y: torch.cat([x, y]).pow(2).sum(0), empty, draw(torch, 2, 3))


@right("inputs")
def scalar_input(torch: Any) -> Check:
    """0-dimensional in, 0-dimensional out."""
    return Check(lambda x: x.exp() * x, tensor(torch, 0.7))


@right("inputs")
def non_contiguous_input(torch: Any) -> Check:
    """A transposed slice with steps."""
    x = draw(torch, 6, 4).detach()[::2].t().requires_grad_()
    return Check(lambda x: (x.reshape(-1) * x.sum()).cumsum(0), x)


@right("inputs")
def expanded_input(torch: Any) -> Check:
    """One row, expanded to three: the entries share memory, and each is an input of its own."""
    x = draw(torch, 1, 3).detach().expand(3, 3).requires_grad_()
    return Check(lambda x: (x @ x).tanh(), x)


@right("inputs")
def nested_inputs(torch: Any) -> Check:
    """Tensors in a dictionary and a list."""

    def model(state, layers):
        h = state["x"]
        for w in layers:
            h = torch.tanh(h @ w)
        return {"h": h, "sum": h.sum()}

    return Check(
        model, {"x": draw(torch, 2, 3)}, [draw(torch, 3, 3, seed=1), draw(torch, 3, 2, seed=2)]
    )


@right("in place")
def changed_in_place(torch: Any) -> Check:
    """A copy is changed in place, part by part."""

    def relax(x):
        y = x.clone()
        y[1:] += 0.5 * y[:-1]
        y.mul_(2).sin_()
        y[0] = x[1] * x[2]
        return y

    return Check(relax, draw(torch, 4))


@right("in place")
def filled_through_views(torch: Any) -> Check:
    """A matrix is assembled through views of it."""

    def rotation(angle):
        r = torch.zeros(2, 2, dtype=angle.dtype)
        r.diagonal().copy_(angle.cos().expand(2))
        r[0, 1] = -angle.sin()
        r.view(-1)[2] = angle.sin()
        return r

    return Check(rotation, tensor(torch, 0.3))


@right("in place")
def input_changed_in_place(torch: Any) -> Check:
    """The name of the argument is bound to a product, which is then changed in place."""

    def step(x):
        x = x * 1.5
        x.mul_(2).add_(1)
        return x.sin()

    return Check(step, draw(torch, 3))


@right("in place")
def many_views(torch: Any) -> Check:
    """Views of views: unfold, permute, flip, diagonal, stride."""

    def windows(x):
        w = x.unfold(0, 3, 2).permute(1, 0).flip(0)
        return w.diagonal() * w[0].sum() + x[::3].sum()

    return Check(windows, draw(torch, 7))


@right("programs")
def checkpointed(torch: Any) -> Check:
    """Activations are computed again on the way back."""
    from importlib import import_module

    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint

    def network(x, w):
        for _ in range(2):
            x = checkpoint(lambda h: torch.tanh(h @ w), x, use_reentrant=False)
        return x

    return Check(network, draw(torch, 2, 3), draw(torch, 3, 3))


@right("programs")
def control_flow(torch: Any) -> Check:
    """Which branch runs depends on the values."""

    def newton(a):
        x = a
        while float((x * x - a).detach().abs().max()) > 1e-12:
            x = 0.5 * (x + a / x)
        return x

    return Check(newton, tensor(torch, [2.0, 5.0]))


@right("programs")
def harmless_detach(torch: Any) -> Check:
    """The shift that keeps a softmax from overflowing may be detached: it cancels."""

    def softmax(x):
        e = torch.exp(x - x.amax(-1, keepdim=True).detach())
        return e / e.sum(-1, keepdim=True)

    return Check(softmax, draw(torch, 2, 4, low=-3, high=3))


@right("programs")
def harmless_item(torch: Any) -> Check:
    """A number is read out to choose a branch, and a mask is made under no_grad."""

    def huber(x):
        with torch.no_grad():
            small = x.abs() < 0.5
        if x.detach().abs().max().item() > 100:
            x = x / 100
        return torch.where(small, 0.5 * x * x, 0.5 * (x.abs() - 0.25))

    return Check(huber, draw(torch, 5))
