"""The steps of LSTM and GRU by kernels: all of them in one call, for sequences of one length.

None comes back where there is no kernel, or it does not apply: packed sequences, whose steps differ in size, and a
projection after each step. Short layers are left to NumPy, too. A program calls these functions as eager mode does,
with places for what they give (`out`), so a recording of a layer is as short for a long sequence as for a short one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.kernels import kernel
from ...._tensor.settings import get_num_threads
from .recurrence import Steps, are_plain

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


def _like(rows: Any, *widths: int) -> list[Any]:
    """Room for as many rows, so many numbers wide."""
    return [np.empty((rows.shape[0], width), rows.dtype) for width in widths]


def _bias(like: Any, *biases: Any) -> Any:
    present = [b for b in biases if b is not None]
    return sum(present[1:], present[0]) if present else np.zeros_like(like)


def lstm(
    given: Any,
    b_ih: Any,
    b_hh: Any,
    h: Any,
    c: Any,
    w_hh: Any,
    sizes: tuple[int, ...],
    reverse: bool,
    out: Any = None,
    spent: bool = False,
) -> Any:
    """Outputs, final states, gates and cell states; `given` is what the gates get from the input.

    If that is `spent` it becomes the gates, and no memory is needed for them.
    """
    steps, width = Steps(sizes, reverse), c.shape[-1]
    if not are_plain(given, b_ih, b_hh, h, c, w_hh) or not _applies(steps, width):
        return None
    h, c, recurrent = (np.ascontiguousarray(v) for v in (h, c, w_hh.T))
    bias = np.ascontiguousarray(_bias(given[0], b_ih, b_hh))
    places = ((bias, (4 * width,)), (recurrent, (width, 4 * width)))
    if not _fit(steps, width, (given, 4), batch=(h, c), others=places):
        return None
    run = kernel("lstm", given, bias, h, c, recurrent)
    if run is None:
        return None
    if out is None:
        outs, cells = _like(given, width, width)
        gates = given if spent else np.empty_like(given)
        out = outs, np.empty_like(h), np.empty_like(c), gates, cells
    outs, end, end_cells, gates, cells = out
    if gates is not given:
        np.copyto(gates, given)
    numbers = _numbers(steps, width)
    run(*_units(numbers), gates, bias, h, c, recurrent, cells, outs, *numbers)
    np.copyto(end, outs[steps.rows[-1]])
    np.copyto(end_cells, cells[steps.rows[-1]])
    return out


def lstm_gradient(
    g: Any,
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
    """What arrives at the gates, at the first state and at the first cells; `end` and `end_cells` at the last."""
    steps, width = Steps(sizes, reverse), c.shape[-1]
    if not are_plain(g, gates, cells, c, w_hh, end, end_cells) or not _applies(steps, width):
        return None
    g, c, weight = (np.ascontiguousarray(v) for v in (g, c, w_hh))
    rows = (g, 1), (gates, 4), (cells, 1)
    ends = c, end, end_cells
    if not _fit(steps, width, *rows, batch=ends, others=[(weight, (4 * width, width))]):
        return None
    if out is None:
        out = np.empty_like(gates), np.empty_like(c), np.empty_like(c)
    found, dh, dc = out
    run = kernel("lstm_gradient", g, gates, cells, c, weight, dh, dc)
    if run is None or not end.dtype == end_cells.dtype == dh.dtype:
        return None
    np.copyto(dh, end)
    np.copyto(dc, end_cells)
    numbers = _numbers(steps, width)
    run(*_units(numbers), g, gates, cells, c, weight, dh, dc, found, *numbers)
    return out


def gru(
    given: Any,
    b_hh: Any,
    h: Any,
    w_hh: Any,
    sizes: tuple[int, ...],
    reverse: bool,
    out: Any = None,
) -> Any:
    """Outputs, final state, gates, candidates and their recurrent part."""
    steps, width = Steps(sizes, reverse), h.shape[-1]
    if not are_plain(given, b_hh, h, w_hh) or not _applies(steps, width):
        return None
    h, recurrent = (np.ascontiguousarray(v) for v in (h, w_hh.T))
    bias = np.ascontiguousarray(_bias(given[0], b_hh))
    places = ((bias, (3 * width,)), (recurrent, (width, 3 * width)))
    if not _fit(steps, width, (given, 3), batch=(h,), others=places):
        return None
    run = kernel("gru", given, bias, h, recurrent)
    if run is None:
        return None
    if out is None:
        outs, gates, candidates, inner = _like(given, width, 2 * width, width, width)
        out = outs, np.empty_like(h), gates, candidates, inner
    outs, end, gates, candidates, inner = out
    room = np.empty((h.shape[0], 3 * width), given.dtype)
    numbers = _numbers(steps, width)
    memory = (given, bias, h, recurrent, room, gates, candidates, inner, outs)
    run(*_units(numbers), *memory, *numbers)
    np.copyto(end, outs[steps.rows[-1]])
    return out


def gru_gradient(
    g: Any,
    gates: Any,
    candidates: Any,
    inner: Any,
    outs: Any,
    h: Any,
    w_hh: Any,
    end: Any,
    sizes: tuple[int, ...],
    reverse: bool,
    out: Any = None,
) -> Any:
    """What arrives at the gates' part from the input and from the state, and at the first state.

    `gates`, `candidates` and `inner`, their recurrent part, are what the forward left.
    """
    steps, width = Steps(sizes, reverse), h.shape[-1]
    found = gates, candidates, inner
    if not are_plain(g, *found, outs, h, w_hh, end) or not _applies(steps, width):
        return None
    g, outs, h, weight = (np.ascontiguousarray(v) for v in (g, outs, h, w_hh))
    rows = (g, 1), (gates, 2), (candidates, 1), (inner, 1), (outs, 1)
    if not _fit(steps, width, *rows, batch=(h, end), others=[(weight, (3 * width, width))]):
        return None
    if out is None:
        out = *_like(g, 3 * width, 3 * width), np.empty_like(h)
    seen, own, dh = out
    run = kernel("gru_gradient", g, *found, outs, h, weight, dh)
    if run is None or end.dtype != dh.dtype:
        return None
    np.copyto(dh, end)
    kept = np.zeros_like(dh)
    numbers = _numbers(steps, width)
    run(*_units(numbers), g, *found, outs, h, weight, dh, seen, own, kept, *numbers)
    dh += kept
    return out


for _function, _results in ((lstm, 5), (lstm_gradient, 3), (gru, 5), (gru_gradient, 3)):
    setattr(_function, "takes_out", _results)  # noqa: B010
