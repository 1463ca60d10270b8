"""Rules that are wrong for one form: an output, a style, a dtype, a side of a kink."""

from __future__ import annotations

from tests.verify.programs import function, leaf, program, sine


@program
def second_output_forgotten(torch):
    x = leaf(torch, 4)

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin(), x.cos()

        @staticmethod
        def backward(ctx, g, h):
            (x,) = ctx.saved_tensors
            return g * x.cos()

    def run():
        s, c = Both.apply(x)  # here
        return s + 2 * c

    return run, {"x": x}, "Both"


@program
def not_linear_in_what_arrives(torch):
    x = leaf(torch, 4)
    f = function(torch, "Clipped", lambda x: 3 * x, lambda g, x: (3 * g).clamp(-1, 1))

    def run():
        return 5 * f.apply(x)  # here

    return run, {"x": x}, "Clipped"


@program
def setup_context(torch):
    x = leaf(torch, 4)

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x**2

    def run():
        return Cube.apply(x)  # here

    return run, {"x": x}, "Cube"


@program
def with_keyword_and_numbers(torch):
    x = leaf(torch, 4)

    class Power(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, exponent):
            ctx.save_for_backward(x)
            ctx.exponent = exponent
            return x**exponent

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x ** (ctx.exponent - 1), None

    def run():
        return Power.apply(x, 3)  # here

    return run, {"x": x}, "Power"


@program
def complex_without_conjugate(torch):
    x = leaf(torch, 3, dtype="complex128")
    f = function(torch, "Square", lambda x: x * x, lambda g, x: g * 2 * x)

    def run():
        return torch.view_as_real(f.apply(x))  # here

    return run, {"x": x}, "Square"


@program
def in_float32(torch):
    x = leaf(torch, 6, dtype="float32")
    f = sine(torch)

    def run():
        return f.apply(x * 1.5).sum()  # here

    return run, {"x": x}, "Sine"


@program
def in_bfloat16(torch):
    x = leaf(torch, 6, dtype="bfloat16")
    f = sine(torch)

    def run():
        return f.apply(x)  # here

    return run, {"x": x}, "Sine"


@program
def only_in_float32(torch):
    x = leaf(torch, 6, dtype="float32")

    def backward(g, x):
        return g * x.cos() * (0.9 if x.dtype == torch.float32 else 1.0)

    f = sine(torch, backward)

    def run():
        return f.apply(x)  # here

    return run, {"x": x}, "Sine"


@program
def only_runs_in_float32(torch):
    x = leaf(torch, 6, dtype="float32")

    def forward(x):
        assert x.dtype == torch.float32
        return x.sin()

    f = function(torch, "Sine", forward, lambda g, x: 0.5 * g * x.cos())

    def run():
        return f.apply(x)  # here

    return run, {"x": x}, "Sine"


@program
def wrong_beside_a_kink(torch):
    x = torch.tensor([-1.0, 0.0, 0.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    f = function(torch, "Relu", lambda x: x.clamp(min=0), lambda g, x: g * (x > 0) * 0.5)

    def run():
        return f.apply(x)  # here

    return run, {"x": x}, "Relu"


@program
def outside_of_a_kinks_sides(torch):
    x = torch.tensor([-1.0, 0.0, 2.0], dtype=torch.float64, requires_grad=True)

    def backward(g, x):
        return g * torch.where(x == 0, torch.full_like(x, 7.0), (x > 0).to(x.dtype))

    f = function(torch, "Relu", lambda x: x.clamp(min=0), backward)

    def run():
        return f.apply(x)  # here

    return run, {"x": x}, "Relu"


@program
def not_a_number(torch):
    x = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
    f = function(torch, "Safe", lambda x: x * x, lambda g, x: g * 2 * x * x / x)

    def run():
        return f.apply(x)  # here

    return run, {"x": x}, "Safe"
