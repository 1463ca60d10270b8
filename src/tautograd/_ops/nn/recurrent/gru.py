"""A layer of GRU in one direction, over all time steps, as one record.

    r, z = sigmoid(…)   of x w_ihᵀ + h w_hhᵀ + biases
    n = tanh(x-part + r · h-part)
    h' = n + z (h - n)

As with LSTM, products with the input, slopes and gradients of weights are taken for all steps at
once, and a sigmoid is a tanh of half its argument.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.kernels import are_callable, called
from ...declare.elementwise_calls import conj
from ...declare.record import Op
from ...linalg.products.shared_products import matmul
from . import native_steps
from .recurrence import (
    Steps,
    flat,
    gradients_of_inputs,
    layer_samples,
    placed,
    tangent_of_product,
    turned,
)


def _given(x: Any, w_ih: Any, b_ih: Any) -> Any:
    total = matmul(flat(x), np.swapaxes(w_ih, 0, 1))
    return total if b_ih is None else total + b_ih


def _gru_layer(
    x: Any,
    h: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    sizes: tuple[int, ...],
    reverse: bool,
) -> tuple[Any, ...]:
    """Outputs, final state, and for the gradient: gates, candidates, and their part that r scales."""
    given = _given(x, w_ih, b_ih)
    arrays = given, b_hh, h, w_hh
    found = called(_all_steps, *arrays, sizes, reverse) if are_callable(*arrays) else None
    if found is None:
        found = _step_by_step(*arrays, sizes, reverse)
    return np.reshape(found[0], (*x.shape[:-1], h.shape[-1])), *found[1:]


def _all_steps(
    given: Any,
    b_hh: Any,
    h: Any,
    w_hh: Any,
    sizes: tuple[int, ...],
    reverse: bool,
    out: Any = None,
) -> Any:
    """The kernel's way; a program that was made of it goes another one where there are no kernels any more."""
    steps = Steps(sizes, reverse)
    found = native_steps.gru(given, b_hh, h, w_hh, steps, out)
    if found is None and out is not None:
        return placed(out, _step_by_step(given, b_hh, h, w_hh, sizes, reverse))
    return found


def _step_by_step(
    given: Any, b_hh: Any, h: Any, w_hh: Any, sizes: tuple[int, ...], reverse: bool
) -> tuple[Any, ...]:
    steps, width = Steps(sizes, reverse), h.shape[-1]
    recurrent = turned(w_hh)
    h0 = h
    outs, gates, candidates, inner = [], [], [], []
    for step, rows in enumerate(steps.rows):
        h = steps.carried(step, h, h0)
        own = np.matmul(h, recurrent)
        if b_hh is not None:
            own = own + b_hh
        seen = given[rows]
        gate = np.tanh((own[:, : 2 * width] + seen[:, : 2 * width]) * 0.5) * 0.5 + 0.5
        own = own[:, 2 * width :]
        n = np.tanh(seen[:, 2 * width :] + gate[:, :width] * own)
        h = n + gate[:, width:] * (h - n)
        outs.append(h)
        gates.append(gate)
        candidates.append(n)
        inner.append(own)
    in_time = steps.in_time
    return in_time(outs), steps.final(outs), in_time(gates), in_time(candidates), in_time(inner)


def _gru_layer_vjp(
    g: Any,
    x: Any,
    h: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    out0: Any,
    out2: Any,
    out3: Any,
    out4: Any,
    sizes: tuple[int, ...],
    reverse: bool,
    needs: tuple[bool, ...],
) -> tuple[Any, ...]:
    outs, gates, n, inner = out0, out2, out3, out4
    if hasattr(x, "apply_lifted"):  # these are no constants if they are differentiated again
        outs, _, gates, n, inner = _gru_layer(x, h, w_ih, w_hh, b_ih, b_hh, sizes, reverse)
    earlier = Steps(sizes, reverse).before(flat(outs), h)
    left = flat(g[0]), gates, n, inner
    arrays = *left, flat(outs), h, w_hh, g[1]
    found = called(_back, *arrays, sizes, reverse) if are_callable(*arrays) else None
    if found is None:
        found = _back_step_by_step(*left, earlier, w_hh, g[1], sizes, reverse)
    return gradients_of_inputs(found[:2], found[2:], x, w_ih, earlier, b_ih is not None, needs)


def _back(
    g_out: Any,
    gates: Any,
    n: Any,
    inner: Any,
    outs: Any,
    h: Any,
    w_hh: Any,
    end: Any,
    sizes: tuple[int, ...],
    reverse: bool,
    out: Any = None,
) -> Any:
    """What arrives at the gates' part from the input and from the state, and at the first state: as `_all_steps`."""
    steps, left = Steps(sizes, reverse), (gates, n, inner)
    found = native_steps.gru_gradient(g_out, left, outs, h, w_hh, end, steps, out)
    if found is None and out is not None:
        earlier = steps.before(outs, h)
        return placed(out, _back_step_by_step(g_out, *left, earlier, w_hh, end, sizes, reverse))
    return found


def _back_step_by_step(
    g_out: Any,
    gates: Any,
    n: Any,
    inner: Any,
    earlier: Any,
    w_hh: Any,
    end: Any,
    sizes: tuple[int, ...],
    reverse: bool,
) -> tuple[Any, Any, Any]:
    steps, width = Steps(sizes, reverse), n.shape[-1]
    r, z = gates[:, :width], gates[:, width:]
    # How the result moves with what r, z and n are functions of, and with the recurrent part of n.
    by_n = (1 - z) * (1 - n * n)
    by_r = by_n * inner * r * (1 - r)
    by_z = (earlier - n) * z * (1 - z)
    slopes = conj(np.stack((by_r, by_z, by_n * r), axis=1))
    kept, weight = conj(z), conj(w_hh)
    dh = steps.last(end)
    ends: list[Any] = []
    arrived, recurrent = [], []
    for step in range(len(sizes) - 1, -1, -1):
        rows = steps.rows[step]
        dh = dh + g_out[rows]
        own = np.expand_dims(dh, 1) * slopes[rows]
        own = np.reshape(own, (own.shape[0], 3 * width))
        arrived.append(dh)
        recurrent.append(own)
        dh = steps.state_gradient(step, dh * kept[rows] + np.matmul(own, weight), end, ends)
    own = steps.in_time(recurrent[::-1])
    through = own[:, : 2 * width]
    seen = np.concatenate((through, steps.in_time(arrived[::-1]) * conj(by_n)), axis=1)
    return seen, own, steps.initial(dh, ends)


_all_steps.takes_out = 5  # type: ignore[attr-defined]
_back.takes_out = 3  # type: ignore[attr-defined]


def _gru_layer_jvp(
    t: Any,
    x: Any,
    h: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    sizes: tuple[int, ...],
    reverse: bool,
) -> tuple[Any, ...]:
    outs, _, gates, n, inner = _gru_layer(x, h, w_ih, w_hh, b_ih, b_hh, sizes, reverse)
    steps = Steps(sizes, reverse)
    width = h.shape[-1]
    r, z = gates[:, :width], gates[:, width:]
    earlier = steps.before(flat(outs), h)
    seen = tangent_of_product(x, w_ih, t[0], t[2])
    fixed = np.matmul(earlier, np.swapaxes(t[3], 0, 1))
    if b_ih is not None:
        seen, fixed = seen + t[4], fixed + t[5]
    by_n = (1 - z) * (1 - n * n)
    by_r = by_n * inner * r * (1 - r)
    by_z = (earlier - n) * z * (1 - z)
    # The slopes of the result with what comes from the input, and with what comes from the state.
    of_input = np.concatenate((by_r, by_z, by_n), axis=1)
    of_state = np.concatenate((by_r, by_z, by_n * r), axis=1)
    recurrent = np.swapaxes(w_hh, 0, 1)
    th = t[1]
    results = []
    for step, rows in enumerate(steps.rows):
        th = steps.carried(step, th, t[1])
        own = np.matmul(th, recurrent) + fixed[rows]
        moved = seen[rows] * of_input[rows] + own * of_state[rows]
        parts = np.reshape(moved, (moved.shape[0], 3, width))
        th = np.sum(parts, axis=1) + z[rows] * th
        results.append(th)
    return steps.outputs(results, x), steps.final(results), None, None, None


gru_layer_op = Op(
    "gru_layer",
    _gru_layer,
    ("x", "h", "w_ih", "w_hh", "b_ih", "b_hh"),
    vjp=_gru_layer_vjp,
    jvp=_gru_layer_jvp,
    node="StackBackward0",
    outputs=5,
    differentiable_outputs=(0, 1),
    public="gru",
    samples=lambda: layer_samples(6),
)
