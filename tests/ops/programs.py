"""Records that a call of their function alone does not test: the program that does.

A few records stand for what PyTorch does behind an expression rather than behind a name (writing
through a view, say); others give vectors that are defined up to a phase, of which only some
functions have a gradient. Each entry is a function of the engine that returns the program to run on
it, and samples (None: the record's own).
"""

from __future__ import annotations

from typing import Any

from tautograd._ops.declare.samples import Sample, T
from tautograd._ops.elementwise.casting import moved_to
from tautograd._tensor.tensor import make

from .arrays import array_for
from .gauges import invariants


def _write_through_view(engine: Any) -> Any:
    def program(x: Any, part: Any) -> Any:
        y = x.clone()
        view = y[0]
        view.mul_(part)
        return y

    return program


def _seen_again(engine: Any) -> Any:
    """A view of memory that was written through another view after it was made."""

    def program(x: Any, part: Any) -> Any:
        y = x.clone()
        first, later = y[0], y[1:]
        first.mul_(part)
        return [later * 2, first * 3]

    return program


def a_way_to_a_view(dtype: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of a record that the engine writes down but never runs: a base, and the way to a
    view of it."""
    base = make(array_for(T(3, 2), dtype))
    return (base._data,), {"chain": base[1:]._view}


def _same_memory(engine: Any) -> Any:
    """A dual tensor is its primal under another name."""

    def program(x: Any) -> Any:
        forward_ad = engine.module.autograd.forward_ad
        with forward_ad.dual_level():
            return forward_ad.make_dual(x, x.detach().clone())

    return program


def _as_bytes(engine: Any) -> Any:
    """Elements seen as elements of another dtype of half their size, or of the same."""

    def program(x: Any) -> Any:
        halves = {8: "int32", 4: "int16", 2: "int8", 1: "uint8", 16: "float64"}
        return x.detach().view(engine.dtype(halves[x.element_size()]))

    return program


def _without_phase(name: str) -> Any:
    """The outputs without phase and without gradient, and functions of them that have one."""

    def make(engine: Any) -> Any:
        def program(*args: Any, **options: Any) -> Any:
            outs = getattr(engine.module.linalg, name.removeprefix("linalg_"))(*args, **options)
            return [*(abs(o.detach()) for o in outs), *invariants(name, outs, engine.module)]

        return program

    return make


def _drawn(draw: Any) -> Any:
    """Random numbers from a fixed seed; their gradient is zero, and so is that of what they replace."""

    def make_program(engine: Any) -> Any:
        def program(*tensors: Any) -> Any:
            engine.module.manual_seed(7)
            return draw(engine.module, *tensors)

        return program

    return make_program


_TO_FILL = [Sample(T(2, 3)), Sample(T(4, 5))]
_CHANCES = [Sample(T(2, 3, low=0.1, high=0.9)), Sample(T(4, 5, low=0.1, high=0.9))]
_SCALES = T(2, 3, low=0.5, high=2)

# How each kind of random number is asked for, and of which tensors.
DRAWN: dict[str, tuple[Any, list[Sample]]] = {
    "Normal0": (lambda m, x: x.clone().normal_(1, 2), _TO_FILL),
    "Normal1": (lambda m, x: m.normal(x, 2.0), _TO_FILL),
    "Normal2": (lambda m, x: m.normal(1.0, x), [Sample(_SCALES)]),
    "Normal3": (lambda m, x, y: m.normal(x, y), [Sample(T(2, 3), _SCALES)]),
    "Uniform0": (lambda m, x: x.clone().uniform_(-1, 3), _TO_FILL),
    "LogNormal0": (lambda m, x: x.clone().log_normal_(), _TO_FILL),
    "Exponential0": (lambda m, x: x.clone().exponential_(2.0), _TO_FILL),
    "Cauchy0": (lambda m, x: x.clone().cauchy_(), _TO_FILL),
    "Geometric0": (lambda m, x: x.clone().geometric_(0.4), _TO_FILL),
    "Random0": (lambda m, x: x.clone().random_(0, 9), _TO_FILL),
    "Random1": (lambda m, x: x.clone().random_(9), _TO_FILL),
    "Random2": (lambda m, x: x.clone().random_(), _TO_FILL),
    "Bernoulli0": (lambda m, x: m.bernoulli(x), _CHANCES),
    "Bernoulli1": (lambda m, x: x.clone().bernoulli_(x.detach()), _CHANCES),
    "Bernoulli2": (lambda m, x: x.clone().bernoulli_(0.3), _TO_FILL),
    "Poisson0": (lambda m, x: m.poisson(x), [Sample(_SCALES)]),
    "Binomial0": (lambda m, x: m.binomial(m.full_like(x, 9).detach(), x), _CHANCES),
}


def _moved(engine: Any) -> Any:
    """A copy on another device, of which there is one here: the same."""
    if engine.name == "torch":
        return lambda x: x.to("cpu", copy=True)
    return lambda x: moved_to(x, x.device)


PROGRAMS: dict[str, tuple[Any, list[Sample] | None]] = {
    "to_device": (_moved, [Sample(T(3, 2)), Sample(T())]),
    "view_scatter": (_write_through_view, [Sample(T(3, 2), T(2)), Sample(T(3), T())]),
    "view_replay": (_seen_again, [Sample(T(3, 2), T(2))]),
    "alias": (lambda engine: lambda x: x[...], [Sample(T(3, 2)), Sample(T())]),
    "dual": (_same_memory, [Sample(T(3, 2)), Sample(T())]),
    "view_dtype": (_as_bytes, [Sample(T(3, 2)), Sample(T(0, 2))]),
    **{f"drawn_{n}": (_drawn(draw), samples) for n, (draw, samples) in DRAWN.items()},
    **{n: (_without_phase(n), None) for n in ("linalg_eig", "linalg_eigh", "linalg_svd")},
}

# Records whose forward no program runs, and arguments for it.
CALLS: dict[str, Any] = {"view_replay": a_way_to_a_view}
