"""Rules that are wrong: signs, factors, entries, transposes, inputs mixed up."""

from __future__ import annotations

from tests.verify.programs import function, leaf, program, sine


@program
def wrong_sign(torch):
    x = leaf(torch, 4)
    f = sine(torch)

    def run():
        y = x * 2
        y = f.apply(y)  # here
        return y.sum()

    return run, {"x": x}, "Sine"


@program
def wrong_factor(torch):
    x = leaf(torch, 3, 2)
    f = sine(torch, lambda g, x: 1.01 * g * x.cos())

    def run():
        return f.apply(x).exp()  # here

    return run, {"x": x}, "Sine"


@program
def slightly_wrong_constant(torch):
    x = leaf(torch, 3, 2)
    f = function(torch, "Gelu", lambda x: x * (1.702 * x).sigmoid(), _rough_gelu)

    def run():
        return f.apply(x)  # here

    return run, {"x": x}, "Gelu"


def _rough_gelu(g, x):
    s = (1.702 * x).sigmoid()
    return g * (s + 1.7 * x * s * (1 - s))


@program
def bound_early(torch):
    x = leaf(torch, 4)
    apply = sine(torch).apply

    def run():
        return apply(x)  # here

    return run, {"x": x}, "Sine"


@program
def missing_term(torch):
    x = leaf(torch, 5)
    f = function(torch, "Swish", lambda x: x * x.sigmoid(), lambda g, x: g * x.sigmoid())

    def run():
        return f.apply(x.tanh())  # here

    return run, {"x": x}, "Swish"


@program
def one_wrong_entry(torch):
    x = leaf(torch, 10)

    def backward(g, x):
        out = g * 2 * x
        out[7] = 0.0
        return out

    f = function(torch, "Square", lambda x: x * x, backward)

    def run():
        return f.apply(x).sum()  # here

    return run, {"x": x}, "Square"


@program
def one_wrong_entry_of_a_thousand(torch):
    x = leaf(torch, 1000)

    def backward(g, x):
        out = g * 2 * x
        out[613] = out[613] * 1.5
        return out

    f = function(torch, "Square", lambda x: x * x, backward)

    def run():
        return f.apply(x).sum()  # here

    return run, {"x": x}, "Square"


@program
def one_wrong_entry_of_twenty_thousand(torch):
    x = leaf(torch, 100, 200)

    def backward(g, x):
        out = g * x.cos()
        out[17, 31] = -out[17, 31] + 0.5
        return out

    f = sine(torch, backward)

    def run():
        return f.apply(x).sum()  # here

    return run, {"x": x}, "Sine"


@program
def transposed(torch):
    a, b = leaf(torch, 3, 3), leaf(torch, 3, 3, seed=2)

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g @ b, a.t() @ g

    def run():
        return Product.apply(a, b)  # here

    return run, {"a": a, "b": b}, "Product"


@program
def transposed_result(torch):
    a = leaf(torch, 3, 3)
    f = function(torch, "Scale", lambda x: 2 * x, lambda g, x: 2 * g.t())

    def run():
        return (f.apply(a) * a).sum(0)  # here

    return run, {"a": a}, "Scale"


@program
def swapped_inputs(torch):
    a, b = leaf(torch, 4), leaf(torch, 4, seed=2)

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * a, g * b

    def run():
        return Product.apply(a, b)  # here

    return run, {"a": a, "b": b}, "Product"


@program
def dropped_input(torch):
    a, b = leaf(torch, 4), leaf(torch, 4, seed=2)

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            _, b = ctx.saved_tensors
            return g * b, None

    def run():
        return Product.apply(a, b)  # here

    return run, {"a": a, "b": b}, "Product"


@program
def wrong_broadcast(torch):
    x, b = leaf(torch, 4, 3), leaf(torch, 3, seed=2)

    class Shift(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, b):
            return x + b

        @staticmethod
        def backward(ctx, g):
            return g, g.mean(0)

    def run():
        return Shift.apply(x, b).exp()  # here

    return run, {"x": x, "b": b}, "Shift"
