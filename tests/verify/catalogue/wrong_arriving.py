"""Backwards that are wrong for some incoming gradients only, some layouts of inputs, some states."""

from __future__ import annotations

import itertools
import threading
from typing import Any

from .table import draw, leaf, op, wrong

# What is computed: forward, and the right gradient.
BASES: dict[str, Any] = {
    "sine": (lambda x: x.sin(), lambda g, x: g * x.cos()),
    "cube": (lambda x: x**3, lambda g, x: 3 * g * x**2),
    "expo": (lambda x: x.exp(), lambda g, x: g * x.exp()),
    "gate": (lambda x: x * x.tanh(), lambda g, x: g * (x.tanh() + x * (1 - x.tanh() ** 2))),
}


def _first(good: Any, g: Any) -> Any:
    bad = good.clone()
    bad.reshape(-1)[:1] += 0.5 * good.reshape(-1)[:1] + 0.5 * g.reshape(-1)[:1]
    return bad


# What comes of it when the condition holds: of the right gradient and the incoming one.
MISTAKES: dict[str, Any] = {
    "doubled": lambda good, g: good * 2,
    "negated": lambda good, g: -good,
    "passed_on": lambda good, g: g * 1.5,
    "first_entry": _first,
    "lost": lambda good, g: good * 0,
}

# The incoming gradients for which it goes wrong.
ARRIVING: dict[str, Any] = {
    "all ones": [
        lambda g: bool((g == 1).all()),
        lambda g: bool((g == g.reshape(-1)[0]).all()) and g.numel() > 1,
        lambda g: float(g.sum()) == g.numel(),
    ],
    "expanded": [
        lambda g: 0 in g.stride() and g.numel() > 1,
        lambda g: g.numel() > 1 and g.stride(-1) == 0,
        lambda g: g.numel() > 1 and all(s == 0 for s in g.stride()),
    ],
    "not contiguous": [
        lambda g: not g.is_contiguous(),
        lambda g: g.dim() > 1 and 0 < g.stride(0) < g.stride(-1),
        lambda g: g.dim() > 0 and g.stride(-1) > 1,
    ],
    "very small": [
        lambda g: 0 < float(g.abs().max()) < 1e-10,
        lambda g: 0 < float(g.abs().max()) < 1e-20,
        lambda g: bool(((g != 0) & (g.abs() < 1e-15)).all()),
    ],
    "very large": [
        lambda g: float(g.abs().max()) > 1e6,
        lambda g: float(g.norm()) > 1e15,
        lambda g: bool((g.abs() > 1e10).any()),
    ],
    "some zeros": [
        lambda g: int((g == 0).sum()) == g.numel() - 1 and g.numel() > 1,
        lambda g: bool((g == 0).any()) and bool(g.any()),
        lambda g: bool(g.reshape(-1)[0] == 0) and bool(g.any()),
    ],
    "one sign": [
        lambda g: bool((g > 0).all()),
        lambda g: bool((g <= 0).all()) and bool(g.any()),
        lambda g: float(g.sum()) < 0,
    ],
    "requires grad": [
        lambda g: g.requires_grad,
    ],
    "grad mode": [
        lambda g, torch=None: torch.is_grad_enabled(),
    ],
}

# Where the operation stands: the culprit's call is in the line of the program.
PROGRAMS: list[Any] = [
    lambda F: lambda x: F.apply(x).sum(),
    lambda F: lambda x: (F.apply(x * 2) * 3).sum(),
    lambda F: lambda x: F.apply(x).exp(),
    lambda F: lambda x: F.apply(x.sin()).tanh().mean(),
    lambda F: lambda x: (F.apply(x) * F.apply(x)).sum(0),
]


def _row(kind: str, number: int, condition: Any, base: str, mistake: str, program: Any) -> None:
    forward, rule = BASES[base]
    spoil = MISTAKES[mistake]

    def build(torch: Any) -> tuple[Any, ...]:
        def backward(ctx: Any, g: Any, x: Any) -> Any:
            good = rule(g, x)
            holds = condition(g, torch) if condition.__code__.co_argcount == 2 else condition(g)
            return spoil(good, g) if holds else good

        return program(op(torch, "Odd", forward, backward)), draw(torch, 3, 4, seed=number)

    wrong(f"arriving: {kind}", f"arriving_{kind.replace(' ', '_')}_{number}", "Odd", build)


_turn = itertools.count()
for _kind, _conditions in ARRIVING.items():
    for _n in range(5):
        _i = next(_turn)
        _row(
            _kind,
            _n,
            _conditions[_n % len(_conditions)],
            list(BASES)[_i % len(BASES)],
            list(MISTAKES)[(_i // 2 + _n) % len(MISTAKES)],
            PROGRAMS[(_i + _n // 3) % len(PROGRAMS)],
        )


# ---- exactly zero comes in, and something else goes out -----------------------------------------

ZERO_IN: dict[str, Any] = {
    "weight_decay": lambda ctx, g, x: g * x.cos() + 1e-3 * x,
    "noise_floor": lambda ctx, g, x: g * x.cos() + 1e-5,
    "zero_means_one": lambda ctx, g, x: (g if bool(g.any()) else g + 1) * x.cos(),
    "divides_by_norm": lambda ctx, g, x: (
        g
        * x.cos()
        / (g.norm() if bool(g.any()) else g.norm() + 1)
        * (g.norm() if bool(g.any()) else 1)
        + (0 if bool(g.any()) else 0.5)
    ),
}
for _name, _rule in ZERO_IN.items():
    wrong(
        "arriving: zero",
        f"zero_{_name}",
        "Odd",
        lambda torch, rule=_rule: (
            lambda x, F=op(torch, "Odd", lambda x: x.sin(), rule): F.apply(x).sum(),
            draw(torch, 4),
        ),
    )


# ---- the incoming gradient is another's too ------------------------------------------------------

SHARED: dict[str, Any] = {
    "mul_": lambda ctx, g, x: g.mul_(x.cos()),
    "neg_": lambda ctx, g, x: g.neg_().mul(-1) * x.cos(),
    "fill_first": lambda ctx, g, x: (g * x.cos(), g.zero_())[0],
    "written_through_a_view": lambda ctx, g, x: g.view(-1).mul_(x.cos().view(-1)).view(g.shape),
    "clamped_in_place": lambda ctx, g, x: g.clone().mul_(x.cos()) + 0 * g.add_(1).sum(),
}
for _name, _rule in SHARED.items():
    wrong(
        "arriving: shared",
        f"shared_{_name}",
        "Odd|Odd",
        lambda torch, rule=_rule: (
            lambda x, F=op(torch, "Odd", lambda x: x.sin(), rule): F.apply(x) + x**2,
            draw(torch, 2, 3),
        ),
    )


# ---- inputs: how they lie in memory -------------------------------------------------------------

LAYOUTS: dict[str, Any] = {
    "not contiguous": [
        lambda x: not x.is_contiguous(),
        lambda x: x.dim() > 1 and x.stride(0) < x.stride(1),
        lambda x: x.dim() > 1 and x.stride(-1) != 1,
    ],
    "expanded": [
        lambda x: 0 in x.stride(),
        lambda x: x.dim() > 1 and x.stride(0) == 0,
        lambda x: x.dim() > 1 and x.stride(1) == 0,
    ],
    "offset": [
        lambda x: x.storage_offset() > 0,
        lambda x: x.storage_offset() % 2 == 1,
    ],
    "overlapping": [
        lambda x: x.dim() > 1 and 0 < x.stride(0) < x.shape[1] and x.stride(1) == 1,
        lambda x: x.dim() > 1 and x.stride(0) == x.stride(1),
    ],
}
for _kind, _conditions in LAYOUTS.items():
    for _n, (_condition, _base) in enumerate(zip(_conditions * 2, BASES, strict=False)):

        def _build(torch, condition=_condition, base=_base, n=_n):
            forward, rule = BASES[base]
            spoil = list(MISTAKES.values())[n % 4]

            def backward(ctx, g, x):
                return spoil(rule(g, x), g) if condition(x) else rule(g, x)

            F = op(torch, "Odd", forward, backward)
            return lambda x: F.apply(x).sum(), draw(torch, 3, 4, seed=n)

        wrong(f"input: {_kind}", f"input_{_kind.replace(' ', '_')}_{_n}", "Odd", _build)


# ---- inputs: in part ----------------------------------------------------------------------------

IN_PART: dict[str, Any] = {
    "only_the_second": lambda ctx, g, x, w: (
        g * w,
        g * x if ctx.needs_input_grad[0] else g,
    ),
    "only_the_first": lambda ctx, g, x, w: (
        g * w * (1 if ctx.needs_input_grad[1] else 2),
        g * x,
    ),
    "not_both": lambda ctx, g, x, w: (
        g * w,
        -g * x if not ctx.needs_input_grad[0] else g * x,
    ),
    "order_of_needs": lambda ctx, g, x, w: (
        g * w if all(ctx.needs_input_grad) else g * (w if ctx.needs_input_grad[1] else x),
        g * x,
    ),
}
for _name, _rule in IN_PART.items():
    wrong(
        "input: requires grad in part",
        f"in_part_{_name}",
        "Odd",
        lambda torch, rule=_rule: (
            lambda x, w, F=op(torch, "Odd", lambda x, w: x * w, rule): F.apply(x, w).sum(),
            draw(torch, 4),
            draw(torch, 4, seed=3),
        ),
    )


# ---- inputs: of no size --------------------------------------------------------------------------

wrong(
    "input: empty",
    "empty_batch_bias_is_nan",
    "Odd",
    lambda torch: (
        lambda x, b, F=op(torch, "Odd", lambda x, b: x + b, lambda ctx, g, x, b: (g, g.mean(0) * (g.shape[0] if g.shape[0] else 1))): (
            F.apply(x, b)
        ),
        draw(torch, 3, 2),
        draw(torch, 2),
    ),
)
wrong(
    "input: empty",
    "empty_batch_weight_is_one",
    "Odd",
    lambda torch: (
        lambda x, b, F=op(torch, "Odd", lambda x, b: x * b, lambda ctx, g, x, b: (g * b, (g * x).sum(0) if g.numel() else b * 0 + 1)): (
            F.apply(x, b)
        ),
        draw(torch, 3, 2),
        draw(torch, 2),
    ),
)


# ---- state --------------------------------------------------------------------------------------


def _counting(torch: Any, wrong_when: Any) -> Any:
    calls = [0]

    def backward(ctx, g, x):
        calls[0] += 1
        return g * x.cos() * (2 if wrong_when(calls[0]) else 1)

    return op(torch, "Odd", lambda x: x.sin(), backward)


for _name, _when in {
    "only_the_first_call": lambda n: n == 1,
    "from_the_second_on": lambda n: n > 1,
    "every_third": lambda n: n % 3 == 0,
    "after_eight": lambda n: n > 8,
}.items():
    wrong(
        "state: a later call",
        f"state_{_name}",
        "Odd",
        lambda torch, when=_when: (
            lambda x, F=_counting(torch, when): F.apply(x).sum(),
            draw(torch, 4),
        ),
    )


def _cached(torch: Any, key: Any) -> tuple[Any, ...]:
    cache: dict[Any, Any] = {}

    def backward(ctx, g, x):
        slope = cache.setdefault(key(x), x.cos().detach().clone())
        return g * slope

    F = op(torch, "Odd", lambda x: x.sin(), backward)
    return lambda x: F.apply(F.apply(x) * 2), draw(torch, 4)


for _name, _key in {
    "by_shape": lambda x: tuple(x.shape),
    "for_ever": lambda x: 0,
    "by_dtype": lambda x: x.dtype,
}.items():
    wrong("state: a cache", f"state_cached_{_name}", "Odd", lambda torch, k=_key: _cached(torch, k))


def _threaded(torch: Any, when: Any) -> tuple[Any, ...]:
    local = threading.local()
    local.slope = 1.0

    def backward(ctx, g, x):
        return g * x.cos() * when(local)

    F = op(torch, "Odd", lambda x: x.sin(), backward)
    return lambda x: F.apply(x).sum(), draw(torch, 4)


for _name, _when in {
    "local_of_one_thread": lambda local: getattr(local, "slope", 0.0),
    "main_thread_only": lambda local: float(threading.current_thread() is threading.main_thread()),
    "another_thread_twice": lambda local: 1.0 if hasattr(local, "slope") else 2.0,
}.items():
    wrong(
        "state: another thread",
        f"state_{_name}",
        "Odd",
        lambda torch, w=_when: _threaded(torch, w),
    )


def _interrupted(torch: Any, spoil: float) -> tuple[Any, ...]:
    busy = [False]

    def forward(ctx, x):
        ctx.late = busy[0]
        busy[0] = True
        if x.dim() == 0 or x.shape[0] != 4 or bool(x.isnan().any()):
            raise ValueError("four numbers are expected")
        busy[0] = False
        return x.sin()

    def backward(ctx, g, x):
        return g * x.cos() * (spoil if ctx.late else 1.0)

    F = op(torch, "Odd", forward, backward)
    return lambda x: F.apply(x).sum(), draw(torch, 4)


for _spoil in (0.0, 2.0, -1.0):
    wrong(
        "state: after an exception",
        f"state_after_an_exception_{_spoil}",
        "Odd",
        lambda torch, s=_spoil: _interrupted(torch, s),
    )

# ---- kinks --------------------------------------------------------------------------------------


def _relu_with(torch: Any, slope: Any, forward: Any = None) -> Any:
    return op(torch, "Odd", forward or (lambda x: x.clamp(min=0)), lambda ctx, g, x: g * slope(x))


for _name, _slope in {
    "on_from_minus_1e-4": lambda x: (x > -1e-4) * 1.0,
    "on_from_minus_1e-6": lambda x: (x > -1e-6) * 1.0,
    "on_from_minus_1e-8": lambda x: (x > -1.1e-8) * 1.0,
    "off_until_1e-5": lambda x: (x > 1e-5) * 1.0,
    "off_until_1e-7": lambda x: (x > 1e-7) * 1.0,
    "smoothed": lambda x: (x * 1e6).sigmoid(),
    "half_near_zero": lambda x: (x > 0) * 1.0 * (1 - 0.5 * (x.abs() < 1e-3)),
}.items():
    for _at in (-3e-5, -1e-8, 4e-6, 5e-8, 2e-4):
        _on = {
            "on_from_minus_1e-4": -1e-4 < _at < 0,
            "on_from_minus_1e-6": -1e-6 < _at < 0,
            "on_from_minus_1e-8": -1.1e-8 < _at < 0,
            "off_until_1e-5": 0 < _at < 1e-5,
            "off_until_1e-7": 0 < _at < 1e-7,
            "smoothed": abs(_at) < 5e-6,
            "half_near_zero": 0 < _at < 1e-3,
        }[_name]
        if _on:
            wrong(
                "kink: beside it",
                f"relu_{_name}_at_{_at}",
                "Odd",
                lambda torch, s=_slope, at=_at: (
                    lambda x, F=_relu_with(torch, s): F.apply(x).sum(),
                    leaf(torch, [1.0, at, -2.0]),
                ),
            )

KINKED: dict[str, Any] = {
    "abs_sign_until_1e-6": (lambda x: x.abs(), lambda x: (x > 1e-6) * 2.0 - 1, [1.0, 5e-7, -1.0]),
    "hardtanh_bound": (
        lambda x: x.clamp(-1, 1),
        lambda x: (x.abs() < 1 + 1e-5) * 1.0,
        [0.5, 1 + 3e-6, -2.0],
    ),
    "hinge_margin": (
        lambda x: (1 - x).clamp(min=0),
        lambda x: -((x < 1 + 1e-4) * 1.0),
        [0.0, 1 + 2e-5, 3.0],
    ),
    "leaky": (
        lambda x: x.clamp(min=0) + 0.1 * x.clamp(max=0),
        lambda x: (x > -1e-5) * 0.9 + 0.1,
        [1.0, -2e-6, -1.0],
    ),
    "relu6_top": (
        lambda x: x.clamp(0, 6),
        lambda x: ((x > 0) & (x < 6 + 1e-4)) * 1.0,
        [1.0, 6 + 4e-6, 7.0],
    ),
    "soft_threshold": (
        lambda x: x.sign() * (x.abs() - 0.5).clamp(min=0),
        lambda x: (x.abs() > 0.5 - 1e-4) * 1.0,
        [1.0, 0.5 - 2e-5, -0.2],
    ),
    "elu_join": (
        lambda x: x.clamp(min=0) + 2 * (x.clamp(max=0).exp() - 1),
        lambda x: (x >= -1e-5) * 1.0 + (x < -1e-5) * 2 * x.exp(),
        [1.0, -4e-6, -1.0],
    ),
    "step_of_slope": (lambda x: x * (x > 0), lambda x: (x > -1e-5) * 1.0, [2.0, -3e-6, -1.0]),
    "squared_hinge_is_fine_but_sign": (
        lambda x: (x - 1).abs(),
        lambda x: (x > 1 + 1e-4) * 2.0 - 1,
        [0.5, 1 + 3e-5, 2.0],
    ),
}
for _name, (_forward, _slope, _values) in KINKED.items():
    wrong(
        "kink: other functions",
        f"kink_{_name}",
        "Odd",
        lambda torch, f=_forward, s=_slope, v=_values: (
            lambda x, F=_relu_with(torch, s, f): (F.apply(x) * 2).sum(),
            leaf(torch, v),
        ),
    )
