"""A layer of LSTM in one direction, over all time steps, as one record.

    i, f, o = sigmoid(…)   g = tanh(…)   of x w_ihᵀ + h w_hhᵀ + biases
    c' = f c + i g         h' = o tanh(c'), projected by w_hr if there is one

The products with the input are one for all steps, and so are, going backward, all slopes and the
gradients of weights; what has to be done step by step is little. A sigmoid is taken as a tanh of
half its argument, so that one call does all gates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.kernels import are_callable, called
from ...declare.elementwise_calls import conj
from ...declare.record import Op
from ...declare.samples import Sample, T
from ...linalg.products.shared_products import matmul
from . import native_steps
from .lstm_steps import lstm_steps
from .recurrence import (
    Steps,
    are_plain,
    flat,
    gradients_of_inputs,
    placed,
    tangent_of_product,
    turned,
)

_GATES = 4  # input, forget, cell, output


def _halves(like: Any, width: int, cell: float, others: float) -> Any:
    """One number for the cell gate and another for the rest, as a row of all gates."""
    rest, own = (np.full_like(like, v, shape=(width,)) for v in (others, cell))
    return np.concatenate((rest, rest, own, rest))


def _before_gates(x: Any, w_ih: Any, b_ih: Any, b_hh: Any) -> Any:
    total = matmul(flat(x), np.swapaxes(w_ih, 0, 1))
    return total if b_ih is None else total + (b_ih + b_hh)


def _lstm_layer(
    x: Any,
    h: Any,
    c: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    w_hr: Any,
    sizes: tuple[int, ...],
    reverse: bool,
) -> tuple[Any, ...]:
    """Outputs, final states, and for the gradient the gates and cell states of every step."""
    steps = Steps(sizes, reverse)
    width = c.shape[-1]
    if w_hr is None and are_callable(x, h, c, w_ih, w_hh, b_ih, b_hh):
        given = matmul(flat(x), np.swapaxes(w_ih, 0, 1))
        arrays = given, b_ih, b_hh, h, c, w_hh
        if are_plain(*arrays):
            found = native_steps.lstm(*arrays, steps, spent=True)
        else:
            found = called(_all_steps, *arrays, sizes, reverse)
        if found is not None:
            return np.reshape(found[0], (*x.shape[:-1], width)), *found[1:]
    scale = _halves(w_hh, width, 1.0, 0.5)
    shift = _halves(w_hh, width, 0.0, 0.5)
    given = _before_gates(x, w_ih, b_ih, b_hh) * scale
    recurrent = turned(w_hh) * scale
    projection = None if w_hr is None else turned(w_hr)
    if are_plain(given, h, c, recurrent, projection):
        found = lstm_steps(given, h, c, recurrent, projection, (scale, shift), steps)
        return np.reshape(found[0], (*x.shape[:-1], found[0].shape[-1])), *found[1:]
    h0, c0 = h, c
    outs, cells, gates = [], [], []
    for step, rows in enumerate(steps.rows):
        h, c = steps.carried(step, h, h0), steps.carried(step, c, c0)
        gate = np.tanh(np.matmul(h, recurrent) + given[rows]) * scale + shift
        i, f = gate[:, :width], gate[:, width : 2 * width]
        g, o = gate[:, 2 * width : 3 * width], gate[:, 3 * width :]
        c = f * c + i * g
        h = o * np.tanh(c)
        if projection is not None:
            h = np.matmul(h, projection)
        outs.append(h)
        cells.append(c)
        gates.append(gate)
    out = steps.outputs(outs, x)
    return out, steps.final(outs), steps.final(cells), steps.in_time(gates), steps.in_time(cells)


def _all_steps(
    given: Any,
    b_ih: Any,
    b_hh: Any,
    h: Any,
    c: Any,
    w_hh: Any,
    sizes: tuple[int, ...],
    reverse: bool,
    out: Any = None,
) -> Any:
    """The kernel's way; a program that was made of it goes another one where there are no kernels any more."""
    steps, width = Steps(sizes, reverse), c.shape[-1]
    found = native_steps.lstm(given, b_ih, b_hh, h, c, w_hh, steps, out)
    if found is not None or out is None:
        return found
    affine = _halves(w_hh, width, 1.0, 0.5), _halves(w_hh, width, 0.0, 0.5)
    given = (given if b_ih is None else given + (b_ih + b_hh)) * affine[0]
    return placed(out, lstm_steps(given, h, c, turned(w_hh) * affine[0], None, affine, steps))


_all_steps.takes_out = 5  # type: ignore[attr-defined]


def _slopes(gates: Any, width: int) -> tuple[Any, ...]:
    """Each gate, and its derivative with respect to what it is a function of."""
    i, f = gates[:, :width], gates[:, width : 2 * width]
    g, o = gates[:, 2 * width : 3 * width], gates[:, 3 * width :]
    return i, f, g, o, i * (1 - i), f * (1 - f), 1 - g * g, o * (1 - o)


def _lstm_layer_vjp(
    g: Any,
    x: Any,
    h: Any,
    c: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    w_hr: Any,
    out0: Any,
    out3: Any,
    out4: Any,
    sizes: tuple[int, ...],
    reverse: bool,
    needs: tuple[bool, ...],
) -> tuple[Any, ...]:
    outs, gates, cells = out0, out3, out4
    if hasattr(x, "apply_lifted"):  # these are no constants if they are differentiated again
        outs, _, _, gates, cells = _lstm_layer(
            x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, reverse
        )
    earlier = Steps(sizes, reverse).before(flat(outs), h)
    arrays = flat(g[0]), gates, cells, c, w_hh, g[1], g[2]
    found: Any = None
    if w_hr is None and are_callable(*arrays):
        found = called(_back, *arrays, sizes, reverse)
    d_hr = None
    if found is None:
        *found, projected = _back_step_by_step(*arrays, w_hr, sizes, reverse)
        if w_hr is not None and needs[7]:
            hidden = gates[:, 3 * c.shape[-1] :] * np.tanh(cells)
            d_hr = np.matmul(np.swapaxes(projected, 0, 1), conj(hidden))
    gate, *states = found
    of_inputs = gradients_of_inputs(
        (gate, gate), tuple(states), x, w_ih, earlier, b_ih is not None, needs
    )
    return (*of_inputs, d_hr)


def _back(
    g_out: Any,
    gates: Any,
    cells: Any,
    c: Any,
    w_hh: Any,
    end: Any,
    end_cells: Any,
    sizes: tuple[int, ...],
    reverse: bool,
    out: Any = None,
) -> Any:
    """What arrives at the gates, at the first state and at the first cells: as `_all_steps`."""
    arrays = g_out, gates, cells, c, w_hh, end, end_cells
    found = native_steps.lstm_gradient(*arrays, Steps(sizes, reverse), out)
    if found is None and out is not None:
        return placed(out, _back_step_by_step(*arrays, None, sizes, reverse)[:3])
    return found


_back.takes_out = 3  # type: ignore[attr-defined]


def _back_step_by_step(
    g_out: Any,
    gates: Any,
    cells: Any,
    c: Any,
    w_hh: Any,
    end: Any,
    end_cells: Any,
    w_hr: Any,
    sizes: tuple[int, ...],
    reverse: bool,
) -> tuple[Any, Any, Any, Any]:
    """The same, and what arrives at the projected states."""
    steps, width = Steps(sizes, reverse), c.shape[-1]
    i, f, a, o, di, df, da, do = _slopes(gates, width)
    squashed = np.tanh(cells)
    # How gates move the cell state (input, forget, cell), and it and the output gate the result.
    moves = conj(np.stack((a * di, steps.before(cells, c) * df, i * da), axis=1))
    shown, opened = conj(o * (1 - squashed * squashed)), conj(squashed * do)
    kept, recurrent = conj(f), conj(w_hh)
    projection = None if w_hr is None else conj(w_hr)
    dh, dc = steps.last(end), steps.last(end_cells)
    h_ends: list[Any] = []
    c_ends: list[Any] = []
    whole = None
    if are_plain(moves, shown, opened, kept, recurrent, projection, g_out, dh, dc):
        whole = np.empty_like(gates)
    gradients, projected = [], []
    for step in range(len(sizes) - 1, -1, -1):
        rows = steps.rows[step]
        dh = dh + g_out[rows]
        if projection is not None:
            projected.append(dh)
            dh = np.matmul(dh, projection)
        dc = dc + dh * shown[rows]
        if whole is None:
            through = np.expand_dims(dc, 1) * moves[rows]
            through = np.reshape(through, (through.shape[0], 3 * width))
            gate = np.concatenate((through, dh * opened[rows]), axis=1)
            gradients.append(gate)
        else:
            gate = whole[rows]
            through = np.reshape(gate, (gate.shape[0], 4, width))
            np.multiply(dc[:, None], moves[rows], out=through[:, :3])
            np.multiply(dh, opened[rows], out=through[:, 3])
        dh = steps.state_gradient(step, np.matmul(gate, recurrent), end, h_ends)
        dc = steps.state_gradient(step, dc * kept[rows], end_cells, c_ends)
    gate = steps.in_time(gradients[::-1]) if whole is None else whole
    initial = steps.initial(dh, h_ends), steps.initial(dc, c_ends)
    return gate, *initial, steps.in_time(projected[::-1]) if projected else None


def _lstm_layer_jvp(
    t: Any,
    x: Any,
    h: Any,
    c: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    w_hr: Any,
    sizes: tuple[int, ...],
    reverse: bool,
) -> tuple[Any, ...]:
    outs, _, _, gates, cells = _lstm_layer(x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, reverse)
    steps = Steps(sizes, reverse)
    width = c.shape[-1]
    i, f, a, o, di, df, da, do = _slopes(gates, width)
    squashed, earlier = np.tanh(cells), steps.before(cells, c)
    shown = o * (1 - squashed * squashed)
    fixed = tangent_of_product(x, w_ih, t[0], t[3])
    fixed = fixed + np.matmul(steps.before(flat(outs), h), np.swapaxes(t[4], 0, 1))
    if b_ih is not None:
        fixed = fixed + (t[5] + t[6])
    recurrent = np.swapaxes(w_hh, 0, 1)
    slopes = np.concatenate((di, df, da, do), axis=1)
    th, tc = t[1], t[2]
    results, states = [], []
    for step, rows in enumerate(steps.rows):
        th, tc = steps.carried(step, th, t[1]), steps.carried(step, tc, t[2])
        gate = (np.matmul(th, recurrent) + fixed[rows]) * slopes[rows]
        ti, tf = gate[:, :width], gate[:, width : 2 * width]
        ta, to = gate[:, 2 * width : 3 * width], gate[:, 3 * width :]
        tc = tf * earlier[rows] + f[rows] * tc + ti * a[rows] + i[rows] * ta
        th = to * squashed[rows] + shown[rows] * tc
        if w_hr is not None:
            th = np.matmul(th, np.swapaxes(w_hr, 0, 1))
            th = th + np.matmul(o[rows] * squashed[rows], np.swapaxes(t[7], 0, 1))
        results.append(th)
        states.append(tc)
    return steps.outputs(results, x), steps.final(results), steps.final(states), None, None


def _weights(inputs: int, hidden: int, projected: int = 0, bias: bool = True) -> list[T]:
    found = [T(4 * hidden, inputs, seed=1), T(4 * hidden, projected or hidden, seed=2)]
    if bias:
        found += [T(4 * hidden, seed=3), T(4 * hidden, seed=4)]
    return [*found, T(projected, hidden, seed=5)] if projected else found


def _samples() -> list[Sample]:
    x, h, c = T(3, 2, 3), T(1, 2, 2, seed=6), T(1, 2, 2, seed=7)
    two, three = _weights(3, 2), _weights(3, 3, 2)
    sizes = T(3, dtype="int64", kind="falling")
    plain = (1, 0.0, False, False)
    return [
        Sample(x, [h, c], two, True, *plain, False),
        Sample(x, [T(1, 3, 2), T(1, 3, 2)], two, True, *plain, True),
        Sample(x, [h, c], _weights(3, 2, bias=False), False, *plain, False),
        Sample(x, [h, T(1, 2, 3)], three, True, *plain, False),
        Sample(x, [T(2, 2, 2), T(2, 2, 2)], two + two, True, 1, 0.0, False, True, False),
        Sample(T(6, 3), sizes, [T(1, 3, 2), T(1, 3, 2)], two, True, *plain),
        Sample(T(6, 3), sizes, [T(2, 3, 2), T(2, 3, 2)], two + two, True, 1, 0.0, False, True),
    ]


lstm_layer_op = Op(
    "lstm_layer",
    _lstm_layer,
    ("x", "h", "c", "w_ih", "w_hh", "b_ih", "b_hh", "w_hr"),
    vjp=_lstm_layer_vjp,
    jvp=_lstm_layer_jvp,
    node="StackBackward0",
    outputs=5,
    differentiable_outputs=(0, 1, 2),
    public="lstm",
    samples=_samples,
)
