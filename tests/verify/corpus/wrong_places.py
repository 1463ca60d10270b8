"""Gradients that are sent to the wrong place: swapped, unpacked in another order, gathered, shifted."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, wrong


@wrong("swapped gradients", "Divide")
def quotient(torch: Any) -> Check:
    """The gradients of numerator and denominator are returned in the other's place."""

    class Divide(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a / b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return -g * a / b**2, g / b

    def normalised(x, y):
        return Divide.apply(x.exp(), 1 + y * y).log1p()  # wrong: here

    return Check(normalised, draw(torch, 5), draw(torch, 5, seed=1))


@wrong("swapped gradients", "Mix")
def interpolation(torch: Any) -> Check:
    """Start and end of a linear interpolation take each other's gradient."""

    class Mix(torch.autograd.Function):
        @staticmethod
        def forward(ctx, start, end, weight):
            ctx.save_for_backward(start, end, weight)
            return start + weight * (end - start)

        @staticmethod
        def backward(ctx, g):
            start, end, weight = ctx.saved_tensors
            return g * weight, g * (1 - weight), g * (end - start)

    def gated(h, candidate, gate):
        return Mix.apply(h, candidate.tanh(), gate.sigmoid())  # wrong: here

    return Check(gated, *(draw(torch, 2, 3, seed=i) for i in range(3)))


@wrong("saved in another order", "Kinetic")
def unpacked_in_another_order(torch: Any) -> Check:
    """Saved as (mass, speed), unpacked as (speed, mass)."""

    class Kinetic(torch.autograd.Function):
        @staticmethod
        def forward(ctx, mass, speed):
            ctx.save_for_backward(mass, speed)
            return 0.5 * mass * speed**2

        @staticmethod
        def backward(ctx, g):
            speed, mass = ctx.saved_tensors
            return 0.5 * g * speed**2, g * mass * speed

    def energy(mass, speed, height):
        kinetic = Kinetic.apply(mass, speed)  # wrong: here
        return (kinetic + 9.81 * mass * height).sum()

    return Check(energy, draw(torch, 4, low=1, high=3), draw(torch, 4), draw(torch, 4, seed=1))


@wrong("saved in another order", "Film")
def scale_and_shift_exchanged(torch: Any) -> Check:
    """The conditioning's input and its scale are taken for one another."""

    class Film(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale, shift):
            ctx.save_for_backward(x, scale)
            return x * scale + shift

        @staticmethod
        def backward(ctx, g):
            scale, x = ctx.saved_tensors
            return g * scale, g * x, g

    def conditioned(x, c, w):
        scale, shift = (c @ w).chunk(2, dim=-1)
        return Film.apply(x, scale, shift).softmax(-1)  # wrong: here

    return Check(conditioned, draw(torch, 2, 3), draw(torch, 2, 2), draw(torch, 2, 6))


@wrong("gather and scatter", "Lookup")
def lookup_with_repeated_rows(torch: Any) -> Check:
    """An embedding's gradient is written, not added: of a row used twice one use is lost."""

    class Lookup(torch.autograd.Function):
        @staticmethod
        def forward(ctx, table, index):
            ctx.save_for_backward(index)
            ctx.rows = len(table)
            return table[index]

        @staticmethod
        def backward(ctx, g):
            (index,) = ctx.saved_tensors
            back = g.new_zeros(ctx.rows, g.shape[1])
            back[index] = g
            return back, None

    words = torch.tensor([3, 0, 3, 1])

    def sentence(table, w):
        embedded = Lookup.apply(table, words)  # wrong: here
        return (embedded @ w).tanh().sum(0)

    return Check(sentence, draw(torch, 5, 3), draw(torch, 3, 2))


@wrong("gather and scatter", "SegmentSum")
def messages_sent_to_the_next_node(torch: Any) -> Check:
    """The backward of a graph's message sum reads the neighbour one further on."""

    class SegmentSum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, messages, target, nodes):
            ctx.save_for_backward(target)
            out = messages.new_zeros(nodes, messages.shape[1])
            return out.index_add(0, target, messages)

        @staticmethod
        def backward(ctx, g):
            (target,) = ctx.saved_tensors
            return g[(target + 1) % len(g)], None, None

    source, target = torch.tensor([0, 1, 2, 2]), torch.tensor([1, 2, 0, 1])

    def layer(nodes, w):
        messages = (nodes @ w)[source]
        return SegmentSum.apply(messages, target, 3).relu() + nodes  # wrong: here

    return Check(layer, draw(torch, 3, 2), draw(torch, 2, 2))


@wrong("cumulative", "RunningSum")
def running_sum_not_reversed(torch: Any) -> Check:
    """The gradient of a running sum runs forward in time."""

    class RunningSum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.cumsum(-1)

        @staticmethod
        def backward(ctx, g):
            return g.cumsum(-1)

    def survival(hazards):
        return torch.exp(-RunningSum.apply(hazards.exp()))  # wrong: here

    return Check(survival, draw(torch, 2, 5))


@wrong("cumulative", "Upwind")
def stencil_of_advection(torch: Any) -> Check:
    """One step of advection: the stencil is not symmetric, and the backward applies it as it is."""

    class Upwind(torch.autograd.Function):
        @staticmethod
        def forward(ctx, u):
            return u - 0.3 * (u - u.roll(1, -1))

        @staticmethod
        def backward(ctx, g):
            return g - 0.3 * (g - g.roll(1, -1))

    def misfit(u, observed):
        for _ in range(2):
            u = Upwind.apply(u)  # wrong: here
        return ((u - observed) ** 2).sum()

    return Check(misfit, draw(torch, 6), draw(torch, 6, seed=1))
