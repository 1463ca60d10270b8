"""The steps of an LSTM on NumPy's own arrays: written in place, so that little is allocated."""

from __future__ import annotations

from typing import Any

import numpy as np

from .recurrence import Steps


def lstm_steps(
    given: Any, h: Any, c: Any, recurrent: Any, projection: Any, affine: Any, steps: Steps
) -> tuple[Any, ...]:
    """Outputs, final states, gates and cell states of all steps.

    `given`, what the gates get from the input, becomes the gates. A gate is the tanh of what it
    gets, by the first of `affine` plus the second.
    """
    scale, shift = affine
    h0, c0 = h, c
    count, width = given.shape[0], c.shape[-1]
    cells = np.empty_like(given, shape=(count, width))
    hidden = np.empty_like(cells)
    outs = hidden
    if projection is not None:
        outs = np.empty_like(given, shape=(count, projection.shape[1]))
    largest = max(steps.sizes)
    room = np.empty_like(given, shape=(largest, given.shape[1]))
    more = np.empty_like(given, shape=(largest, width))
    states, memories = [], []
    for step, rows in enumerate(steps.rows):
        size = steps.sizes[step]
        h, c = steps.carried(step, h, h0), steps.carried(step, c, c0)
        gate = given[rows]
        gate += np.matmul(h, recurrent, out=room[:size])
        np.tanh(gate, out=gate)
        gate *= scale
        gate += shift
        part, cell, shown = more[:size], cells[rows], hidden[rows]
        np.multiply(gate[:, width : 2 * width], c, out=cell)
        np.multiply(gate[:, :width], gate[:, 2 * width : 3 * width], out=part)
        cell += part
        np.tanh(cell, out=part)
        np.multiply(gate[:, 3 * width :], part, out=shown)
        h, c = shown, cell
        if projection is not None:
            h = np.matmul(shown, projection, out=outs[rows])
        states.append(h)
        memories.append(c)
    final = [np.copy(steps.final(values)) for values in (states, memories)]
    return outs, *final, given, cells
