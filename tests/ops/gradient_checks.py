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

import tautograd
from tautograd._autograd import api, forward_ad
from tautograd._autograd.apply import apply
from tautograd._tensor.tensor import make

from .differences import EPS, Derivative, directional
from .gauges import fixed, invariants, is_free
from .rules import RecordCall, run_jvp, run_vjp

SEEDS = (1, 2)
SHARPNESS = 1e-4  # a reference less certain than this would let mistakes pass


def first_order_problems(call: RecordCall) -> Iterator[str]:
    """VJP and JVP against differences of the forward, and against each other."""
    out = call.forward()
    for seed in SEEDS:
        g = cotangents(call, out, seed + 10)
        gradients = run_vjp(call, call.inputs, out, g)
        for slot, gradient in zip(call.slots(), gradients, strict=True):
            t, reference = reference_for(call, slot, seed)
            name = call.op.inputs[min(slot, len(call.op.inputs) - 1)]
            yield from _sharp(reference, f"input {name}")
            tangent = run_jvp(call, call.inputs, out, {slot: t})
            noise = 10 * reference.error
            size = sum(norm(x) for x in g)
            if is_free(call.op.name, call.outputs(out)):
                have, want = inner(g, tangent), inner(g, reference.values)
                yield from _compared(f"JVP of {name}", have, want, noise * size)
            else:
                for i, (have, want) in enumerate(zip(tangent, reference.values, strict=True)):
                    yield from _compared(f"JVP of {name}, output {i}", have, want, noise)
            want = inner(g, reference.values)
            # What cancels in a rule is of the size of a relative change of the output.
            terms = sum(map(norm, call.outputs(out))) if reference.error else 0.0
            rounding = 64 * EPS * (norm(gradient) * norm(t) + size * max(1.0, terms))
            yield from _compared(
                f"VJP of {name}", inner([gradient], [t]), want, noise * size + rounding
            )
            both = inner(g, tangent)
            yield from _compared(
                f"⟨g, J t⟩ = ⟨Jᵀ g, t⟩ for {name}", inner([gradient], [t]), both,
                256 * EPS * (norm(gradient) * norm(t) + size * (sum(map(norm, tangent)) + terms)),
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
    if is_free(call.op.name, call.outputs(out)):
        yield from _second_order_of_invariants(call)
        return
    g = cotangents(call, out, 11)
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
        terms = sum(map(norm, g)) * sum(map(norm, c)) * sum(map(norm, step))
        rounding = 256 * EPS * sum(norm(a) * norm(b) for a, b in zip(found, step, strict=True))
        rounding += EPS * terms  # what cancels
        yield from _compared(f"second order along {at}", have, want, noise + rounding)


def _second_order_of_invariants(call: RecordCall) -> Iterator[str]:
    """The same for functions of the outputs that do not notice a phase."""
    (slot,) = call.slots()
    t, c = direction(call, slot, 3), random_like(call.inputs[slot], 21)

    def gradient(x: Any, create_graph: bool) -> tuple[Any, Any]:
        leaf = make(np.copy(x)).requires_grad_()
        outs = invariants(call.op.name, _applied(call, {slot: leaf}), tautograd)
        gs = [make(random_like(o._data, 11)) for o in outs]
        return leaf, api.grad(outs, leaf, gs, create_graph=create_graph)[0]

    leaf, first = gradient(call.inputs[slot], True)
    second = api.grad(first, leaf, make(np.copy(c)))[0]._data
    reference = directional(
        lambda h: (gradient(call.inputs[slot] + h * t, False)[1]._data,),
    )
    yield from _sharp(reference, "gradient of invariants")
    tolerance = 10 * reference.error * norm(c) + 256 * EPS * norm(second) * norm(t)
    have, want = inner([second], [t]), inner([c], reference.values)
    yield from _compared("second order of invariants", have, want, tolerance)


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
        size = norm(t) + sum(map(norm, call.outputs(out)))
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(make(np.copy(call.inputs[slot])), make(t))
            duals = [forward_ad.unpack_dual(o).tangent for o in _applied(call, {slot: dual})]
        for i, (have, expected) in enumerate(zip(duals, want, strict=True)):
            data = np.zeros_like(expected) if have is None else have._data
            tolerance = 256 * EPS * (norm(expected) + size)
            yield from _compared(
                f"forward mode, input {slot}, output {i}", data, expected, tolerance
            )


# --- vectors -------------------------------------------------------------------------------------


def cotangents(call: RecordCall, out: Any, seed: int) -> list[Any]:
    """Seeded gradients for the outputs, of a kind that has a meaning."""
    outs = call.outputs(out)
    return fixed(call.op.name, outs, [random_like(o, seed) for o in outs])


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
