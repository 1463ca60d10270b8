"""Right gradients that look at what arrives, take short cuts, keep state or share memory."""

from __future__ import annotations

import threading
from typing import Any

from .table import draw, leaf, op, right


def custom(
    kind: str,
    name: str,
    forward: Any,
    backward: Any,
    *shapes: Any,
    program: Any = None,
    **drawn: Any,
) -> None:
    """A custom function with a right backward."""

    def build(torch: Any) -> tuple[Any, ...]:
        F = op(torch, "Fair", forward, backward)
        inputs = [draw(torch, *s, seed=i, **drawn) for i, s in enumerate(shapes)]
        if program is not None:
            return program(F), *inputs
        return lambda *xs: F.apply(*xs) * 1.25, *inputs

    right(kind, name, build)


SINE = lambda x: x.sin()  # noqa: E731
# ---- short cuts for some incoming gradients -----------------------------------------------------
custom(
    "arriving",
    "ones_short_cut",
    SINE,
    lambda ctx, g, x: x.cos() if bool((g == 1).all()) else g * x.cos(),
    (4,),
)
custom(
    "arriving",
    "zero_short_cut",
    SINE,
    lambda ctx, g, x: g * x.cos() if bool(g.any()) else x * 0,
    (4,),
)
custom(
    "arriving",
    "zero_gives_none",
    SINE,
    lambda ctx, g, x: g * x.cos() if bool(g.any()) else None,
    (4,),
)
custom(
    "arriving",
    "contiguous_first",
    SINE,
    lambda ctx, g, x: (g.contiguous().view(-1) * x.cos().reshape(-1)).view(x.shape),
    (3, 4),
)
custom(
    "arriving",
    "two_paths_by_layout",
    SINE,
    lambda ctx, g, x: (
        g * x.cos()
        if g.is_contiguous()
        else (g.t() * x.cos().t()).t()
        if g.dim() == 2
        else g * x.cos()
    ),
    (3, 4),
)
custom(
    "arriving",
    "expanded_handled",
    lambda x: x * 3,
    lambda ctx, g, x: (
        g.reshape(-1)[:1].expand(x.numel()).reshape(x.shape) * 3
        if x.numel() and all(s == 0 for s in g.stride())
        else g * 3
    ),
    (3, 4),
)
custom(
    "arriving",
    "scaled_and_back",
    SINE,
    lambda ctx, g, x: (
        (g / s) * x.cos() * s
        if (s := float(g.abs().max() if g.numel() else 0)) > 0
        else g * x.cos()
    ),
    (4,),
)
custom("arriving", "huge_is_halved_twice", SINE, lambda ctx, g, x: (g * 0.5) * x.cos() * 2, (4,))
custom("arriving", "passes_it_on", lambda x: x + 1, lambda ctx, g, x: g, (4,))
custom("arriving", "passes_a_view", lambda x: x.t() + 1, lambda ctx, g, x: g.t(), (3, 4))
custom(
    "arriving", "expanded_result", lambda x: x.sum(), lambda ctx, g, x: g.expand(x.shape), (3, 4)
)
custom("arriving", "clone_changed", SINE, lambda ctx, g, x: g.clone().mul_(x.cos()), (4,))
custom("arriving", "result_changed", SINE, lambda ctx, g, x: (g * x.cos()).mul_(2).div_(2), (4,))
custom("arriving", "adds_incoming_to_itself", lambda x: 2 * x, lambda ctx, g, x: g + g, (4,))
custom("arriving", "tiny_underflows", lambda x: x * 1e-5, lambda ctx, g, x: g * 1e-5, (4,))
custom(
    "arriving",
    "large_slope",
    lambda x: (20 * x).exp(),
    lambda ctx, g, x: 20 * g * (20 * x).exp(),
    (4,),
)
custom(
    "arriving",
    "division_order",
    lambda a, b: a / b,
    lambda ctx, g, a, b: (g / b, -(g / b) * (a / b)),
    (4,),
    (4,),
)
custom(
    "arriving",
    "squares_inside",
    lambda x: x / x.norm(),
    lambda ctx, g, x: g / x.norm() - x * ((g * x).sum() / x.norm() ** 3),
    (4,),
)
custom(
    "arriving",
    "requires_grad_asked",
    SINE,
    lambda ctx, g, x: (g if g.requires_grad else g.detach()) * x.cos(),
    (4,),
)
custom(
    "arriving",
    "counted_calls",
    SINE,
    lambda ctx, g, x: g * x.cos() * (ctx.__dict__.setdefault("n", 1)),
    (4,),
)
custom(
    "arriving",
    "row_by_row",
    lambda x: x.sin(),
    lambda ctx, g, x: (g.flatten() * x.cos().flatten()).reshape(x.shape),
    (3, 2),
)
custom(
    "arriving",
    "double_by_addition",
    lambda x: x.sin(),
    lambda ctx, g, x: (g + g) * (x.cos() / 2),
    (5,),
)
custom(
    "arriving",
    "needs_asked",
    lambda a, b: a * b,
    lambda ctx, g, a, b: (
        g * b if ctx.needs_input_grad[0] else None,
        g * a if ctx.needs_input_grad[1] else None,
    ),
    (4,),
    (4,),
)
custom(
    "arriving",
    "needs_one_by_one",
    lambda x, w: x @ w,
    lambda ctx, g, x, w: (
        g @ w.t() if ctx.needs_input_grad[0] else None,
        x.t() @ g if ctx.needs_input_grad[1] else None,
    ),
    (3, 2),
    (2, 4),
)
custom(
    "arriving", "sum_to_bias", lambda x, b: x + b, lambda ctx, g, x, b: (g, g.sum(0)), (3, 2), (2,)
)
custom(
    "arriving",
    "mean_of_batch",
    lambda x: x.mean(0),
    lambda ctx, g, x: (g / max(x.shape[0], 1)).expand(x.shape),
    (3, 2),
)

# ---- refusals: an error is no wrong gradient ----------------------------------------------------


def _only(torch: Any, x: Any, condition: bool, words: str) -> Any:
    if not condition:
        raise RuntimeError(words)
    return x.sin()


def _refusing(name: str, condition: Any) -> None:
    def build(torch: Any) -> tuple[Any, ...]:
        def forward(x: Any) -> Any:
            return _only(torch, x, condition(x), "this layout is not supported")

        F = op(torch, "Fair", forward, lambda ctx, g, x: g * x.cos())
        return lambda x: F.apply(x).sum(), draw(torch, 3, 4)

    right("refusal", f"refuses_{name}", build)


_refusing("non_contiguous", lambda x: x.is_contiguous())
_refusing("empty", lambda x: x.numel() > 0)
_refusing("other_shapes", lambda x: tuple(x.shape) == (3, 4))
_refusing("offsets", lambda x: x.storage_offset() == 0)
_refusing("float32", lambda x: "64" in str(x.dtype))

# ---- once differentiable, marks, None -----------------------------------------------------------


def _once(torch: Any) -> tuple[Any, ...]:
    from importlib import import_module

    once = import_module(f"{torch.__name__}.autograd.function").once_differentiable

    class Fair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        @once
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x.cos()

    return lambda x: Fair.apply(x).sum(), draw(torch, 4)


right("contract", "once_differentiable", _once)


def _not_materialized(torch: Any) -> tuple[Any, ...]:
    class Fair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x)
            return x.sin(), x.exp()

        @staticmethod
        def backward(ctx, g, h):
            (x,) = ctx.saved_tensors
            total = None
            if g is not None:
                total = g * x.cos()
            if h is not None:
                total = h * x.exp() if total is None else total + h * x.exp()
            return total

    return lambda x: Fair.apply(x)[0].sum() + x.sum(), draw(torch, 4)


right("contract", "gradients_not_materialized", _not_materialized)


def _marked(torch: Any) -> tuple[Any, ...]:
    class Fair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            index = x.argsort()
            ctx.mark_non_differentiable(index)
            ctx.save_for_backward(index)
            return x[index], index

        @staticmethod
        def backward(ctx, g, _):
            (index,) = ctx.saved_tensors
            return g[index.argsort()]

    return lambda x: (Fair.apply(x)[0] * torch.arange(4.0, dtype=x.dtype)).sum(), draw(torch, 4)


right("contract", "mark_non_differentiable", _marked)


def _dirty(torch: Any) -> tuple[Any, ...]:
    class Fair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(3.0)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 3

    return lambda x: Fair.apply(x * 1.0).sin().sum(), draw(torch, 4)


right("contract", "mark_dirty", _dirty)


def _setup(torch: Any) -> tuple[Any, ...]:
    class Fair(torch.autograd.Function):
        @staticmethod
        def forward(x, power):
            return x**power

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.power = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.power * x ** (ctx.power - 1), None

    return lambda x: Fair.apply(x, 3).sum(), draw(torch, 4)


right("contract", "setup_context", _setup)


def _output_saved(torch: Any) -> tuple[Any, ...]:
    class Fair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.tanh()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * (1 - y * y)

    return lambda x: Fair.apply(Fair.apply(x)).sum(), draw(torch, 4)


right("contract", "output_saved", _output_saved)


def _flags(torch: Any) -> tuple[Any, ...]:
    class Fair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, mask, n, label):
            ctx.save_for_backward(mask)
            ctx.n = n
            return x * mask * n

        @staticmethod
        def backward(ctx, g):
            (mask,) = ctx.saved_tensors
            return g * mask * ctx.n, None, None, None

    mask = torch.tensor([True, False, True, True])
    return lambda x: Fair.apply(x, mask, 3, "a").sum(), draw(torch, 4)


right("contract", "flags_among_inputs", _flags)

# ---- state --------------------------------------------------------------------------------------


def _stateful(name: str, make: Any) -> None:
    right("state", f"state_{name}", make)


def _memo(torch: Any) -> tuple[Any, ...]:
    memo: dict[Any, Any] = {}

    def slope(x):
        key = tuple(x.detach().reshape(-1).tolist())
        return memo.setdefault(key, x.detach().cos()).reshape(x.shape)

    F = op(torch, "Fair", SINE, lambda ctx, g, x: g * slope(x))
    return lambda x: F.apply(x).sum(), draw(torch, 4)


_stateful("memo_by_value", _memo)


def _counter(torch: Any) -> tuple[Any, ...]:
    seen: list[int] = []

    def f(x):
        seen.append(1)
        return (x * x).sum()

    return f, draw(torch, 4)


_stateful("counter", _counter)


def _local(torch: Any) -> tuple[Any, ...]:
    local = threading.local()

    def backward(ctx, g, x):
        if not hasattr(local, "three"):
            local.three = 3.0
        return g * local.three * x**2

    F = op(torch, "Fair", lambda x: x**3, backward)
    return lambda x: F.apply(x).sum(), draw(torch, 4)


_stateful("thread_local_made_on_demand", _local)


def _locked(torch: Any) -> tuple[Any, ...]:
    lock = threading.RLock()

    def backward(ctx, g, x):
        with lock:
            return g * x.cos()

    F = op(torch, "Fair", SINE, backward)
    return lambda x: F.apply(x).sum(), draw(torch, 4)


_stateful("lock", _locked)


def _tidy(torch: Any) -> tuple[Any, ...]:
    depth = [0]

    def forward(x):
        depth[0] += 1
        try:
            if x.shape[0] != 4:
                raise ValueError("four are expected")
            return x.sin() * depth[0]
        finally:
            depth[0] -= 1

    F = op(torch, "Fair", forward, lambda ctx, g, x: g * x.cos())
    return lambda x: F.apply(x).sum(), draw(torch, 4)


_stateful("tidied_up_after_an_exception", _tidy)
_stateful("dropout", lambda torch: (torch.nn.Dropout(0.5), draw(torch, 6)))
_stateful(
    "noise_added",
    lambda torch: (lambda x: (x + torch.randn(4, dtype=x.dtype)).sin().sum(), draw(torch, 4)),
)
_stateful(
    "batch_norm_training",
    lambda torch: (torch.nn.BatchNorm1d(3).to(torch.float64), draw(torch, 5, 3)),
)
_stateful(
    "random_permutation", lambda torch: (lambda x: (x[torch.randperm(5)] * x).sum(), draw(torch, 5))
)
_stateful(
    "bernoulli_mask",
    lambda torch: (
        lambda x: (x * torch.bernoulli(torch.full((5,), 0.5, dtype=x.dtype))).sum(),
        draw(torch, 5),
    ),
)

# ---- memory: views, expansion, writes in place ---------------------------------------------------
MEMORY: dict[str, Any] = {
    "expanded_inside": lambda torch: (lambda x: (x.expand(3, 4) * x).sum(), draw(torch, 4)),
    "unfolded_windows": lambda torch: (lambda x: (x.unfold(0, 3, 1) ** 2).sum(), draw(torch, 6)),
    "transposed_twice": lambda torch: (
        lambda x: x.t().contiguous().t().sin().sum(),
        draw(torch, 3, 4),
    ),
    "written_in_place": lambda torch: (lambda x: _written(torch, x), draw(torch, 4)),
    "added_into_slices": lambda torch: (lambda x: _slices(torch, x), draw(torch, 4)),
    "relu_in_place": lambda torch: (lambda x: torch.relu_(x * 2).sum(), draw(torch, 6)),
    "masked_fill_in_place": lambda torch: (
        lambda x: (x * 1).masked_fill_(x < 0, 0.5).sum(),
        draw(torch, 6),
    ),
    "index_put_without_duplicates": lambda torch: (lambda x: _put(torch, x), draw(torch, 3)),
    "index_add_with_duplicates": lambda torch: (
        lambda x: torch.zeros(2, dtype=x.dtype).index_add(0, torch.tensor([0, 0, 1]), x).sin(),
        draw(torch, 3),
    ),
    "scatter_add": lambda torch: (
        lambda x: torch.zeros(2, dtype=x.dtype).scatter_add(0, torch.tensor([1, 1, 0]), x**2),
        draw(torch, 3),
    ),
    "gather_with_duplicates": lambda torch: (
        lambda x: x.gather(0, torch.tensor([0, 0, 2])).exp(),
        draw(torch, 3),
    ),
    "boolean_mask": lambda torch: (lambda x: x[x > 0].sin().sum(), draw(torch, 6)),
    "cat_of_itself": lambda torch: (lambda x: torch.cat([x, x * x, x]).sin().sum(), draw(torch, 4)),
    "stacked_history": lambda torch: (lambda x: _history(torch, x), draw(torch, 4)),
    "diagonal_written": lambda torch: (lambda x: _diagonal(torch, x), draw(torch, 3)),
    "as_strided_overlapping": lambda torch: (
        lambda x: (x.as_strided((3, 2), (1, 1)) ** 2).sum(),
        draw(torch, 4),
    ),
    "offset_slice": lambda torch: (lambda x: (x[2:] * x[:-2]).sum(), draw(torch, 6)),
    "detach_of_a_constant": lambda torch: (
        lambda x, c=torch.ones(4, dtype=torch.float64): (x * c.detach()).sum(),
        draw(torch, 4),
    ),
    "shift_by_detached_max": lambda torch: (
        lambda x: (x - x.detach().max()).exp().sum().log() + x.detach().max(),
        draw(torch, 4),
    ),
    "empty_part": lambda torch: (lambda x: torch.cat([x[:0], x]).sin(), draw(torch, 4)),
    "zero_size_input": lambda torch: (
        lambda x, e: x.sin().sum() + e.sum(),
        draw(torch, 4),
        torch.zeros(0, dtype=torch.float64, requires_grad=True),
    ),
    "scalar_input": lambda torch: (lambda x: x.sin() * x, draw(torch)),
    "input_offset": lambda torch: (
        lambda x: (x**3).sum(),
        draw(torch, 6).detach()[2:].requires_grad_(),
    ),
    "input_strided": lambda torch: (
        lambda x: (x**3).sum(),
        draw(torch, 3, 4).detach().t().requires_grad_(),
    ),
    "input_expanded": lambda torch: (
        lambda x: (x**3).sum(),
        draw(torch, 3, 1).detach().expand(3, 4).requires_grad_(),
    ),
    "input_not_asked": lambda torch: (
        lambda x, c: (x * c).sum(),
        draw(torch, 4),
        draw(torch, 4, seed=2).detach(),
    ),
}


def _written(torch: Any, x: Any) -> Any:
    out = torch.zeros(4, dtype=x.dtype)
    out[1:3] = x[1:3] ** 2
    return out.sum() + x.sum()


def _slices(torch: Any, x: Any) -> Any:
    out = x.clone()
    out[1:] += x[:-1] ** 2
    out[:2] *= 2
    return out.sin().sum()


def _put(torch: Any, x: Any) -> Any:
    out = torch.zeros(3, dtype=x.dtype)
    out[[2, 0, 1]] = x.sin()
    return (out * torch.tensor([1.0, 2.0, 3.0], dtype=x.dtype)).sum()


def _history(torch: Any, x: Any) -> Any:
    states = [x]
    for _ in range(3):
        states.append(states[-1].sin() + x)
    return torch.stack(states).sum(0)


def _diagonal(torch: Any, x: Any) -> Any:
    out = torch.zeros(3, 3, dtype=x.dtype)
    out.diagonal().copy_(x**2)
    return (out @ out).sum()


for _name, _make in MEMORY.items():
    right("memory", f"memory_{_name}", _make)

# ---- as intended --------------------------------------------------------------------------------


def _meant(name: str, forward: Any, backward: Any, meant: Any) -> None:
    def build(torch: Any) -> tuple[Any, ...]:
        F = op(torch, "Fair", forward, backward)
        return lambda x: (F.apply(x * 1.3) * x).sin().sum(), draw(torch, 4)

    right("as intended", f"meant_{name}", build, lambda torch: {"intended": {"Fair": meant}})


_meant("straight_through_round", lambda x: x.round(), lambda ctx, g, x: g, lambda x: x)
_meant(
    "straight_through_sign_clipped",
    lambda x: x.sign(),
    lambda ctx, g, x: g * (x.abs() <= 1),
    lambda x: x.clamp(-1, 1),
)
_meant("reversal", lambda x: x * 1.0, lambda ctx, g, x: -0.5 * g, lambda x: -0.5 * x)
_meant(
    "spike_surrogate",
    lambda x: (x > 0).to(x.dtype),
    lambda ctx, g, x: g * 4 * (4 * x).sigmoid() * (1 - (4 * x).sigmoid()),
    lambda x: (4 * x).sigmoid(),
)
_meant(
    "clipped_gradient_of_floor", lambda x: x.floor(), lambda ctx, g, x: 0.1 * g, lambda x: 0.1 * x
)

# ---- kinks --------------------------------------------------------------------------------------
NEAR = [1.0, -1e-8, 1e-8, -1e-4, 3e-5, -2.0]
KINKS: dict[str, Any] = {
    "relu_near": (lambda torch: torch.relu, NEAR),
    "relu_at": (lambda torch: torch.relu, [0.0, 1.0, -1.0]),
    "leaky_near": (lambda torch: lambda x: torch.nn.functional.leaky_relu(x, 0.1), NEAR),
    "abs_near": (lambda torch: torch.abs, NEAR),
    "abs_at": (lambda torch: torch.abs, [0.0, -1.0]),
    "clamp_near": (lambda torch: lambda x: x.clamp(-1, 1), [1 + 1e-6, 1 - 1e-6, -1 + 3e-8, 0.5]),
    "hardtanh_near": (
        lambda torch: torch.nn.functional.hardtanh,
        [1 + 1e-6, 1 - 1e-6, -1 + 3e-8, 0.5],
    ),
    "max_nearly_tied": (lambda torch: lambda x: x.max(), [1.0, 1 + 1e-7, 0.3]),
    "max_tied": (lambda torch: lambda x: x.amax(), [1.0, 1.0, 0.3]),
    "median_nearly_tied": (lambda torch: lambda x: x.sort().values[1] * 2, [1.0, 1 + 1e-7, 0.3]),
    "sort_nearly_tied": (
        lambda torch: lambda x: x.sort().values * torch.tensor([1.0, 2.0, 3.0], dtype=x.dtype),
        [1.0, 1 + 1e-6, 0.3],
    ),
    "hinge_near": (lambda torch: lambda x: (1 - x).clamp(min=0).sum(), [1 + 1e-6, 1 - 1e-6, 3.0]),
    "huber_at_join": (
        lambda torch: lambda x: torch.nn.functional.huber_loss(x, 0 * x.detach(), reduction="sum"),
        [1.0, -1.0, 1 + 1e-7],
    ),
    "smooth_l1": (
        lambda torch: (
            lambda x: torch.nn.functional.smooth_l1_loss(x, 0 * x.detach(), reduction="sum")
        ),
        [1.0, 0.0, -1e-6],
    ),
    "relu6_near": (lambda torch: torch.nn.functional.relu6, [6 + 1e-6, 6 - 1e-6, 1e-7, 3.0]),
    "floor_away": (lambda torch: lambda x: x - x.detach().floor(), [0.3, 1.7, -0.2]),
    "mod_near_wrap": (lambda torch: lambda x: torch.remainder(x, 1.0), [0.99999, 1e-5, 0.5]),
    "relu_squared": (lambda torch: lambda x: torch.relu(x) ** 2, NEAR),
    "elu_near": (lambda torch: torch.nn.functional.elu, NEAR),
    "hardswish_near": (lambda torch: torch.nn.functional.hardswish, [-3 + 1e-6, 3 - 1e-6, 0.5]),
    "two_relus_touching": (lambda torch: lambda x: torch.relu(x) + torch.relu(-x), NEAR),
    "relu_of_relu": (lambda torch: lambda x: torch.relu(torch.relu(x) - 1e-6), [2e-6, 5e-7, -1.0]),
    "minimum_nearly_equal": (
        lambda torch: lambda x: torch.minimum(x, x.detach() * 0 + 1),
        [1 + 1e-7, 1 - 1e-7, 3.0],
    ),
    "where_step": (lambda torch: lambda x: torch.where(x > 0, x * 2, x * 3), NEAR),
    "pinball": (lambda torch: lambda x: torch.maximum(0.9 * x, -0.1 * x), NEAR),
    "softshrink": (lambda torch: torch.nn.functional.softshrink, [0.5 + 1e-6, 0.5 - 1e-6, -1.0]),
    "sqrt_near_zero": (lambda torch: lambda x: x.sqrt(), [1e-8, 1e-4, 1.0]),
    "log_near_zero": (lambda torch: lambda x: x.log(), [1e-8, 1e-4, 1.0]),
    "cube_root_like": (lambda torch: lambda x: (x * x + 1e-8).sqrt(), [1e-5, 1e-4, 1.0]),
    "steep_sigmoid": (lambda torch: lambda x: (1e4 * x).sigmoid(), [1e-5, -1e-4, 1.0]),
}
for _name, (_program, _values) in KINKS.items():
    right("kink", f"kink_{_name}", lambda torch, p=_program, v=_values: (p(torch), leaf(torch, v)))
