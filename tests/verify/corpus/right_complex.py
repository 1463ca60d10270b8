"""Right gradients of complex functions, holomorphic and not."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, right, tensor


@right("complex")
def magnitude(torch: Any) -> Check:
    """|z|, which is not holomorphic."""
    return Check(lambda z: z.abs(), draw(torch, 4, dtype="complex128"))


@right("complex", kink=True)
def magnitude_at_the_origin(torch: Any) -> Check:
    """|0| has a cone there; the gradient is taken as 0."""
    return Check(lambda z: z.abs(), tensor(torch, [0j, 1 + 1j], dtype="complex128"))


@right("complex")
def angle(torch: Any) -> Check:
    """The angle of z, beside its branch cut as well."""
    z = tensor(torch, [1 + 1j, -1 + 0.1j, -1 - 1e-3j], dtype="complex128")
    return Check(lambda z: z.angle(), z)


@right("complex")
def holomorphic(torch: Any) -> Check:
    """exp, sin and a quotient, all holomorphic."""
    return Check(lambda z: z.exp() + z.sin() / (z + 3), draw(torch, 3, dtype="complex128"))


@right("complex")
def conjugated(torch: Any) -> Check:
    """conj(z)·z² is complex and not holomorphic."""
    return Check(lambda z: z.conj() * z * z, draw(torch, 3, dtype="complex128"))


@right("complex")
def matrices(torch: Any) -> Check:
    """A Hermitian form as a real loss."""

    def form(a, x):
        return (x.conj() @ (a @ x)).real

    return Check(form, draw(torch, 3, 3, dtype="complex128"), draw(torch, 3, dtype="complex128"))


@right("complex")
def real_from_complex_weights(torch: Any) -> Check:
    """A real input turned complex, mixed by complex weights, and measured."""

    def network(x, w):
        return torch.view_as_real((x + 0j) @ w).pow(2).sum(-1)

    return Check(network, draw(torch, 2, 3), draw(torch, 3, 2, dtype="complex128"))


@right("complex")
def spectrum_of_a_signal(torch: Any) -> Check:
    """The power in a signal's spectrum, by a matrix of phases."""
    k = torch.arange(5, dtype=torch.float64)
    phases = torch.polar(
        torch.ones(5, 5, dtype=torch.float64), -2 * torch.pi / 5 * torch.outer(k, k)
    )
    return Check(lambda x: ((x + 0j) @ phases).abs().pow(2), draw(torch, 5))


@right("complex")
def complex_solve(torch: Any) -> Check:
    """A complex system."""
    a = draw(torch, 3, 3, dtype="complex128")
    return Check(torch.linalg.solve, a, draw(torch, 3, dtype="complex128"))


@right("complex")
def single_precision_complex(torch: Any) -> Check:
    """complex64."""
    return Check(lambda z: (z * z.conj()).real.sqrt() * z, draw(torch, 3, dtype="complex64"))


@right("complex")
def mixed_real_and_complex(torch: Any) -> Check:
    """A damped oscillation: real parameters, a complex exponential, several outputs."""

    def oscillate(rate, frequency):
        z = torch.exp(torch.complex(-rate, frequency))
        return z.real, z.imag, z

    return Check(oscillate, draw(torch, 3), draw(torch, 3, seed=1, low=0, high=3))
