"""Gradients summed over the wrong axis, averaged, or not summed at all, where something was spread."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, tensor, wrong


@wrong("broadcast", "AddBias")
def bias_summed_over_features(torch: Any) -> Check:
    """As many features as rows: the bias is summed over features, and no shape complains."""

    class AddBias(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, bias):
            return x + bias

        @staticmethod
        def backward(ctx, g):
            return g, g.sum(1)

    def layer(x, w, bias):
        return AddBias.apply(x @ w, bias).tanh()  # wrong: here

    return Check(layer, draw(torch, 3, 2), draw(torch, 2, 3), draw(torch, 3))


@wrong("broadcast", "AddBias")
def bias_averaged_over_the_batch(torch: Any) -> Check:
    """The mean over the batch is taken for the sum."""

    class AddBias(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, bias):
            return x + bias

        @staticmethod
        def backward(ctx, g):
            return g, g.mean(0)

    def layer(x, w, bias):
        return AddBias.apply(x @ w, bias).relu()  # wrong: here

    return Check(layer, draw(torch, 4, 2), draw(torch, 2, 3), draw(torch, 3))


@wrong("broadcast", "ScaleRows")
def first_column_for_the_sum(torch: Any) -> Check:
    """A scale per row gets the product of its first column; the sum over columns is missing."""

    class ScaleRows(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            ctx.save_for_backward(x, scale)
            return x * scale

        @staticmethod
        def backward(ctx, g):
            x, scale = ctx.saved_tensors
            return g * scale, (g * x)[:, :1]

    def normalised(x, scale):
        centred = x - x.mean(1, keepdim=True)
        return ScaleRows.apply(centred, scale).exp()  # wrong: here

    return Check(normalised, draw(torch, 3, 4), draw(torch, 3, 1))


@wrong("broadcast", "Temperature")
def temperature_averaged_over_rows(torch: Any) -> Check:
    """A learned temperature is summed over classes but averaged over rows."""

    class Temperature(torch.autograd.Function):
        @staticmethod
        def forward(ctx, logits, t):
            ctx.save_for_backward(logits, t)
            return logits / t

        @staticmethod
        def backward(ctx, g):
            logits, t = ctx.saved_tensors
            return g / t, -(g * logits).sum(-1).mean() / t**2

    target = torch.tensor([1, 0, 2])

    def calibrated(logits, t):
        scaled = Temperature.apply(logits, t)  # wrong: here
        return torch.nn.functional.cross_entropy(scaled, target, reduction="sum")

    return Check(calibrated, draw(torch, 3, 4), tensor(torch, 1.5))


@wrong("broadcast", "PerChannel")
def channels_summed_over_height_only(torch: Any) -> Check:
    """A gain per channel of an image: the sum leaves out the width."""

    class PerChannel(torch.autograd.Function):
        @staticmethod
        def forward(ctx, image, gain):
            ctx.save_for_backward(image, gain)
            return image * gain.view(1, -1, 1, 1)

        @staticmethod
        def backward(ctx, g):
            image, gain = ctx.saved_tensors
            return g * gain.view(1, -1, 1, 1), (g * image).sum((0, 2))[:, 0]

    def block(image, gain, kernel):
        image = torch.nn.functional.conv2d(image, kernel, padding=1)
        return PerChannel.apply(image, gain).mean((2, 3))  # wrong: here

    return Check(block, draw(torch, 2, 1, 3, 3), draw(torch, 2), draw(torch, 2, 1, 3, 3, seed=1))


@wrong("broadcast", "Outer")
def outer_sum_over_the_same_axis_twice(torch: Any) -> Check:
    """Of an outer sum both terms are summed over the rows."""

    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a[:, None] + b[None, :]

        @staticmethod
        def backward(ctx, g):
            return g.sum(0), g.sum(0)

    def sinkhorn(a, b, cost):
        plan = torch.exp(Outer.apply(a, b) - cost)  # wrong: here
        return (plan * cost).sum()

    return Check(sinkhorn, draw(torch, 3), draw(torch, 3, seed=1), draw(torch, 3, 3, low=0))


@wrong("broadcast", "MaskedMean")
def masked_mean_over_everything(torch: Any) -> Check:
    """A masked loss is divided by the number kept, its gradient by the number there are."""

    class MaskedMean(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, mask):
            ctx.save_for_backward(mask)
            return (x * mask).sum() / mask.sum()

        @staticmethod
        def backward(ctx, g):
            (mask,) = ctx.saved_tensors
            return g * mask / mask.numel(), None

    mask = torch.tensor([[True, True, False], [True, False, False]])

    def loss(predicted, target):
        squares = (predicted - target) ** 2
        return MaskedMean.apply(squares, mask)  # wrong: here

    return Check(loss, draw(torch, 2, 3), draw(torch, 2, 3, seed=1))


@wrong("broadcast", "Repeat")
def repeated_and_only_the_first_returned(torch: Any) -> Check:
    """Keys shared by groups of heads are repeated; only the first copy's gradient comes back."""

    class Repeat(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, times):
            ctx.times = times
            return x.repeat_interleave(times, dim=0)

        @staticmethod
        def backward(ctx, g):
            return g[:: ctx.times], None

    def grouped(q, k, v):
        k = Repeat.apply(k, 2)  # wrong: here
        v = v.repeat_interleave(2, dim=0)
        return (q @ k.mT).softmax(-1) @ v

    return Check(grouped, draw(torch, 4, 2, 3), draw(torch, 2, 2, 3), draw(torch, 2, 2, 3, seed=1))
