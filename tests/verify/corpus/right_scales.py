"""Right gradients of large and tiny numbers, of saturated and of very steep functions."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, right, tensor


@right("scale")
def inputs_of_1e10(torch: Any) -> Check:
    """Squares of inputs near 1e10."""
    return Check(lambda x: (x * x).sum(), tensor(torch, [1e10, -3e10, 2e9]))


@right("scale")
def inputs_of_1e_minus_10(torch: Any) -> Check:
    """A cubic at inputs near 1e-10."""
    return Check(lambda x: x**3 + x, tensor(torch, [1e-10, -3e-10, 2e-9]))


@right("scale")
def inputs_of_1e30(torch: Any) -> Check:
    """Logarithms and ratios of inputs near 1e30."""
    return Check(lambda x: torch.log(x) + x / x.sum(), tensor(torch, [1e30, 3e30, 5e29]))


@right("scale")
def inputs_of_1e_minus_30(torch: Any) -> Check:
    """A relative measure of inputs near 1e-30."""
    return Check(lambda x: x / x.norm(), tensor(torch, [1e-30, -2e-30, 3e-31]))


@right("scale")
def scales_mixed_in_one_input(torch: Any) -> Check:
    """One tensor holds 1e-12, 1 and 1e12."""
    return Check(lambda x: x.square() + x, tensor(torch, [1e-12, 1.0, 1e12, -1e6]))


@right("scale")
def outputs_of_1e30(torch: Any) -> Check:
    """An output of 1e30."""
    return Check(lambda x: 1e30 * x.sin(), draw(torch, 4))


@right("scale")
def outputs_of_1e_minus_30(torch: Any) -> Check:
    """An output of 1e-30: an absolute tolerance would see nothing, right or wrong."""
    return Check(lambda x: 1e-30 * x.exp(), draw(torch, 4))


@right("scale")
def large_offset(torch: Any) -> Check:
    """A constant of 1e8 hides eight digits of what varies."""
    return Check(lambda x: 1e8 + x.sin(), draw(torch, 4))


@right("scale")
def gravity_in_metres(torch: Any) -> Check:
    """Newton's law in SI units: 1e-11, 1e24 and 1e11 in one formula."""

    def force(r, m):
        return 6.674e-11 * m[0] * m[1] / r**2

    return Check(force, tensor(torch, 1.496e11), tensor(torch, [1.989e30, 5.972e24]))


@right("saturation")
def saturated_sigmoid(torch: Any) -> Check:
    """sigmoid at ±40, where it is flat to the last digit."""
    return Check(lambda x: x.sigmoid(), tensor(torch, [-40.0, 40.0, 0.0, 700.0]))


@right("saturation")
def saturated_tanh(torch: Any) -> Check:
    """tanh at ±20."""
    return Check(lambda x: x.tanh() * 2, tensor(torch, [-20.0, 20.0, 0.1]))


@right("saturation")
def softmax_of_huge_logits(torch: Any) -> Check:
    """Logits of 1,000: one class has everything."""
    return Check(
        lambda x: x.softmax(-1), tensor(torch, [[1000.0, 0.0, -1000.0], [1e4, 1e4 - 1, 0]])
    )


@right("saturation")
def cross_entropy_of_a_certain_model(torch: Any) -> Check:
    """A loss at its minimum, and one far from it."""
    logits = tensor(torch, [[80.0, -80.0], [60.0, -60.0]])
    target = torch.tensor([0, 1])
    return Check(lambda x: torch.nn.functional.cross_entropy(x, target), logits)


@right("saturation")
def error_function_in_its_tail(torch: Any) -> Check:
    """erfc at 6 and log_sigmoid at -500."""
    F = torch.nn.functional
    x = tensor(torch, [6.0, -6.0, 500.0, -500.0])
    return Check(lambda x: torch.special.erfc(x / 80) + F.logsigmoid(x), x)


@right("saturation")
def softplus_across_its_threshold(torch: Any) -> Check:
    """softplus switches to the identity at 20."""
    return Check(torch.nn.functional.softplus, tensor(torch, [19.9, 20.1, -30.0, 50.0]))


@right("saturation")
def logsumexp_of_huge_numbers(torch: Any) -> Check:
    """logsumexp of 1e5, written out with a detached maximum, and built in."""

    def both(x):
        top = x.max().detach()
        return top + (x - top).exp().sum().log() + x.logsumexp(0)

    return Check(both, tensor(torch, [1e5, 1e5 - 2.0, 99_990.0]))


@right("curvature")
def fast_oscillation(torch: Any) -> Check:
    """sin(10,000 x)."""
    return Check(lambda x: torch.sin(1e4 * x), draw(torch, 4))


@right("curvature")
def steep_exponential(torch: Any) -> Check:
    """exp(50 x)."""
    return Check(lambda x: torch.exp(50 * x), draw(torch, 4))


@right("curvature")
def pole_nearby(torch: Any) -> Check:
    """1/x at 1e-6."""
    return Check(lambda x: 1 / x, tensor(torch, [1e-6, -1e-3, 0.5]))


@right("curvature")
def narrow_gaussian(torch: Any) -> Check:
    """A Gaussian of width 1e-4, on its flank."""
    return Check(
        lambda x: torch.exp(-((x / 1e-4) ** 2) / 2), tensor(torch, [0.3e-4, -1e-4, 2.5e-4])
    )


@right("curvature")
def root_near_zero(torch: Any) -> Check:
    """√x at 1e-8."""
    return Check(lambda x: x.sqrt(), tensor(torch, [1e-8, 1e-4, 2.0]))


@right("curvature")
def logarithm_near_zero(torch: Any) -> Check:
    """x log x at 1e-10."""
    return Check(lambda p: -(p * p.log()).sum(), tensor(torch, [1e-10, 0.3, 0.7]))


@right("curvature")
def high_power(torch: Any) -> Check:
    """x to the power of 60."""
    return Check(lambda x: x**60, tensor(torch, [0.9, -1.1, 1.0]))


@right("curvature")
def tangent_near_its_pole(torch: Any) -> Check:
    """tan close to π/2."""
    return Check(lambda x: x.tan(), tensor(torch, [1.57, -1.5, 0.2]))


@right("curvature")
def chaotic_map(torch: Any) -> Check:
    """Fifteen steps of the logistic map: the derivative grows with every one."""

    def iterate(x, r):
        for _ in range(15):
            x = r * x * (1 - x)
        return x

    return Check(iterate, tensor(torch, [0.3, 0.41]), tensor(torch, 3.9))


@right("curvature")
def rosenbrock_with_its_formula(torch: Any) -> Check:
    """A steep valley, with the right gradient written by hand."""

    def valley(x):
        return 1e4 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2

    def gradient(x):
        steep = x[1] - x[0] ** 2
        return torch.stack([-4e4 * x[0] * steep - 2 * (1 - x[0]), 2e4 * steep])

    return Check(valley, tensor(torch, [-1.2, 1.0]), analytical=gradient)
