"""A layer of the simplest recurrence in one direction, over all time steps, as one record.

    h' = tanh(x w_ihᵀ + h w_hhᵀ + biases), or the positive part of that

The slope is known from the result itself: 1 - h'² or whether it is positive.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...declare.elementwise_calls import conj
from ...declare.record import Op
from .recurrence import Steps, flat, gradients_of_inputs, layer_samples, tangent_of_product, turned


def _active(x: Any, rectified: bool) -> Any:
    return np.maximum(x, np.zeros_like(x)) if rectified else np.tanh(x)


def _slopes(out: Any, rectified: bool) -> Any:
    return np.astype(out > 0, out.dtype) if rectified else 1 - out * out


def _rnn_layer(
    x: Any,
    h: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    sizes: tuple[int, ...],
    reverse: bool,
    rectified: bool,
) -> tuple[Any, Any]:
    """Outputs and final state."""
    steps = Steps(sizes, reverse)
    given = np.matmul(flat(x), np.swapaxes(w_ih, 0, 1))
    if b_ih is not None:
        given = given + (b_ih + b_hh)
    recurrent = turned(w_hh)
    h0 = h
    outs = []
    for step, rows in enumerate(steps.rows):
        h = steps.carried(step, h, h0)
        h = _active(np.matmul(h, recurrent) + given[rows], rectified)
        outs.append(h)
    return steps.outputs(outs, x), steps.final(outs)


def _rnn_layer_vjp(
    g: Any,
    x: Any,
    h: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    out0: Any,
    sizes: tuple[int, ...],
    reverse: bool,
    rectified: bool,
    needs: tuple[bool, ...],
) -> tuple[Any, ...]:
    outs = out0
    if hasattr(x, "apply_lifted"):  # no constant if it is differentiated again
        outs, _ = _rnn_layer(x, h, w_ih, w_hh, b_ih, b_hh, sizes, reverse, rectified)
    steps = Steps(sizes, reverse)
    slopes, weight = conj(_slopes(flat(outs), rectified)), conj(w_hh)
    g_out = flat(g[0])
    dh = steps.last(g[1])
    ends: list[Any] = []
    gradients = []
    for step in range(len(sizes) - 1, -1, -1):
        rows = steps.rows[step]
        before = (dh + g_out[rows]) * slopes[rows]
        gradients.append(before)
        dh = steps.state_gradient(step, np.matmul(before, weight), g[1], ends)
    before = steps.in_time(gradients[::-1])
    states, earlier = (steps.initial(dh, ends),), steps.before(flat(outs), h)
    return gradients_of_inputs((before, before), states, x, w_ih, earlier, b_ih is not None, needs)


def _rnn_layer_jvp(
    t: Any,
    x: Any,
    h: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    sizes: tuple[int, ...],
    reverse: bool,
    rectified: bool,
) -> tuple[Any, Any]:
    outs, _ = _rnn_layer(x, h, w_ih, w_hh, b_ih, b_hh, sizes, reverse, rectified)
    outs = flat(outs)
    steps = Steps(sizes, reverse)
    fixed = tangent_of_product(x, w_ih, t[0], t[2])
    fixed = fixed + np.matmul(steps.before(outs, h), np.swapaxes(t[3], 0, 1))
    if b_ih is not None:
        fixed = fixed + (t[4] + t[5])
    slopes = _slopes(outs, rectified)
    recurrent = np.swapaxes(w_hh, 0, 1)
    th = t[1]
    results = []
    for step, rows in enumerate(steps.rows):
        th = steps.carried(step, th, t[1])
        th = (np.matmul(th, recurrent) + fixed[rows]) * slopes[rows]
        results.append(th)
    return steps.outputs(results, x), steps.final(results)


def _declared(name: str) -> Op:
    return Op(
        f"{name}_layer",
        _rnn_layer,
        ("x", "h", "w_ih", "w_hh", "b_ih", "b_hh"),
        vjp=_rnn_layer_vjp,
        jvp=_rnn_layer_jvp,
        node="StackBackward0",
        outputs=2,
        public=name,
        samples=lambda: layer_samples(2),
    )


rnn_tanh_layer_op = _declared("rnn_tanh")
rnn_relu_layer_op = _declared("rnn_relu")
