"""Gradients of complex functions that lack a conjugate or take the wrong part."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, wrong


@wrong("complex", "Product")
def product_without_conjugates(torch: Any) -> Check:
    """The gradient of a·b with respect to a is g·conj(b); the conjugate is missing."""

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, g * a

    def correlation(a, b):
        return Product.apply(a, b.conj()).sum().abs()  # wrong: here

    return Check(
        correlation, draw(torch, 3, dtype="complex128"), draw(torch, 3, seed=1, dtype="complex128")
    )


@wrong("complex", "Magnitude")
def magnitude_with_the_phase_turned(torch: Any) -> Check:
    """The gradient of |z| points along conj(z), not along z."""

    class Magnitude(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z.abs()

        @staticmethod
        def backward(ctx, g):
            (z,) = ctx.saved_tensors
            return g * z.conj() / z.abs()

    def loudness(z):
        return Magnitude.apply(z).log1p().sum()  # wrong: here

    return Check(loudness, draw(torch, 4, dtype="complex128"))


@wrong("complex", "Apply")
def transposed_but_not_conjugated(torch: Any) -> Check:
    """A matrix's gradient goes back through its transpose instead of its adjoint."""

    class Apply(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, x):
            ctx.save_for_backward(a, x)
            return a @ x

        @staticmethod
        def backward(ctx, g):
            a, x = ctx.saved_tensors
            return torch.outer(g, x.conj()), a.t() @ g

    def expectation(a, x):
        y = Apply.apply(a, x)  # wrong: here
        return (x.conj() * y).sum().real

    return Check(
        expectation, draw(torch, 3, 3, dtype="complex128"), draw(torch, 3, dtype="complex128")
    )


@wrong("complex", "Phase")
def wrong_part_of_a_phase(torch: Any) -> Check:
    """A real angle gets the real part where it should get the imaginary one."""

    class Phase(torch.autograd.Function):
        @staticmethod
        def forward(ctx, angle):
            y = torch.polar(torch.ones_like(angle), angle)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return (g * y.conj()).real

    def interference(angle, field):
        return (Phase.apply(angle) * field).sum().abs()  # wrong: here

    return Check(interference, draw(torch, 4), draw(torch, 4, dtype="complex128"))


@wrong("complex", "Resonance")
def holomorphic_without_conjugate(torch: Any) -> Check:
    """1/(z² + 1) is holomorphic, and its rule still needs the conjugate of the derivative."""

    class Resonance(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return 1 / (z * z + 1)

        @staticmethod
        def backward(ctx, g):
            (z,) = ctx.saved_tensors
            return -2 * g * z / (z * z + 1) ** 2

    def gain(z, w):
        return (Resonance.apply(z) * w).imag  # wrong: here

    return Check(gain, draw(torch, 3, dtype="complex128"), draw(torch, 3))


@wrong("complex", "Spectrum")
def transform_undone_by_itself(torch: Any) -> Check:
    """The adjoint of a Fourier matrix is its conjugate; the backward applies it once more."""
    angle = torch.arange(4, dtype=torch.float64)
    turns = torch.outer(angle, angle) * (-2 * torch.pi / 4)
    fourier = torch.polar(torch.ones_like(turns), turns)

    class Spectrum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            return z @ fourier

        @staticmethod
        def backward(ctx, g):
            return g @ fourier

    def filtered(z, response):
        return (Spectrum.apply(z) * response).abs().square()  # wrong: here

    return Check(filtered, draw(torch, 4, dtype="complex128"), draw(torch, 4))
