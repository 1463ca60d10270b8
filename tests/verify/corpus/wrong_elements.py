"""Gradients that are wrong at one element of many, or in one dtype of several."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, tensor, wrong


@wrong("one in a thousand", "Exp")
def one_element_scaled(torch: Any) -> Check:
    """Of 1,000 elements the gradient of number 617 is 1.5 times what it should be."""

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            gradient = g * y
            gradient[617] = gradient[617] * 1.5
            return gradient

    def free_energy(x):
        return Exp.apply(x).sum().log()  # wrong: here

    return Check(free_energy, draw(torch, 1000))


@wrong("one in a thousand", "Difference")
def last_element_forgotten(torch: Any) -> Check:
    """The total variation of a signal of 1,000: the slice of the backward is one too short."""

    class Difference(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[1:] - x[:-1]

        @staticmethod
        def backward(ctx, g):
            gradient = g.new_zeros(len(g) + 1)
            gradient[1:-1] += g[:-1]
            gradient[:-1] -= g
            return gradient

    def roughness(x):
        return (Difference.apply(x) ** 2).sum()  # wrong: here

    return Check(roughness, draw(torch, 1000))


@wrong("one row", "Embed")
def first_row_taken_for_padding(torch: Any) -> Check:
    """Row 0 of a table is treated as padding by the backward and as a word by the forward."""

    class Embed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, table, index):
            ctx.save_for_backward(index)
            ctx.shape = table.shape
            return table[index]

        @staticmethod
        def backward(ctx, g):
            (index,) = ctx.saved_tensors
            gradient = g.new_zeros(ctx.shape).index_add(0, index, g)
            gradient[0] = 0
            return gradient, None

    words = torch.arange(0, 60, 4)

    def text(table):
        return Embed.apply(table, words).pow(2).mean(0)  # wrong: here

    return Check(text, draw(torch, 60, 3))


@wrong("one in a thousand", "Product")
def one_weight_of_a_matrix(torch: Any) -> Check:
    """In a weight of 25 by 40 one entry takes its neighbour's gradient."""

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x @ w

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            gw = x.t() @ g
            gw[13, 21] = gw[13, 22]
            return g @ w.t(), gw

    data = draw(torch, 6, 25, requires_grad=False)

    def model(w):
        return Product.apply(data, w).tanh().mean(0).sum()  # wrong: here

    return Check(model, draw(torch, 25, 40, low=-0.3, high=0.3))


@wrong("one in a thousand", "MaxPool")
def gradient_to_the_wrong_winner(torch: Any) -> Check:
    """Max pooling over 500 pairs: in the last pair the gradient goes to the loser."""

    class MaxPool(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            best, where = x.view(-1, 2).max(1)
            ctx.save_for_backward(where)
            return best

        @staticmethod
        def backward(ctx, g):
            where = ctx.saved_tensors[0].clone()
            where[-1] = 1 - where[-1]
            back = g.new_zeros(len(g), 2).scatter(1, where[:, None], g[:, None])
            return back.view(-1)

    def pooled(x):
        return MaxPool.apply(x).square().sum()  # wrong: here

    return Check(pooled, draw(torch, 1000))


@wrong("one in a thousand", "Smooth")
def wrap_around_at_the_border(torch: Any) -> Check:
    """A moving average over 1,000 samples: the gradient of the first one wraps around the border."""

    class Smooth(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            padded = torch.cat([x.new_zeros(1), x])
            return 0.5 * (padded[1:] + padded[:-1])

        @staticmethod
        def backward(ctx, g):
            return 0.5 * (g + g.roll(-1))

    def energy(x):
        return Smooth.apply(x).pow(2).sum()  # wrong: here

    return Check(energy, draw(torch, 1000, low=0.5, high=1.5))


def _scaled_in(torch: Any, dtype: str, factor: float) -> Any:
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x.sigmoid()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            s = x.sigmoid()
            slope = s * (1 + x * (1 - s))
            return g * slope * (factor if x.dtype == getattr(torch, dtype) else 1.0)

    return Scaled


@wrong("one dtype", "Scaled")
def factor_in_single_precision(torch: Any) -> Check:
    """The float32 branch of an activation has a factor of 1.01; the float64 branch is right."""
    activation = _scaled_in(torch, "float32", 1.01)

    def network(x, w):
        return activation.apply(x @ w)  # wrong: here

    return Check(network, draw(torch, 3, 4, dtype="float32"), draw(torch, 4, 2, dtype="float32"))


@wrong("one dtype", "Scaled")
def factor_in_half_precision(torch: Any) -> Check:
    """The float16 branch forgets half of the gradient."""
    activation = _scaled_in(torch, "float16", 0.5)

    def network(x):
        return activation.apply(x) * 2  # wrong: here

    return Check(network, draw(torch, 8, low=0.25, dtype="float16"))


@wrong("one dtype", "Scaled")
def factor_in_bfloat16(torch: Any) -> Check:
    """The bfloat16 branch has twice the gradient."""
    activation = _scaled_in(torch, "bfloat16", 2.0)

    def network(x):
        return activation.apply(x) + x  # wrong: here

    return Check(network, draw(torch, 8, low=0.25, dtype="bfloat16"))


@wrong("one dtype", "Norm")
def statistics_in_the_wrong_place_in_single_precision(torch: Any) -> Check:
    """The fast path for float32 leaves out the mean's term; others take the slow, right one."""

    class Norm(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            centred = x - x.mean(-1, keepdim=True)
            ctx.save_for_backward(x)
            return centred

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g if x.dtype == torch.float32 else g - g.mean(-1, keepdim=True)

    def layer(x):
        return Norm.apply(x).exp()  # wrong: here

    return Check(layer, draw(torch, 2, 3, dtype="float32"))


@wrong("one dtype", "Log")
def table_of_low_precision(torch: Any) -> Check:
    """In float32 the slope is read from a table of eight entries and is off by several per cent."""

    class Log(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.log()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            if x.dtype == torch.float32:
                x = (x * 4).round() / 4
            return g / x

    def likelihood(p):
        return -Log.apply(p / p.sum()).sum()  # wrong: here

    return Check(likelihood, tensor(torch, [0.9, 0.8, 0.7], dtype="float32"))


@wrong("one dtype", "Conjugate")
def complex_path_of_a_real_function(torch: Any) -> Check:
    """Right for real inputs; for complex ones the square's derivative lacks the conjugate."""

    class Conjugate(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx, g):
            (z,) = ctx.saved_tensors
            return 2 * g * z

    def intensity(z):
        return Conjugate.apply(z).abs().square()  # wrong: here

    return Check(intensity, draw(torch, 3, dtype="complex64"))
