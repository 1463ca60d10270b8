"""Are a record's rules the derivative of its forward? The checks that test_numerical runs, and
that every planted mistake in test_mutation must fail.

Directions and cotangents are random but seeded, so one number per direction tests every entry of a
Jacobian at once. With complex numbers the inner product is Re⟨a, b⟩, and a gradient is the vector
with Re⟨gradient, t⟩ = Re⟨g, J t⟩ for every tangent t (PyTorch's convention).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tautograd._autograd import api, forward_ad
from tautograd._autograd.apply import apply
from tautograd._tensor.tensor import make

from .differences import EPS, Derivative, directional
from .rules import RecordCall, run_jvp, run_vjp

SEEDS = (1, 2)
SHARPNESS = 1e-4  # a reference less certain than this would let mistakes pass


def first_order_problems(call: RecordCall) -> Iterator[str]:
    """VJP and JVP against differences of the forward, and against each other."""
    out = call.forward()
    for seed in SEEDS:
        g = [random_like(o, seed + 10) for o in call.outputs(out)]
        gradients = run_vjp(call, call.inputs, out, g)
        for slot, gradient in zip(call.slots(), gradients, strict=True):
            t, reference = reference_for(call, slot, seed)
            name = call.op.inputs[min(slot, len(call.op.inputs) - 1)]
            yield from _sharp(reference, f"input {name}")
            tangent = run_jvp(call, call.inputs, out, {slot: t})
            noise = 10 * reference.error
            for i, (have, want) in enumerate(zip(tangent, reference.values, strict=True)):
                yield from _compared(f"JVP of {name}, output {i}", have, want, noise)
            size = sum(norm(x) for x in g)
            want = inner(g, reference.values)
            rounding = 64 * EPS * (norm(gradient) * norm(t) + size)
            yield from _compared(
                f"VJP of {name}", inner([gradient], [t]), want, noise * size + rounding
            )
            both = inner(g, tangent)
            yield from _compared(
                f"⟨g, J t⟩ = ⟨Jᵀ g, t⟩ for {name}", inner([gradient], [t]), both,
                256 * EPS * (norm(gradient) * norm(t) + size * sum(norm(x) for x in tangent)),
            )  # fmt: skip


def reference_for(call: RecordCall, slot: int, seed: int) -> tuple[Any, Derivative]:
    """A direction for one input and the derivative of the outputs along it (kept for reuse)."""
    key = slot, seed
    if key not in call.cache:
        t = direction(call, slot, seed)

        def along(h: float) -> tuple[Any, ...]:
            moved = [x + h * t if i == slot else x for i, x in enumerate(call.inputs)]
            return call.outputs(call.forward(moved))

        call.cache[key] = t, directional(along)
    return call.cache[key]


def second_order_problems(call: RecordCall) -> Iterator[str]:
    """The gradient of the gradient (rules on tensors) against differences of the VJP itself."""
    slots = call.slots()
    out = call.forward()
    g = [random_like(o, 11) for o in call.outputs(out)]
    c = [random_like(call.inputs[i], 21 + i) for i in slots]
    seconds = _second_gradients(call, slots, g, c)
    moves = [direction(call, i, 3) for i in slots]
    turn = [random_like(x, 31) for x in g]

    def along(h: float, at: str) -> tuple[Any, ...]:
        inputs = list(call.inputs)
        if at == "inputs":
            for i, t in zip(slots, moves, strict=True):
                inputs[i] = inputs[i] + h * t
        gs = [x + h * t for x, t in zip(g, turn, strict=True)] if at == "g" else g
        return tuple(run_vjp(call, inputs, call.forward(inputs), gs))

    for at, found, step in (
        ("inputs", seconds[: len(slots)], moves),
        ("g", seconds[len(slots) :], turn),
    ):
        reference = directional(lambda h, at=at: along(h, at))
        yield from _sharp(reference, f"gradient along {at}")
        noise = 10 * reference.error * sum(norm(x) for x in c)
        have, want = inner(found, step), inner(c, reference.values)
        rounding = 256 * EPS * sum(norm(a) * norm(b) for a, b in zip(found, step, strict=True))
        yield from _compared(f"second order along {at}", have, want, noise + rounding)


def _second_gradients(call: RecordCall, slots: Any, g: Any, c: Any) -> list[Any]:
    """d⟨c, VJP(x, g)⟩ by the engine, with respect to the inputs and to g."""
    leaves = {i: make(np.copy(call.inputs[i])).requires_grad_() for i in slots}
    cotangents = [make(np.copy(x)).requires_grad_() for x in g]
    outs = _applied(call, leaves)
    grads = api.grad(outs, list(leaves.values()), cotangents, create_graph=True, allow_unused=True)
    live = [
        (x, make(np.copy(v)))
        for x, v in zip(grads, c, strict=True)
        if x is not None and x.requires_grad
    ]
    wrt = [*leaves.values(), *cotangents]
    if not live:
        return [np.zeros_like(x._data) for x in wrt]
    found = api.grad([x for x, _ in live], wrt, [v for _, v in live], allow_unused=True)
    return [
        np.zeros_like(x._data) if s is None else s._data for x, s in zip(wrt, found, strict=True)
    ]


def _applied(call: RecordCall, tensors: dict[int, Any]) -> list[Any]:
    """The record on tensors; returns its differentiable outputs."""
    inputs = tuple(
        tensors[i] if i in tensors else make(np.copy(x)) if isinstance(x, np.ndarray) else x
        for i, x in enumerate(call.inputs)
    )
    return list(call.outputs(apply(call.op, inputs, call.parameters)))


def forward_mode_problems(call: RecordCall) -> Iterator[str]:
    """Dual tensors (rules on tensors) give what the JVP rules give on arrays."""
    out = call.forward()
    for slot in call.slots():
        t = direction(call, slot, 1)
        want = run_jvp(call, call.inputs, out, {slot: t})
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(make(np.copy(call.inputs[slot])), make(t))
            duals = [forward_ad.unpack_dual(o).tangent for o in _applied(call, {slot: dual})]
        for i, (have, expected) in enumerate(zip(duals, want, strict=True)):
            data = np.zeros_like(expected) if have is None else have._data
            tolerance = 256 * EPS * (norm(expected) + norm(t))
            yield from _compared(
                f"forward mode, input {slot}, output {i}", data, expected, tolerance
            )


# --- vectors -------------------------------------------------------------------------------------


def random_like(x: Any, seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, *x.shape])
    draw = rng.uniform(-1, 1, x.shape)
    values = draw + 1j * rng.uniform(-1, 1, x.shape) if x.dtype.kind == "c" else draw
    return np.asarray(values, x.dtype)


def direction(call: RecordCall, slot: int, seed: int) -> np.ndarray:
    """A random tangent; symmetric where the input is, and has to stay so."""
    x = call.inputs[slot]
    t = random_like(x, seed + 100 * slot)
    if call.kinds & {"spd", "symmetric"} and x.ndim > 1 and x.shape[-1] == x.shape[-2]:
        adjoint = np.conjugate(np.swapaxes(x, -1, -2))
        if np.allclose(x, adjoint):
            t = (t + np.conjugate(np.swapaxes(t, -1, -2))) / 2
    return t


def inner(a: Any, b: Any) -> float:
    return float(sum(np.sum(np.real(np.conjugate(x) * y)) for x, y in zip(a, b, strict=True)))


def norm(x: Any) -> float:
    return float(np.sqrt(np.sum(np.abs(x) ** 2)))


def _sharp(reference: Derivative, what: str) -> Iterator[str]:
    size = max((norm(v) for v in reference.values), default=0.0)
    if not reference.error <= SHARPNESS * max(size, 1.0):
        yield f"{what}: the reference is uncertain by {reference.error:.1e} (size {size:.1e})"


def _compared(what: str, have: Any, want: Any, tolerance: float) -> Iterator[str]:
    off = np.abs(np.asarray(have) - np.asarray(want))
    if not np.all(off <= tolerance):
        at = np.unravel_index(int(np.argmax(np.nan_to_num(off, nan=np.inf))), off.shape)
        a, b = np.asarray(have)[at], np.asarray(want)[at]
        yield f"{what}: {a:.12g}, differences give {b:.12g} (tolerance {tolerance:.1e})"
