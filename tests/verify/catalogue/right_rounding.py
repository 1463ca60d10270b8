"""Right gradients whose values are rounded: casts, autocast, cancellation, low precision."""

from __future__ import annotations

from typing import Any

from .table import draw, leaf, right

ROUNDED: dict[str, Any] = {
    # casts on the way
    "bfloat16_and_back": (
        lambda torch: lambda x: x.bfloat16().float() * 2,
        [0.3, -1.1, 2.7],
        "float32",
    ),
    "half_and_back": (
        lambda torch: lambda x: (x.half().float() ** 2).sum(),
        [0.3, -1.1, 2.7],
        "float32",
    ),
    "float_of_double": (
        lambda torch: lambda x: x.float().double().sin(),
        [0.3, -1.1, 2.7],
        "float64",
    ),
    "half_of_double": (
        lambda torch: lambda x: (x.half().double() * 3).exp(),
        [0.3, -0.6, 0.7],
        "float64",
    ),
    "bfloat16_of_double": (
        lambda torch: lambda x: x.bfloat16().double().tanh().sum(),
        [0.3, -1.1, 0.7],
        "float64",
    ),
    "cast_of_a_product": (
        lambda torch: lambda x: (x * x).bfloat16().to(x.dtype).sum(),
        [0.3, -1.1, 0.7],
        "float64",
    ),
    "cast_of_the_loss": (
        lambda torch: lambda x: (x.sin().sum()).half().to(x.dtype),
        [0.3, -1.1, 0.7],
        "float64",
    ),
    "there_and_back_twice": (
        lambda torch: lambda x: (x.half().float() * 2).bfloat16().float().exp(),
        [0.3, -0.4, 0.7],
        "float32",
    ),
    "matmul_in_bfloat16": (
        lambda torch: lambda x: (x.bfloat16() @ x.bfloat16()).float(),
        [[0.3, -1.1], [0.7, 0.2]],
        "float32",
    ),
    "softmax_in_half": (
        lambda torch: lambda x: x.half().softmax(0).float(),
        [0.3, -1.1, 0.7],
        "float32",
    ),
    "sum_in_float32": (
        lambda torch: lambda x: x.float().sum().double() ** 2,
        [0.3, -1.1, 0.7],
        "float64",
    ),
    "scaled_cast": (
        lambda torch: lambda x: (x * 1000).half().float() / 1000,
        [0.3, -1.1, 0.7],
        "float32",
    ),
    "stored_in_bfloat16": (
        lambda torch: lambda x: (x.sin().bfloat16() + x.cos().bfloat16()).float(),
        [0.3, -1.1, 0.7],
        "float32",
    ),
    "mean_of_squares_in_half": (
        lambda torch: lambda x: (x.half() ** 2).mean().float(),
        [0.3, -1.1, 0.7],
        "float32",
    ),
    "cast_one_branch": (
        lambda torch: lambda x: x.bfloat16().to(x.dtype) * x.exp(),
        [0.3, -0.4, 0.7],
        "float64",
    ),
    "float32_island": (
        lambda torch: lambda x: (x.float().exp().log() + 1).double() * x,
        [0.3, -0.4, 0.7],
        "float64",
    ),
    # cancellation in float32
    "add_1000_take_1000": (
        lambda torch: lambda x: ((x + 1000) - 1000) ** 2,
        [0.3, -1.1, 0.7],
        "float32",
    ),
    "one_minus_cos": (lambda torch: lambda x: 1 - x.cos(), [0.003, 0.01, 0.02], "float32"),
    "exp_minus_one": (lambda torch: lambda x: x.exp() - 1, [0.0003, 0.001, 0.02], "float32"),
    "log_of_one_plus": (lambda torch: lambda x: (1 + x).log(), [0.0003, 0.001, 0.02], "float32"),
    "difference_of_squares": (
        lambda torch: lambda x: (x + 100) ** 2 - (x - 100) ** 2,
        [0.3, -1.1, 0.7],
        "float32",
    ),
    "naive_variance": (
        lambda torch: lambda x: (x * x).mean() - x.mean() ** 2,
        [100.3, 101.1, 99.7],
        "float32",
    ),
    "sqrt_difference": (
        lambda torch: lambda x: (x + 10000).sqrt() - 100,
        [0.3, 1.1, 0.7],
        "float32",
    ),
    "tangent_near_pole": (lambda torch: lambda x: x.tan(), [1.57, 1.5, -1.56], "float32"),
    "sine_of_large": (lambda torch: lambda x: (1000 * x).sin(), [0.3, 1.1, 0.7], "float32"),
    "distance_of_close_points": (
        lambda torch: lambda x: ((x[0] - x[1]) ** 2).sum().sqrt(),
        [[1.0, 2.0], [1.0001, 2.0001]],
        "float32",
    ),
    "quadratic_root": (
        lambda torch: lambda x: (-x + (x * x - 1e-3).sqrt()) / 2,
        [10.0, 5.0, 3.0],
        "float32",
    ),
    "sigmoid_complement": (lambda torch: lambda x: 1 - x.sigmoid(), [5.0, 9.0, 12.0], "float32"),
    "log_one_minus_softmax": (
        lambda torch: lambda x: (1 - x.softmax(0)).log(),
        [5.0, -1.0, 0.0],
        "float32",
    ),
    "harmonic_sums": (
        lambda torch: (
            lambda x: (x * torch.arange(1, 201, dtype=x.dtype).reciprocal()[:3]).cumsum(0).exp()
        ),
        [0.3, 0.4, 0.7],
        "float32",
    ),
    "double_cancellation": (
        lambda torch: lambda x: ((x + 1e8) - 1e8) ** 2,
        [0.3, -1.1, 0.7],
        "float64",
    ),
    "double_one_minus_cos": (lambda torch: lambda x: 1 - x.cos(), [1e-5, 3e-5, 1e-4], "float64"),
    "heavy_cancellation": (
        lambda torch: lambda x: ((x + 30000) - 30000).exp(),
        [0.3, -1.1, 0.7],
        "float32",
    ),
    "cancel_then_divide": (
        lambda torch: lambda x: ((1 + x) - 1) / x * x.sin(),
        [0.001, 0.02, 0.7],
        "float32",
    ),
    "power_twenty": (lambda torch: lambda x: x**20, [1.3, -1.1, 0.7], "float32"),
    "softplus_of_large": (
        lambda torch: lambda x: (1 + x.exp()).log(),
        [10.0, -10.0, 20.0],
        "float32",
    ),
    # low precision throughout
    "all_in_half": (lambda torch: lambda x: (x.sin() * x).sum(), [0.3, -1.1, 0.7], "float16"),
    "all_in_bfloat16": (lambda torch: lambda x: (x.sin() * x).sum(), [0.3, -1.1, 0.7], "bfloat16"),
    "bfloat16_cancellation": (lambda torch: lambda x: (x + 4) - 4, [0.3, -1.1, 0.7], "bfloat16"),
    "half_softmax": (lambda torch: lambda x: x.softmax(0), [0.3, -1.1, 4.0], "float16"),
    "half_norm": (lambda torch: lambda x: x / (x * x).sum().sqrt(), [0.3, -1.1, 0.7], "float16"),
    "bfloat16_layer_norm": (
        lambda torch: lambda x: torch.nn.functional.layer_norm(x, (3,)),
        [0.3, -1.1, 0.7],
        "bfloat16",
    ),
    "bfloat16_gelu": (lambda torch: torch.nn.functional.gelu, [0.3, -1.1, 0.7], "bfloat16"),
    "half_exp": (lambda torch: lambda x: x.exp().sum(), [3.0, -2.0, 5.0], "float16"),
    "half_product_of_sums": (
        lambda torch: lambda x: x.sum() * x.exp().sum(),
        [0.3, -1.1, 0.7],
        "float16",
    ),
    "bfloat16_power": (lambda torch: lambda x: x**3, [0.3, -1.1, 0.7], "bfloat16"),
    # scales
    "tiny_inputs": (lambda torch: lambda x: (x * 1e8).sin(), [1e-8, 2e-8, -3e-8], "float64"),
    "huge_inputs": (lambda torch: lambda x: (x * 1e-8).sin(), [1e8, 2e8, -3e8], "float64"),
    "mixed_scales": (lambda torch: lambda x: (x * x).sum().sqrt(), [1e-6, 1.0, 1e6], "float64"),
    "tiny_slopes": (lambda torch: lambda x: 1e-12 * x.sin(), [0.3, -1.1, 0.7], "float64"),
    "huge_slopes": (lambda torch: lambda x: 1e12 * x.sin(), [0.3, -1.1, 0.7], "float64"),
    "saturated": (lambda torch: lambda x: x.tanh(), [15.0, -18.0, 0.1], "float64"),
    "saturated_sigmoid32": (lambda torch: lambda x: x.sigmoid(), [15.0, -18.0, 0.1], "float32"),
    "nearly_singular": (
        lambda torch: lambda x: x.inverse(),
        [[1.0, 1.0], [1.0, 1.0001]],
        "float64",
    ),
    "ill_conditioned_solve": (
        lambda torch: lambda x: torch.linalg.solve(x, torch.ones(2, dtype=x.dtype)),
        [[1.0, 0.99], [0.99, 1.0]],
        "float32",
    ),
    "determinant_of_nearly_singular": (
        lambda torch: lambda x: torch.linalg.det(x),
        [[1.0, 1.0], [1.0, 1.0001]],
        "float32",
    ),
    "fast_oscillation": (lambda torch: lambda x: (300 * x).sin() * x, [0.3, -1.1, 0.7], "float64"),
    "steep_exponential": (lambda torch: lambda x: (30 * x).exp(), [0.3, -1.1, 0.7], "float64"),
    "lgamma": (lambda torch: lambda x: torch.lgamma(x), [0.3, 1.1, 20.7], "float64"),
    "erf_tails": (lambda torch: lambda x: torch.erf(x), [3.3, -4.1, 0.7], "float64"),
    "constant_function": (lambda torch: lambda x: x * 0 + 3, [0.3, -1.1, 0.7], "float64"),
    "round_trip_log_exp": (lambda torch: lambda x: x.exp().log(), [30.0, -30.0, 0.7], "float32"),
}
for _name, (_program, _values, _dtype) in ROUNDED.items():
    right(
        "rounding",
        f"rounding_{_name}",
        lambda torch, p=_program, v=_values, d=_dtype: (p(torch), leaf(torch, v, d)),
    )


def _autocast(torch: Any, program: Any) -> Any:
    def run(*xs: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return program(*xs)

    return run


def _filled(torch: Any, module: Any) -> Any:
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(draw(torch, *p.shape, seed=i, low=-0.7, high=0.7, dtype="float32").detach())
    return module


AUTOCAST: dict[str, Any] = {
    "linear": lambda torch: (
        _autocast(torch, lambda x, w: torch.nn.functional.linear(x, w)),
        (3, 4),
        (2, 4),
    ),
    "linear_and_sum": lambda torch: (
        _autocast(torch, lambda x, w: torch.nn.functional.linear(x, w).float().sum()),
        (3, 4),
        (2, 4),
    ),
    "two_products": lambda torch: (
        _autocast(torch, lambda x, w: (torch.tanh(x @ w.t()) @ w).float()),
        (3, 4),
        (2, 4),
    ),
    "product_and_softmax": lambda torch: (
        _autocast(torch, lambda x, w: (x @ w.t()).softmax(1)),
        (3, 4),
        (2, 4),
    ),
    "mixed": lambda torch: (
        _autocast(torch, lambda x, w: (x @ w.t()).float() + x.sum()),
        (3, 4),
        (2, 4),
    ),
    "squared_error": lambda torch: (
        _autocast(torch, lambda x, w: ((x @ w.t()).float() ** 2).mean()),
        (3, 4),
        (2, 4),
    ),
}
for _name, _make in AUTOCAST.items():

    def _build(torch: Any, make: Any = _make) -> tuple[Any, ...]:
        program, *shapes = make(torch)
        return program, *(draw(torch, *s, seed=i, dtype="float32") for i, s in enumerate(shapes))

    right("autocast", f"autocast_{_name}", _build)


def _module_under_autocast(torch: Any) -> tuple[Any, ...]:
    class Under(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = _filled(torch, torch.nn.Linear(4, 3))

        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return self.inner(x)

    return Under(), draw(torch, 2, 4, dtype="float32")


right("autocast", "autocast_module", _module_under_autocast)


def _mlp_under_autocast(torch: Any) -> tuple[Any, ...]:
    net = _filled(
        torch, torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2))
    )
    target = torch.tensor([0, 1, 1])

    def loss(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = net(x)
        return torch.nn.functional.cross_entropy(y.float(), target)

    return loss, draw(torch, 3, 4, dtype="float32")


right("autocast", "autocast_mlp_loss", _mlp_under_autocast)

# ---- complex, integers, structures --------------------------------------------------------------
COMPLEX: dict[str, Any] = {
    "square": lambda z: z * z,
    "modulus": lambda z: (z * z.conj()).real.sum(),
    "abs": lambda z: z.abs(),
    "angle": lambda z: z.angle(),
    "exp": lambda z: z.exp(),
    "real_part": lambda z: z.real * 2 + z.imag,
    "quotient": lambda z: 1 / z,
    "conjugate_product": lambda z: z * z.conj() * z,
    "root": lambda z: (z * z + 1).sqrt(),
}
for _name, _program in COMPLEX.items():
    right(
        "complex",
        f"complex_{_name}",
        lambda torch, p=_program: (p, draw(torch, 3, dtype="complex128")),
    )

PLAIN: dict[str, Any] = {
    "integer_index": lambda torch: (
        lambda x, i: x[i].sin(),
        draw(torch, 4),
        torch.tensor([0, 2, 2]),
    ),
    "boolean_mask": lambda torch: (
        lambda x, m: (x * m).sum(),
        draw(torch, 3),
        torch.tensor([True, False, True]),
    ),
    "embedding": lambda torch: (
        lambda w, i: torch.nn.functional.embedding(i, w).sin(),
        draw(torch, 4, 2),
        torch.tensor([1, 1, 3]),
    ),
    "cross_entropy": lambda torch: (
        lambda x, t: torch.nn.functional.cross_entropy(x, t),
        draw(torch, 3, 4),
        torch.tensor([0, 3, 1]),
    ),
    "number_among_inputs": lambda torch: (lambda x, n: (x**n).sum(), draw(torch, 4), 3),
    "dictionary_out": lambda torch: (
        lambda x: {"a": x.sin(), "b": [x.sum(), x.exp()]},
        draw(torch, 4),
    ),
    "nested_in": lambda torch: (
        lambda d: d["a"] * d["b"][0] + d["b"][1],
        {"a": draw(torch, 3), "b": [draw(torch, 3, seed=1), draw(torch, 3, seed=2)]},
    ),
    "none_out": lambda torch: (lambda x: (x.sin(), None), draw(torch, 4)),
    "unused_input": lambda torch: (lambda x, y: x.sin(), draw(torch, 4), draw(torch, 3)),
    "string_among_inputs": lambda torch: (
        lambda x, mode: x.sin() if mode == "sin" else x,
        draw(torch, 4),
        "sin",
    ),
    "lstm": lambda torch: (torch.nn.LSTM(3, 2).to(torch.float64), draw(torch, 4, 2, 3)),
    "conv": lambda torch: (torch.nn.Conv1d(2, 3, 3).to(torch.float64), draw(torch, 2, 2, 5)),
    "attention_like": lambda torch: (
        lambda q, k, v: (q @ k.t() / 2).softmax(1) @ v,
        draw(torch, 3, 4),
        draw(torch, 3, 4, seed=1),
        draw(torch, 3, 4, seed=2),
    ),
    "loop_until_small": lambda torch: (_until_small, draw(torch, 3)),
    "second_derivative_inside": lambda torch: (lambda x: _slope(torch, x), draw(torch, 3)),
    "branch_on_values": lambda torch: (
        lambda x: x.sin() if float(x.detach().sum()) > 0 else x.cos(),
        draw(torch, 3),
    ),
    "checkpoint_like": lambda torch: (lambda x: (x.sin().exp().sin()).sum(), draw(torch, 16)),
}


def _until_small(x: Any) -> Any:
    while float(x.detach().abs().max()) > 0.1:
        x = x * x.abs().detach().clamp(max=0.5) * 0 + x * 0.5
    return x


def _slope(torch: Any, x: Any) -> Any:
    y = (x**3).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True) if x.requires_grad else (3 * x**2,)
    return g.sum()


for _name, _make in PLAIN.items():
    right("anything", f"plain_{_name}", _make)
