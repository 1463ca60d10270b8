"""Backwards whose formula is wrong: one line each, in many kinds of computation."""

from __future__ import annotations

from typing import Any

from .table import bound_to, draw, leaf, op, wrong


def formula(kind: str, name: str, forward: Any, backward: Any, *shapes: Any, **drawn: Any) -> None:
    """A custom function `Odd` with this forward and this wrong backward, on tensors of these shapes."""
    order = drawn.pop("order", 1)

    def build(torch: Any) -> tuple[Any, ...]:
        with_torch = {"torch": torch}
        run = bound_to(forward, with_torch)
        back = bound_to(backward, with_torch)
        F = op(torch, "Odd", run, back)
        inputs = [draw(torch, *s, seed=i, **drawn) for i, s in enumerate(shapes)]
        return lambda *xs: F.apply(*xs) * 1.25, *inputs

    options = (lambda torch: {"order": 2}) if order == 2 else (lambda torch: {})
    wrong(kind, name, "Odd", build, options=options)


torch: Any = None  # bound to the engine in each formula

# ---- saved tensors ------------------------------------------------------------------------------
formula(
    "saved", "output_for_input", lambda x: x.exp() + x, lambda ctx, g, x: g * (x.exp() + x), (3,)
)
formula(
    "saved", "other_operand", lambda a, b: a * b, lambda ctx, g, a, b: (g * a, g * b), (3,), (3,)
)
formula(
    "saved",
    "swapped_gradients",
    lambda a, b: a * b.exp(),
    lambda ctx, g, a, b: (g * a * b.exp(), g * b.exp()),
    (3,),
    (3,),
)
formula(
    "saved",
    "both_from_first",
    lambda a, b: a / (b * b + 1),
    lambda ctx, g, a, b: (g / (b * b + 1), -2 * g * a * a / (b * b + 1) ** 2),
    (3,),
    (3,),
)
formula(
    "saved",
    "one_too_many_squares",
    lambda x: 1 / (1 + x * x),
    lambda ctx, g, x: -2 * g * x / (1 + x * x),
    (4,),
)
formula("saved", "detached_mean", lambda x: x - x.mean(), lambda ctx, g, x: g, (4,))
formula(
    "saved", "input_after_scaling", lambda x: (2 * x).sin(), lambda ctx, g, x: 2 * g * x.cos(), (4,)
)

# ---- broadcasting -------------------------------------------------------------------------------
formula(
    "broadcast",
    "bias_takes_mean",
    lambda x, b: x + b,
    lambda ctx, g, x, b: (g, g.mean(0)),
    (3, 2),
    (2,),
)
formula(
    "broadcast",
    "bias_takes_first_row",
    lambda x, b: x + b,
    lambda ctx, g, x, b: (g, g[0]),
    (3, 2),
    (2,),
)
formula(
    "broadcast",
    "gain_sums_before_product",
    lambda x, w: x * w,
    lambda ctx, g, x, w: (g * w, g.sum(0) * x.mean(0)),
    (3, 2),
    (2,),
)
formula(
    "broadcast",
    "square_sums_the_wrong_axis",
    lambda x, b: x + b,
    lambda ctx, g, x, b: (g, g.sum(1)),
    (3, 3),
    (3,),
)
formula(
    "broadcast",
    "column_keeps_the_row_sum",
    lambda x, c: x * c,
    lambda ctx, g, x, c: (g * c, (g * x).sum(0, keepdim=True).t()),
    (3, 3),
    (3, 1),
)
formula(
    "broadcast",
    "scalar_takes_one_entry",
    lambda x, s: x * s,
    lambda ctx, g, x, s: (g * s, (g * x)[0]),
    (4,),
    (),
)
formula(
    "broadcast",
    "outer_sum",
    lambda a, b: a[:, None] * b[None, :],
    lambda ctx, g, a, b: ((g * b).sum(1), (g * b).sum(0)),
    (3,),
    (3,),
)

# ---- reductions ---------------------------------------------------------------------------------
formula(
    "reduction", "mean_without_count", lambda x: x.mean(), lambda ctx, g, x: g.expand(x.shape), (4,)
)
formula(
    "reduction",
    "mean_of_rows_divides_by_all",
    lambda x: x.mean(1),
    lambda ctx, g, x: (g[:, None] / x.numel()).expand(x.shape),
    (3, 4),
)
formula(
    "reduction",
    "variance_unbiased",
    lambda x: ((x - x.mean()) ** 2).sum() / (x.numel() - 1),
    lambda ctx, g, x: g * 2 * (x - x.mean()) / x.numel(),
    (5,),
)
formula(
    "reduction", "norm_not_divided", lambda x: (x * x).sum().sqrt(), lambda ctx, g, x: g * x, (4,)
)
formula(
    "reduction",
    "norm_halved",
    lambda x: (x * x).sum().sqrt(),
    lambda ctx, g, x: g * x / (2 * (x * x).sum().sqrt()),
    (4,),
)
formula(
    "reduction", "product_of_others", lambda x: x.prod(), lambda ctx, g, x: g * x.prod() * x, (4,)
)
formula(
    "reduction",
    "logsumexp_not_normalized",
    lambda x: x.exp().sum().log(),
    lambda ctx, g, x: g * x.exp(),
    (4,),
)
formula("reduction", "cumsum_forwards", lambda x: x.cumsum(0), lambda ctx, g, x: g.cumsum(0), (4,))
formula(
    "reduction",
    "max_to_every_row",
    lambda x: x.amax(1),
    lambda ctx, g, x: (x == x.amax()) * g[:, None],
    (3, 4),
)
formula(
    "reduction",
    "std_without_root",
    lambda x: x.std(),
    lambda ctx, g, x: g * (x - x.mean()) / (x.numel() - 1),
    (5,),
)
formula(
    "reduction",
    "sum_keeps_scale",
    lambda x: x.sum(0) / 3,
    lambda ctx, g, x: g.expand(x.shape),
    (3, 2),
)

# ---- masks --------------------------------------------------------------------------------------
formula(
    "mask", "inverted", lambda x: x.masked_fill(x > 0.5, 0.0), lambda ctx, g, x: g * (x > 0.5), (6,)
)
formula(
    "mask",
    "forgotten",
    lambda x: x.masked_fill(x > 0.5, 0.0),
    lambda ctx, g, x: g,
    (6,),
    low=0,
    high=1,
)
formula(
    "mask",
    "where_swapped",
    lambda a, b: torch.where(a > 0, a, b),
    lambda ctx, g, a, b: (g * (a <= 0), g * (a > 0)),
    (6,),
    (6,),
)
formula(
    "mask",
    "where_both",
    lambda a, b: torch.where(a > 0, a, b),
    lambda ctx, g, a, b: (g * (a > 0), g),
    (6,),
    (6,),
)
formula(
    "mask",
    "dropout_without_scale",
    lambda x: x * (x.abs() > 0.4) / 0.6,
    lambda ctx, g, x: g * (x.abs() > 0.4),
    (8,),
)
formula(
    "mask",
    "padding_counted",
    lambda x: (x * (x > 0)).sum() / (x > 0).sum(),
    lambda ctx, g, x: g * (x > 0) / x.numel(),
    (6,),
)
formula("mask", "lower_triangle_for_upper", lambda x: x.tril(), lambda ctx, g, x: g.triu(), (3, 3))
formula("mask", "diagonal_left_out", lambda x: x.tril(), lambda ctx, g, x: g.tril(-1), (3, 3))

# ---- indexing -----------------------------------------------------------------------------------
formula(
    "indexing",
    "duplicates_written_not_added",
    lambda x: x[[0, 0, 1]] * 1.0,
    lambda ctx, g, x: torch.stack([g[1], g[2], 0 * g[0]]),
    (3,),
)
formula(
    "indexing", "gather_by_position", lambda x: x[[2, 0, 1]], lambda ctx, g, x: g[[2, 0, 1]], (3,)
)
formula(
    "indexing", "off_by_one", lambda x: x[1:], lambda ctx, g, x: torch.cat([g, 0 * g[:1]]), (5,)
)
formula(
    "indexing", "every_second", lambda x: x[::2], lambda ctx, g, x: torch.cat([g, 0 * g[:2]]), (5,)
)
formula("indexing", "flip_forgotten", lambda x: x.flip(0), lambda ctx, g, x: g, (4,))
formula(
    "indexing", "roll_the_same_way", lambda x: x.roll(1, 0), lambda ctx, g, x: g.roll(1, 0), (4,)
)
formula(
    "indexing",
    "permutation_not_inverted",
    lambda x: x.permute(1, 2, 0) * 1.0,
    lambda ctx, g, x: g.permute(1, 2, 0),
    (3, 3, 3),
)
formula(
    "indexing",
    "pad_shifted",
    lambda x: torch.cat([x[:1], x, x[-1:]]),
    lambda ctx, g, x: g[1:-1],
    (4,),
)
formula("indexing", "repeat_takes_last", lambda x: torch.cat([x, x]), lambda ctx, g, x: g[4:], (4,))
formula(
    "indexing",
    "stack_exchanged",
    lambda a, b: torch.stack([a, b]),
    lambda ctx, g, a, b: (g[1], g[0]),
    (3,),
    (3,),
)
formula(
    "indexing",
    "embedding_row_zero_lost",
    lambda w: w[[0, 2, 0]],
    lambda ctx, g, w: torch.stack([0 * g[0], 0 * g[0], g[1]]),
    (3, 2),
)

# ---- matrices -----------------------------------------------------------------------------------
formula(
    "matrix",
    "weight_transposed",
    lambda x, w: x @ w,
    lambda ctx, g, x, w: (g @ w, x.t() @ g),
    (3, 3),
    (3, 3),
)
formula(
    "matrix",
    "input_against_output",
    lambda x, w: x @ w,
    lambda ctx, g, x, w: (g @ w.t(), g.t() @ x),
    (3, 3),
    (3, 3),
)
formula(
    "matrix",
    "trace_of_product",
    lambda a, b: (a @ b).trace(),
    lambda ctx, g, a, b: (g * b, g * a),
    (3, 3),
    (3, 3),
)
formula(
    "matrix",
    "quadratic_not_symmetrized",
    lambda x, a: x @ (a @ x),
    lambda ctx, g, x, a: (2 * g * (a @ x), g * x[:, None] * x),
    (3,),
    (3, 3),
)
formula(
    "matrix",
    "inverse_sign",
    lambda a: (a + 4 * torch.eye(3, dtype=a.dtype)).inverse(),
    lambda ctx, g, a: _inv(a, torch).t() @ g @ _inv(a, torch).t(),
    (3, 3),
)
formula(
    "matrix",
    "batch_shares_one",
    lambda x, w: x @ w,
    lambda ctx, g, x, w: (g @ w.transpose(1, 2), (x.transpose(1, 2) @ g).mean(0).expand(w.shape)),
    (2, 3, 2),
    (2, 2, 3),
)
formula(
    "matrix",
    "outer_swapped",
    lambda a, b: a[:, None] * b,
    lambda ctx, g, a, b: (g.t() @ b, g @ a),
    (3,),
    (3,),
)


def _inv(a: Any, torch: Any) -> Any:
    return (a + 4 * torch.eye(3, dtype=a.dtype)).inverse()


# ---- normalizing --------------------------------------------------------------------------------
formula(
    "normalizing",
    "softmax_diagonal_only",
    lambda x: x.softmax(0),
    lambda ctx, g, x: g * x.softmax(0) * (1 - x.softmax(0)),
    (4,),
)
formula(
    "normalizing",
    "softmax_other_axis",
    lambda x: x.softmax(1),
    lambda ctx, g, x: x.softmax(1) * (g - (g * x.softmax(1)).sum(0, keepdim=True)),
    (3, 3),
)
formula(
    "normalizing",
    "log_softmax_forgets_sum",
    lambda x: x.log_softmax(0),
    lambda ctx, g, x: g - x.softmax(0),
    (4,),
)
formula(
    "normalizing",
    "rms_without_second_term",
    lambda x: x / (x * x).mean().sqrt(),
    lambda ctx, g, x: g / (x * x).mean().sqrt(),
    (4,),
)
formula(
    "normalizing",
    "unit_vector",
    lambda x: x / x.norm(),
    lambda ctx, g, x: (g - x * (g * x).sum()) / x.norm(),
    (4,),
)
formula(
    "normalizing",
    "minmax_constant",
    lambda x: (x - x.min()) / (x.max() - x.min()),
    lambda ctx, g, x: g / (x.max() - x.min()),
    (5,),
)
formula(
    "normalizing",
    "temperature_lost",
    lambda x: (x / 2).softmax(0),
    lambda ctx, g, x: (x / 2).softmax(0) * (g - (g * (x / 2).softmax(0)).sum()),
    (4,),
)

# ---- losses -------------------------------------------------------------------------------------
formula(
    "loss",
    "mse_without_two",
    lambda x, y: ((x - y) ** 2).mean(),
    lambda ctx, g, x, y: (g * (x - y) / x.numel(), -g * (x - y) / x.numel()),
    (4,),
    (4,),
)
formula("loss", "incoming_ignored", lambda x: (x**2).sum(), lambda ctx, g, x: 2 * x, (4,))
formula(
    "loss",
    "target_sign",
    lambda x, y: ((x - y) ** 2).sum(),
    lambda ctx, g, x, y: (2 * g * (x - y), 2 * g * (x - y)),
    (4,),
    (4,),
)
formula(
    "loss",
    "bce_without_sigmoid",
    lambda x: (1 + x.exp()).log().sum(),
    lambda ctx, g, x: g * x,
    (4,),
)
formula(
    "loss",
    "huber_slope",
    lambda x: torch.where(x.abs() < 1, x * x / 2, x.abs() - 0.5).sum(),
    lambda ctx, g, x: g * torch.where(x.abs() < 1, x, x),
    (6,),
    low=0.5,
    high=2.5,
)
formula(
    "loss",
    "kl_of_the_wrong_way",
    lambda p, q: (p.exp() * (p - q)).sum(),
    lambda ctx, g, p, q: (g * p.exp() * (p - q), -g * p.exp()),
    (4,),
    (4,),
)
formula(
    "loss",
    "cosine_unnormalized",
    lambda a, b: (a * b).sum() / (a.norm() * b.norm()),
    lambda ctx, g, a, b: (g * b / (a.norm() * b.norm()), g * a / (a.norm() * b.norm())),
    (4,),
    (4,),
)

# ---- constants ----------------------------------------------------------------------------------
formula(
    "constant",
    "gelu_0.0447",
    lambda x: 0.5 * x * (1 + (0.79788456 * (x + 0.044715 * x**3)).tanh()),
    lambda ctx, g, x: g * _gelu_slope(x, 0.0447),
    (5,),
)
formula(
    "constant",
    "pi_to_four_digits",
    lambda x: (3.14159265358979 * x).sin(),
    lambda ctx, g, x: 3.1416 * g * (3.14159265358979 * x).cos(),
    (4,),
)
formula(
    "constant",
    "log_of_another_base",
    lambda x: x.abs().log() / 0.6931471805599453,
    lambda ctx, g, x: g / x,
    (4,),
)
formula(
    "constant",
    "scale_of_heads",
    lambda q, k: q @ k.t() / 3**0.5,
    lambda ctx, g, q, k: (g @ k / 3, g.t() @ q / 3),
    (2, 3),
    (2, 3),
)
formula(
    "constant",
    "epsilon_doubled",
    lambda x: x / (x * x + 0.1).sqrt(),
    lambda ctx, g, x: 0.1001 * g / (x * x + 0.1) ** 1.5,
    (4,),
)
formula(
    "constant",
    "one_percent",
    lambda x: x.tanh(),
    lambda ctx, g, x: 0.99 * g * (1 - x.tanh() ** 2),
    (4,),
)
formula(
    "constant",
    "one_in_a_million",
    lambda x: x.tanh(),
    lambda ctx, g, x: (1 + 1e-6) * g * (1 - x.tanh() ** 2),
    (4,),
)


def _gelu_slope(x: Any, c: float) -> Any:
    u = 0.79788456 * (x + 0.044715 * x**3)
    return 0.5 * (1 + u.tanh()) + 0.5 * x * (1 - u.tanh() ** 2) * 0.79788456 * (1 + 3 * c * x**2)


# ---- complex ------------------------------------------------------------------------------------
C = {"dtype": "complex128"}
formula(
    "complex", "square_without_conjugate", lambda z: z * z, lambda ctx, g, z: 2 * g * z, (3,), **C
)
formula(
    "complex",
    "product_without_conjugate",
    lambda a, b: a * b,
    lambda ctx, g, a, b: (g * b, g * a),
    (3,),
    (3,),
    **C,
)
formula("complex", "conjugate_passed_on", lambda z: z.conj() * 1, lambda ctx, g, z: g, (3,), **C)
formula(
    "complex", "modulus_halved", lambda z: (z * z.conj()).real, lambda ctx, g, z: g * z, (3,), **C
)
formula(
    "complex", "real_as_imaginary", lambda z: z.imag * 1, lambda ctx, g, z: g * (1 + 0j), (3,), **C
)
formula(
    "complex", "exp_without_conjugate", lambda z: z.exp(), lambda ctx, g, z: g * z.exp(), (3,), **C
)
formula(
    "complex",
    "angle_sign",
    lambda z: z.angle(),
    lambda ctx, g, z: -g * 1j * z / (z.abs() ** 2),
    (3,),
    **C,
)
formula(
    "complex",
    "matrix_plain_transpose",
    lambda a, b: a @ b,
    lambda ctx, g, a, b: (g @ b.t(), a.t() @ g),
    (2, 2),
    (2, 2),
    **C,
)

# ---- second order -------------------------------------------------------------------------------
formula(
    "second order",
    "saved_detached",
    lambda x: x**3,
    lambda ctx, g, x: 3 * g * x.detach() ** 2,
    (3,),
    order=2,
)
formula(
    "second order",
    "slope_frozen",
    lambda x: x.sin(),
    lambda ctx, g, x: g * x.detach().cos(),
    (3,),
    order=2,
)
formula(
    "second order",
    "incoming_detached",
    lambda x: x.exp(),
    lambda ctx, g, x: g.detach() * x.exp(),
    (3,),
    order=2,
)
formula(
    "second order",
    "product_one_side_frozen",
    lambda a, b: a * b,
    lambda ctx, g, a, b: (g * b.detach(), g * a),
    (3,),
    (3,),
    order=2,
)
formula(
    "second order",
    "norm_frozen",
    lambda x: x.norm(),
    lambda ctx, g, x: g * x / x.detach().norm(),
    (4,),
    order=2,
)
formula(
    "second order",
    "matrix_frozen",
    lambda x, w: x @ w,
    lambda ctx, g, x, w: (g @ w.detach().t(), x.t() @ g),
    (2, 3),
    (3, 2),
    order=2,
)

# ---- dtype --------------------------------------------------------------------------------------
formula(
    "dtype", "slope_in_half", lambda x: x.exp(), lambda ctx, g, x: g * x.half().exp().double(), (4,)
)
formula(
    "dtype",
    "incoming_in_bfloat16",
    lambda x: x * 3,
    lambda ctx, g, x: 3 * g.bfloat16().double(),
    (4,),
)
formula("dtype", "slope_to_integer", lambda x: x * x, lambda ctx, g, x: g * (2 * x).long(), (4,))
formula(
    "dtype",
    "sum_in_half",
    lambda x, b: x + b,
    lambda ctx, g, x, b: (g, g.half().sum(0).double()),
    (3, 2),
    (2,),
)
formula(
    "dtype",
    "rounded_to_percent",
    lambda x: x.sin(),
    lambda ctx, g, x: g * (x.cos() * 100).round() / 100,
    (4,),
)
formula(
    "dtype",
    "float16_doubled",
    lambda x: x.sin(),
    lambda ctx, g, x: 2 * g * x.cos(),
    (4,),
    dtype="float16",
)
formula(
    "dtype",
    "bfloat16_tenth",
    lambda x: x.sin(),
    lambda ctx, g, x: 1.2 * g * x.cos(),
    (4,),
    dtype="bfloat16",
)
formula(
    "dtype",
    "float32_permille",
    lambda x: x.sin(),
    lambda ctx, g, x: 1.001 * g * x.cos(),
    (4,),
    dtype="float32",
)

# ---- batches ------------------------------------------------------------------------------------
formula(
    "batch",
    "first_example_only",
    lambda x, w: x * w,
    lambda ctx, g, x, w: (g * w, (g * x)[0]),
    (3, 2),
    (2,),
)
formula(
    "batch",
    "last_example_lost",
    lambda x: x.sin(),
    lambda ctx, g, x: torch.cat([(g * x.cos())[:-1], 0 * g[-1:]]),
    (3, 2),
)
formula(
    "batch",
    "divided_twice",
    lambda x: x.sum(1) / x.shape[0],
    lambda ctx, g, x: (g[:, None] / x.shape[0] ** 2).expand(x.shape),
    (3, 2),
)
formula(
    "batch",
    "batch_norm_frozen",
    lambda x: (x - x.mean(0)) / (x.var(0) + 1e-5).sqrt(),
    lambda ctx, g, x: g / (x.var(0) + 1e-5).sqrt(),
    (4, 2),
)
formula("batch", "examples_mixed", lambda x: x.sin(), lambda ctx, g, x: g.flip(0) * x.cos(), (3, 2))

# ---- sequences and convolutions -----------------------------------------------------------------
formula(
    "sequence",
    "recurrence_cut_short",
    lambda x: torch.stack([x[0], x[1] * x[0], x[2] * x[1] * x[0]]),
    lambda ctx, g, x: torch.stack([g[0] + g[1] * x[1], g[1] * x[0], g[2] * x[1] * x[0]]),
    (3,),
)
formula(
    "sequence",
    "difference_one_side",
    lambda x: x[1:] - x[:-1],
    lambda ctx, g, x: torch.cat([0 * g[:1], g]),
    (5,),
)
formula(
    "sequence",
    "filter_not_flipped",
    lambda x: x[:-2] + 2 * x[1:-1] + 3 * x[2:],
    lambda ctx, g, x: (
        torch.cat([3 * g, 0 * g[:2]])
        + torch.cat([0 * g[:1], 2 * g, 0 * g[:1]])
        + torch.cat([0 * g[:2], g])
    ),
    (6,),
)
formula(
    "sequence",
    "pool_to_all",
    lambda x: x.reshape(3, 2).amax(1),
    lambda ctx, g, x: g.repeat_interleave(2),
    (6,),
)
formula(
    "sequence",
    "average_pool_not_divided",
    lambda x: x.reshape(3, 2).mean(1),
    lambda ctx, g, x: g.repeat_interleave(2),
    (6,),
)
formula(
    "sequence",
    "decay_not_powered",
    lambda x: x[0] * 0.25 + x[1] * 0.5 + x[2],
    lambda ctx, g, x: g * torch.tensor([0.5, 0.5, 1.0], dtype=x.dtype),
    (3,),
)

# ---- several outputs ----------------------------------------------------------------------------


def _several(name: str, backward: Any, program: Any) -> None:
    def build(torch: Any) -> tuple[Any, ...]:
        F = op(torch, "Odd", lambda x: (x.sin(), x.exp()), backward)
        return (lambda x: program(F.apply(x))), draw(torch, 4)

    wrong("several outputs", f"several_{name}", "Odd", build)


_several("second_lost", lambda ctx, g, h, x: g * x.cos(), lambda y: y[0] + y[1])
_several("exchanged", lambda ctx, g, h, x: h * x.cos() + g * x.exp(), lambda y: y[0] * y[1])
_several("first_twice", lambda ctx, g, h, x: g * x.cos() + g * x.exp(), lambda y: y[0] + 2 * y[1])
_several("product", lambda ctx, g, h, x: g * h * x.cos() * x.exp(), lambda y: y[0] + y[1])
_several(
    "second_doubled",
    lambda ctx, g, h, x: g * x.cos() + 2 * h * x.exp(),
    lambda y: (y[0], y[1].mean()),
)

# ---- signs, powers, places ----------------------------------------------------------------------
formula("sign", "cosine", lambda x: x.cos(), lambda ctx, g, x: g * x.sin(), (4,))
formula("sign", "reciprocal", lambda x: 1 / x, lambda ctx, g, x: g / (x * x), (4,))
formula(
    "sign", "subtrahend", lambda a, b: a - b * b, lambda ctx, g, a, b: (g, 2 * g * b), (3,), (3,)
)
formula("sign", "absolute", lambda x: x.abs() ** 3, lambda ctx, g, x: 3 * g * x.abs() ** 2, (4,))
formula("power", "one_less", lambda x: x**4, lambda ctx, g, x: 4 * g * x**4, (4,))
formula("power", "exponent_forgotten", lambda x: x**4, lambda ctx, g, x: g * x**3, (4,))
formula(
    "power",
    "root",
    lambda x: (x * x + 1).sqrt(),
    lambda ctx, g, x: g / (2 * (x * x + 1).sqrt()),
    (4,),
)
formula(
    "power", "quotient", lambda a, b: a / b, lambda ctx, g, a, b: (g / b, -g * a / b), (3,), (3,)
)
formula(
    "one entry",
    "corner",
    lambda x: x.sin(),
    lambda ctx, g, x: torch.cat([1.3 * (g * x.cos())[:1], (g * x.cos())[1:]]),
    (5,),
)
formula(
    "one entry",
    "last_of_64",
    lambda x: x.sin(),
    lambda ctx, g, x: torch.cat([(g * x.cos())[:-1], 0 * g[-1:]]),
    (64,),
)
formula(
    "one entry",
    "where_large",
    lambda x: x**2,
    lambda ctx, g, x: torch.where(x.abs() > 1.2, g, 2 * g * x),
    (24,),
)
formula(
    "saturation",
    "sigmoid_tail",
    lambda x: (4 * x).sigmoid(),
    lambda ctx, g, x: 4 * g * (4 * x).sigmoid() * (1 - (4 * x).sigmoid()) * (x.abs() < 1.2),
    (24,),
)
formula(
    "saturation",
    "exp_clamped",
    lambda x: x.exp(),
    lambda ctx, g, x: g * x.exp().clamp(max=3.0),
    (12,),
)
formula(
    "saturation", "clipped_gradient", lambda x: 5 * x, lambda ctx, g, x: (5 * g).clamp(-1, 1), (4,)
)
formula("saturation", "sign_of_gradient", lambda x: 5 * x, lambda ctx, g, x: 5 * g.sign(), (4,))

# ---- cuts and values that lose the graph -------------------------------------------------------
CUTS: dict[str, Any] = {
    "detach_of_the_norm": ("detach", lambda torch: lambda x: x / x.norm().detach()),
    "data_of_the_mean": (".data", lambda torch: lambda x: x - x.mean().data),
    "item_of_the_scale": ("item", lambda torch: lambda x: x * x.abs().max().item()),
    "tensor_of_a_tensor": (
        "tolist|tensor|item",
        lambda torch: lambda x: x * torch.tensor(x.detach().tolist(), dtype=x.dtype),
    ),
    "numpy_round_trip": (
        "numpy",
        lambda torch: lambda x: x * torch.from_numpy(x.detach().numpy() ** 2),
    ),
    "no_grad_scale": ("no_grad", lambda torch: lambda x: _no_grad_scale(torch, x)),
    "float_of_the_sum": ("float|item", lambda torch: lambda x: x * float(x.sum())),
}
for _name, (_how, _program) in CUTS.items():
    wrong(
        "cut",
        f"cut_{_name}",
        _how + "|detach",
        lambda torch, p=_program: (p(torch), draw(torch, 4)),
        cut=True,
    )


def _no_grad_scale(torch: Any, x: Any) -> Any:
    with torch.no_grad():
        scale = x.exp().sum()
    return x * scale


# ---- in place -----------------------------------------------------------------------------------


def _in_place(name: str, forward: Any, backward: Any) -> None:
    def build(torch: Any) -> tuple[Any, ...]:
        F = op(
            torch, "Odd", bound_to(forward, {"torch": torch}), bound_to(backward, {"torch": torch})
        )
        return lambda x: F.apply(x * 1.0).cos(), draw(torch, 4)

    wrong("in place", f"in_place_{name}", "Odd", build)


def _overwrite(ctx: Any, x: Any) -> Any:
    ctx.kept = x.detach().clone()
    y = ctx.kept.exp()
    ctx.kept.add_(1.0)
    return y


_in_place("kept_value_changed", _overwrite, lambda ctx, g, x: g * ctx.kept.exp())


def _result_reused(ctx: Any, x: Any) -> Any:
    y = x.detach().tanh()
    ctx.kept = y
    z = y.mul_(2.0)
    return z.clone()


_in_place("result_scaled_after_saving", _result_reused, lambda ctx, g, x: 2 * g * (1 - ctx.kept**2))


def _accumulated(ctx: Any, x: Any) -> Any:
    ctx.total = x.detach().cumsum(0)
    ctx.total[0] = 0.0
    return x.detach() * x.detach().cumsum(0)


_in_place(
    "buffer_cleared",
    _accumulated,
    lambda ctx, g, x: g * ctx.total + (g * x).flip(0).cumsum(0).flip(0),
)

# ---- as intended --------------------------------------------------------------------------------


def _meant(name: str, forward: Any, backward: Any, meant: Any) -> None:
    def build(torch: Any) -> tuple[Any, ...]:
        F = op(torch, "Odd", forward, backward)
        return lambda x: (F.apply(x) * x).sum(), draw(torch, 4)

    wrong(
        "not as intended",
        f"meant_{name}",
        "Odd",
        build,
        options=lambda torch: {"intended": {"Odd": meant}},
    )


_meant("straight_through_doubled", lambda x: x.round(), lambda ctx, g, x: 2 * g, lambda x: x)
_meant(
    "straight_through_clipped",
    lambda x: x.sign(),
    lambda ctx, g, x: g * (x.abs() < 1.4),
    lambda x: x.clamp(-1, 1),
)
_meant("reversal_forgotten", lambda x: x * 1.0, lambda ctx, g, x: g, lambda x: -x)
_meant(
    "surrogate_of_another_width",
    lambda x: (x > 0) * 1.0,
    lambda ctx, g, x: g * 5 * (5 * x).sigmoid() * (1 - (5 * x).sigmoid()),
    lambda x: (4 * x).sigmoid(),
)

# ---- not a number -------------------------------------------------------------------------------
NOT_FINITE: dict[str, Any] = {
    "norm_of_zeros": (
        "norm|sqrt|Odd",
        lambda torch: lambda x: (x * x).sum(1).sqrt().sum(),
        [[1.0, 2.0], [0.0, 0.0]],
    ),
    "where_of_sqrt": (
        "sqrt",
        lambda torch: lambda x: torch.where(x > 0, x.sqrt(), 0 * x).sum(),
        [1.0, 0.0, 2.0],
    ),
    "log_of_masked": (
        "log",
        lambda torch: lambda x: torch.where(x > 0, x.log(), 0 * x).sum(),
        [1.0, -1.0, 0.0],
    ),
    "power_of_zero": ("pow|__pow__", lambda torch: lambda x: (x**0.5 * (x > 0)).sum(), [4.0, 0.0]),
    "division_hidden": (
        "div|__truediv__|truediv|__rdiv__|reciprocal",
        lambda torch: lambda x: torch.where(x != 0, 1 / x, 0 * x).sum(),
        [2.0, 0.0],
    ),
}
for _name, (_ops, _program, _values) in NOT_FINITE.items():
    wrong(
        "not finite",
        f"not_finite_{_name}",
        _ops,
        lambda torch, p=_program, v=_values: (p(torch), leaf(torch, v)),
    )
