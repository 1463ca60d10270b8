"""Right gradients at kinks, ties and bounds, and a hair beside them."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, right, tensor


@right("kink", kink=True)
def relu_at_zero(torch: Any) -> Check:
    """relu(0): 0 from the left, 1 from the right."""
    return Check(torch.relu, tensor(torch, [-1.0, 0.0, 2.0]))


@right("kink", kink=True)
def relu_layer_with_dead_units(torch: Any) -> Check:
    """A zero row makes every unit of the layer sit on its kink."""

    def layer(x, w):
        return torch.relu(x @ w).sum(-1)

    return Check(layer, tensor(torch, [[0.0, 0.0], [1.0, -0.5]]), draw(torch, 2, 3))


@right("kink", kink=True)
def absolute_value_at_zero(torch: Any) -> Check:
    """|0|."""
    return Check(lambda x: x.abs().sum() * 3, tensor(torch, [0.0, -2.0, 1.0]))


@right("kink", kink=True)
def maximum_of_a_tie(torch: Any) -> Check:
    """The largest value occurs three times; the gradient is shared among them."""
    return Check(lambda x: x.max(), tensor(torch, [1.0, 3.0, 3.0, 3.0]))


@right("kink", kink=True)
def maximum_along_a_dimension_with_ties(torch: Any) -> Check:
    """max(dim) picks one of the tied, amax shares."""
    x = tensor(torch, [[1.0, 1.0, 0.0], [2.0, 5.0, 5.0]])
    return Check(lambda x: (x.max(1).values, x.amax(1)), x)


@right("kink", kink=True)
def clamped_at_its_bounds(torch: Any) -> Check:
    """Values exactly at both bounds."""
    return Check(lambda x: x.clamp(-1, 1) ** 2, tensor(torch, [-1.0, -0.5, 1.0, 3.0]))


@right("kink", kink=True)
def hard_activations(torch: Any) -> Check:
    """hardtanh, hardsigmoid, hardswish and relu6 at their corners."""
    F = torch.nn.functional
    x = tensor(torch, [-3.0, -1.0, 0.0, 1.0, 3.0, 6.0])
    return Check(lambda x: F.hardtanh(x) + F.hardsigmoid(x) + F.hardswish(x) + F.relu6(x), x)


@right("kink", kink=True)
def norm_at_the_origin(torch: Any) -> Check:
    """The gradient of a norm at 0 is taken as 0, which is in its subgradient."""
    return Check(torch.linalg.vector_norm, tensor(torch, [0.0, 0.0, 0.0]))


@right("kink", kink=True)
def sorted_with_ties(torch: Any) -> Check:
    """Sorting equal values: which of them comes first is a choice."""
    weights = tensor(torch, [1.0, 2.0, 3.0, 4.0], requires_grad=False)
    return Check(lambda x: (x.sort().values * weights).sum(), tensor(torch, [2.0, 1.0, 2.0, 0.0]))


@right("kink", kink=True)
def median_of_equal_values(torch: Any) -> Check:
    """The median occurs twice."""
    return Check(lambda x: x.median(), tensor(torch, [1.0, 2.0, 2.0, 5.0, 0.0]))


@right("kink", kink=True)
def elementwise_maximum_of_equals(torch: Any) -> Check:
    """maximum(a, b) where a = b gives each half."""
    a, b = tensor(torch, [1.0, 2.0, 0.0]), tensor(torch, [1.0, 1.0, 0.0])
    return Check(lambda a, b: torch.maximum(a, b) - torch.minimum(a, 2 * b), a, b)


@right("kink")
def kinks_that_cancel(torch: Any) -> Check:
    """relu(x) - relu(-x) is x, smooth at 0; each half took the side it always takes."""
    return Check(lambda x: torch.relu(x) - torch.relu(-x), tensor(torch, [0.0, 1.0]))


@right("kink", kink=True)
def lasso_at_a_sparse_point(torch: Any) -> Check:
    """An L1 penalty where several weights are 0."""
    x, y = draw(torch, 4, 3, requires_grad=False), draw(torch, 4, requires_grad=False)

    def objective(w):
        return ((x @ w - y) ** 2).sum() + 0.3 * w.abs().sum()

    return Check(objective, tensor(torch, [0.0, 0.7, 0.0]))


@right("kink", kink=True)
def max_pooling_of_a_flat_image(torch: Any) -> Check:
    """Every window of a constant image is a tie."""
    image = torch.ones(1, 1, 4, 4, dtype=torch.float64, requires_grad=True)
    return Check(lambda x: torch.nn.functional.max_pool2d(x, 2), image)


@right("kink", kink=True)
def hinge_on_the_margin(torch: Any) -> Check:
    """A hinge loss with an example exactly on the margin."""
    signs = tensor(torch, [1.0, -1.0, 1.0], requires_grad=False)

    def loss(score):
        return torch.clamp(1 - signs * score, min=0).mean()

    return Check(loss, tensor(torch, [1.0, 0.5, -0.25]))


@right("beside a kink")
def relu_a_hair_from_zero(torch: Any) -> Check:
    """1e-9 from the kink, on either side."""
    return Check(lambda x: torch.relu(x) * 2, tensor(torch, [1e-9, -1e-9, 0.3]))


@right("beside a kink")
def nearly_tied_maximum(torch: Any) -> Check:
    """Two values 1e-9 apart, of which one is the larger."""
    return Check(lambda x: x.max() ** 2, tensor(torch, [1.0, 1.0 + 1e-9, 0.5]))


@right("beside a kink")
def clamp_a_hair_inside(torch: Any) -> Check:
    """1e-10 inside the bound."""
    return Check(lambda x: (x.clamp(0, 1) * 3).exp(), tensor(torch, [1 - 1e-10, 1e-10, 0.4]))


@right("beside a kink")
def interpolation_beside_its_knots(torch: Any) -> Check:
    """Piecewise-linear interpolation close to a knot and in the middle of a piece."""
    knots = tensor(torch, [0.0, 1.0, 2.0, 3.0], requires_grad=False)

    def interpolate(heights, at):
        left = torch.bucketize(at.detach(), knots, right=True) - 1
        part = at - knots[left]
        return heights[left] * (1 - part) + heights[left + 1] * part

    return Check(interpolate, draw(torch, 4), tensor(torch, [0.5, 1.0 + 1e-8, 2.5]))


@right("beside a kink")
def end_of_the_domain_nearby(torch: Any) -> Check:
    """1e-6 further on the function raises an error: there is no table entry."""
    table = tensor(torch, [1.0, 3.0, 2.0, 5.0], requires_grad=False)

    def interpolate(at):
        left = at.detach().floor().to(torch.int64)
        return table[left] + (at - left) * (table[left + 1] - table[left])

    return Check(interpolate, tensor(torch, [0.5, 3 - 1e-6]))


@right("kink", kink=True)
def interpolation_at_a_knot(torch: Any) -> Check:
    """Piecewise-linear interpolation exactly at a knot."""
    knots = tensor(torch, [0.0, 1.0, 2.0], requires_grad=False)
    heights = tensor(torch, [0.0, 2.0, 1.0], requires_grad=False)

    def interpolate(at):
        left = torch.bucketize(at.detach(), knots, right=True) - 1
        part = at - knots[left]
        return heights[left] * (1 - part) + heights[left + 1] * part

    return Check(interpolate, tensor(torch, [0.25, 1.0]))


@right("kink", kink=True)
def prelu_and_leaky_at_zero(torch: Any) -> Check:
    """Slopes on both sides of 0, neither of them 0."""
    F = torch.nn.functional
    x, slope = tensor(torch, [0.0, -1.0, 2.0]), tensor(torch, [0.25])
    return Check(lambda x, a: F.prelu(x, a) + F.leaky_relu(x, 0.1), x, slope)
