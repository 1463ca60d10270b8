"""Paths that were dropped: the value goes on and the graph does not."""

from __future__ import annotations

import math
from typing import Any

from .case import Check, draw, filled, tensor, wrong


@wrong("dropped path", "detach", cut=True)
def residual_detached(torch: Any) -> Check:
    """The skip connection is detached."""

    def block(x, w):
        skip = x.detach()  # wrong: here
        return skip + torch.tanh(x @ w)

    return Check(block, draw(torch, 2, 3), draw(torch, 3, 3))


@wrong("dropped path", "detach", cut=True)
def statistics_detached(torch: Any) -> Check:
    """A normalisation that takes its own scale for a constant."""

    def normalise(x, gain):
        centred = x - x.mean(-1, keepdim=True)
        scale = centred.pow(2).mean(-1, keepdim=True).sqrt().detach()  # wrong: here
        return gain * centred / scale

    return Check(normalise, draw(torch, 2, 4), draw(torch, 4))


@wrong("dropped path", "no_grad", cut=True)
def normalised_under_no_grad(torch: Any) -> Check:
    """The norm of the weight is computed under no_grad: weight normalisation without its gradient."""

    def layer(x, v, g):
        with torch.no_grad():
            length = v.norm(dim=0)  # wrong: here
        return x @ (g * v / length)

    return Check(layer, draw(torch, 2, 3), draw(torch, 3, 2), draw(torch, 2))


@wrong("dropped path", "no_grad", cut=True)
def helper_decorated_with_no_grad(torch: Any) -> Check:
    """A helper keeps the decorator it had when it was only used for evaluation."""

    @torch.no_grad()
    def pairwise(a, b):
        return a @ b.t()  # wrong: here

    def loss(a, b):
        scores = pairwise(a, b)  # wrong: or here
        return (scores.exp() * a.sum() + b.sum()).mean()

    return Check(loss, draw(torch, 2, 3), draw(torch, 3, 3))


@wrong("dropped path", "data", cut=True)
def weight_taken_as_data(torch: Any) -> Check:
    """Spectral normalisation divides by a norm that was computed from .data."""

    def layer(x, w):
        largest = torch.linalg.vector_norm(w.data)  # wrong: here
        return x @ (w / largest)

    return Check(layer, draw(torch, 2, 3), draw(torch, 3, 2))


@wrong("dropped path", "item", cut=True)
def scale_as_a_number(torch: Any) -> Check:
    """The scale is read out as a Python number."""

    def scaled(x):
        largest = x.abs().max().item()  # wrong: here
        return x / largest

    return Check(scaled, draw(torch, 5))


@wrong("dropped path", "float", "item", cut=True)
def float_of_a_tensor(torch: Any) -> Check:
    """The angle goes through math.cos."""

    def rotated(x, angle):
        c = math.cos(float(angle))  # wrong: here
        s = torch.sin(angle)
        return torch.stack([c * x[0] - s * x[1], s * x[0] + c * x[1]])

    return Check(rotated, draw(torch, 2), tensor(torch, 0.4))


@wrong("dropped path", "numpy", "detach", cut=True)
def through_numpy(torch: Any) -> Check:
    """One factor takes a detour through NumPy."""
    import numpy as np

    def filtered(x, w):
        spectrum = torch.from_numpy(np.sinh(x.detach().numpy()))  # wrong: here
        return x * w + spectrum

    return Check(filtered, draw(torch, 4), draw(torch, 4, seed=1))


@wrong("dropped path", "tolist", "item", cut=True)
def rebuilt_from_a_list(torch: Any) -> Check:
    """The corner points are taken out as a list and put into a new tensor."""

    def area(corners):
        xs = corners[:, 0].tolist()  # wrong: here
        ys = corners[:, 1]
        xs = torch.tensor(xs, dtype=corners.dtype)
        return 0.5 * (xs * ys.roll(-1) - ys * xs.roll(-1)).sum() + corners.sum()

    return Check(area, draw(torch, 4, 2))


@wrong("dropped path", "tensor", "item", "detach", cut=True)
def rebuilt_from_a_tensor(torch: Any) -> Check:
    """A new leaf is made of the norm in the middle of the computation."""

    def restarted(x, w):
        hidden = torch.tanh(x @ w)
        fresh = hidden.clone().detach().requires_grad_(True)  # wrong: here
        return hidden * 0.1 + fresh.exp()

    return Check(restarted, draw(torch, 2, 3), draw(torch, 3, 2))


@wrong("dropped path", "detach", cut=True)
def state_detached_between_chunks(torch: Any) -> Check:
    """Truncated backpropagation through time: the state is detached every two steps."""

    def unrolled(xs, u):
        h = torch.zeros(2, dtype=xs.dtype)
        for t, x in enumerate(xs.unbind(0)):
            if t == 2:
                h = h.detach()  # wrong: here
            h = torch.tanh(x + u @ h)
        return h

    return Check(unrolled, draw(torch, 4, 2), draw(torch, 2, 2))


@wrong("dropped path", "detach", cut=True)
def target_branch_stopped(torch: Any) -> Check:
    """Two views of one input, one of them stopped: not the gradient of the loss that is printed."""

    def similarity(x, w):
        online = torch.tanh(x @ w)
        target = torch.tanh(x.flip(0) @ w).detach()  # wrong: here
        return ((online - target) ** 2).sum()

    return Check(similarity, draw(torch, 2, 3), draw(torch, 3, 2))


@wrong("straight through", "detach", "round", cut=True)
def rounding_straight_through(torch: Any) -> Check:
    """Quantised with a straight-through estimator: the function is flat, the gradient is not."""

    def quantised(x, scale):
        levels = x / scale
        levels = levels + (levels.round() - levels).detach()  # wrong: here
        return levels * scale

    return Check(quantised, tensor(torch, [0.3, -0.77, 1.12]), tensor(torch, 0.25))


@wrong("straight through", "Sign")
def sign_straight_through(torch: Any) -> Check:
    """A binary activation as a Function: its gradient is that of another function, hardtanh."""

    class Sign(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sign()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (x.abs() <= 1)

    def binary(x, w):
        return Sign.apply(x @ w) @ w.t()  # wrong: here

    return Check(binary, draw(torch, 2, 3), draw(torch, 3, 2))


@wrong("dropped path", "data", "copy_", cut=True)
def copied_into_a_buffer(torch: Any) -> Check:
    """States are collected into a buffer through .data, which nobody records."""

    def states(x, w):
        kept = torch.zeros(3, 2, dtype=x.dtype)
        h = x
        for t in range(3):
            h = torch.tanh(h @ w)
            kept.data[t] = h  # wrong: here
        return kept.sum(0) + h

    return Check(states, draw(torch, 2), draw(torch, 2, 2))


@wrong("dropped path", "detach", cut=True, module="encoder.norm")
def inside_a_nested_module(torch: Any) -> Check:
    """Deep in an encoder a layer norm of one's own detaches the mean."""
    nn = torch.nn

    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(3))

        def forward(self, x):
            centred = x - x.mean(-1, keepdim=True).detach()  # wrong: here
            return self.gain * centred / (centred.var(-1, keepdim=True) + 1e-5).sqrt()

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = Norm()
            self.linear = nn.Linear(3, 2)

        def forward(self, x):
            return self.linear(self.norm(x)).tanh()

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = Encoder()

        def forward(self, x):
            return self.encoder(x).sum(-1)

    return Check(filled(Model(), torch), draw(torch, 2, 3))


@wrong("dropped path", "data", cut=True, module="head")
def frozen_by_data(torch: Any) -> Check:
    """A head multiplies with weight.data: its weight gets no gradient, its bias does."""
    nn = torch.nn

    class Head(nn.Linear):
        def forward(self, x):
            return x @ self.weight.data.t() + self.bias  # wrong: here

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(3, 3)
            self.head = Head(3, 2)

        def forward(self, x):
            return self.head(self.body(x).relu())

    return Check(filled(Model(), torch), draw(torch, 2, 3))


@wrong("dropped path", "no_grad", cut=True)
def fixed_point_without_its_gradient(torch: Any) -> Check:
    """A fixed point is found under no_grad and used as if it did not depend on the weight."""

    def equilibrium(w, x):
        z = torch.zeros_like(x)
        with torch.no_grad():
            for _ in range(8):
                z = torch.tanh(0.3 * (w @ z) + x)  # wrong: here
        return w @ z + x

    return Check(equilibrium, draw(torch, 2, 2), draw(torch, 2))
