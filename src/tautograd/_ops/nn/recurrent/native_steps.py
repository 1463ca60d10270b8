"""The steps of LSTM and GRU by kernels: all of them in one call, for sequences of one length.

None comes back where there is no kernel, or it does not apply: packed sequences, whose steps differ in size, and a
projection after each step. Short layers are left to NumPy, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.kernels import kernel
from ...._tensor.settings import get_num_threads
from .recurrence import Steps

_FEWEST = 8  # sequences for a thread
_WORTH_IT = 1 << 11  # numbers of all states: with fewer, NumPy's way costs little


def _numbers(steps: Steps, width: int) -> tuple[int, ...]:
    """Steps, sequences, width, sequences of a unit, and where the first step and the next one lie."""
    count, batch = len(steps.sizes), steps.sizes[0]
    rows = max(_FEWEST, -(-batch // get_num_threads()))
    if steps.reverse:
        return count, batch, width, rows, (count - 1) * batch, -batch
    return count, batch, width, rows, 0, batch


def _units(numbers: tuple[int, ...]) -> tuple[int, int]:
    count, batch, width, rows, *_ = numbers
    return -(-batch // rows), count * batch * width * 4


def _applies(steps: Steps, width: int) -> bool:
    return steps.even and len(steps.sizes) * steps.sizes[0] * width >= max(_WORTH_IT, 1)


def _fit(
    steps: Steps, width: int, *rows: tuple[Any, int], batch: Any = (), others: Any = ()
) -> bool:
    """Whether all arrays have the sizes that a kernel goes by; NumPy says what is wrong with others.

    `rows` are arrays with a row for each step of each sequence, so many times as wide as the state; `batch` those with
    a state for each sequence; `others` arrays with their shapes.
    """
    first = steps.sizes[0]
    wanted = [(array, (len(steps.sizes) * first, times * width)) for array, times in rows]
    wanted += [(array, (first, width)) for array in batch]
    return all(array.shape == shape for array, shape in (*wanted, *others))


def _bias(like: Any, *biases: Any) -> Any:
    present = [b for b in biases if b is not None]
    return sum(present[1:], present[0]) if present else np.zeros_like(like)


def lstm(given: Any, b_ih: Any, b_hh: Any, h: Any, c: Any, w_hh: Any, steps: Steps) -> Any:
    """Outputs, final states, gates and cell states; `given`, what the gates get from the input, becomes the gates."""
    width = c.shape[-1]
    if type(given) is not np.ndarray or not _applies(steps, width):
        return None
    h, c, recurrent = (np.ascontiguousarray(v) for v in (h, c, w_hh.T))
    bias = np.ascontiguousarray(_bias(given[0], b_ih, b_hh))
    places = ((bias, (4 * width,)), (recurrent, (width, 4 * width)))
    if not _fit(steps, width, (given, 4), batch=(h, c), others=places):
        return None
    run = kernel("lstm", given, bias, h, c, recurrent)
    if run is None:
        return None
    cells, outs = (np.empty((given.shape[0], width), given.dtype) for _ in range(2))
    numbers = _numbers(steps, width)
    run(*_units(numbers), given, bias, h, c, recurrent, cells, outs, *numbers)
    last = steps.rows[-1]
    return outs, outs[last].copy(), cells[last].copy(), given, cells


def lstm_gradient(
    g: Any, gates: Any, cells: Any, c: Any, w_hh: Any, ends: tuple[Any, Any], steps: Steps
) -> Any:
    """What arrives at the gates, at the first state and at the first cells; `ends` is what arrives at the last."""
    width = c.shape[-1]
    if type(g) is not np.ndarray or not _applies(steps, width):
        return None
    g, c, weight = (np.ascontiguousarray(v) for v in (g, c, w_hh))
    dh, dc = (np.array(v, order="C") for v in ends)
    rows = (g, 1), (gates, 4), (cells, 1)
    if not _fit(steps, width, *rows, batch=(c, dh, dc), others=[(weight, (4 * width, width))]):
        return None
    run = kernel("lstm_gradient", g, gates, cells, c, weight, dh, dc)
    if run is None:
        return None
    found = np.empty_like(gates)
    numbers = _numbers(steps, width)
    run(*_units(numbers), g, gates, cells, c, weight, dh, dc, found, *numbers)
    return found, dh, dc


def gru(given: Any, b_hh: Any, h: Any, w_hh: Any, steps: Steps) -> Any:
    """Outputs, final state, gates, candidates and their recurrent part."""
    width = h.shape[-1]
    if type(given) is not np.ndarray or not _applies(steps, width):
        return None
    h, recurrent = (np.ascontiguousarray(v) for v in (h, w_hh.T))
    bias = np.ascontiguousarray(_bias(given[0], b_hh))
    places = ((bias, (3 * width,)), (recurrent, (width, 3 * width)))
    if not _fit(steps, width, (given, 3), batch=(h,), others=places):
        return None
    run = kernel("gru", given, bias, h, recurrent)
    if run is None:
        return None
    count = given.shape[0]
    room = np.empty((h.shape[0], 3 * width), given.dtype)
    gates = np.empty((count, 2 * width), given.dtype)
    candidates, inner, outs = (np.empty((count, width), given.dtype) for _ in range(3))
    numbers = _numbers(steps, width)
    memory = (given, bias, h, recurrent, room, gates, candidates, inner, outs)
    run(*_units(numbers), *memory, *numbers)
    return outs, outs[steps.rows[-1]].copy(), gates, candidates, inner


def gru_gradient(
    g: Any, found: tuple[Any, Any, Any], outs: Any, h: Any, w_hh: Any, end: Any, steps: Steps
) -> Any:
    """What arrives at the gates' part from the input and from the state, and at the first state.

    `found` are the gates, candidates and their recurrent part that the forward left.
    """
    width = h.shape[-1]
    if type(g) is not np.ndarray or not _applies(steps, width):
        return None
    g, outs, h, weight = (np.ascontiguousarray(v) for v in (g, outs, h, w_hh))
    dh = np.array(end, order="C")
    rows = (g, 1), (found[0], 2), (found[1], 1), (found[2], 1), (outs, 1)
    if not _fit(steps, width, *rows, batch=(h, dh), others=[(weight, (3 * width, width))]):
        return None
    run = kernel("gru_gradient", g, *found, outs, h, weight, dh)
    if run is None:
        return None
    seen, own = (np.empty((g.shape[0], 3 * width), g.dtype) for _ in range(2))
    kept = np.zeros_like(dh)
    numbers = _numbers(steps, width)
    run(*_units(numbers), g, *found, outs, h, weight, dh, seen, own, kept, *numbers)
    return seen, own, dh + kept
