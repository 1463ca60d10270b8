"""Recurrent layers: whole sequences by ONNX's own operators, whose gates are in another order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import V
from ..lowering import lower, unsupported
from ..merging import Repeated

_ORDER = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}  # ONNX's gates, by PyTorch's


def _check(s: Any, x: V, h: V, sizes: Any) -> None:
    even = isinstance(sizes, Repeated) or len({repr(n) for n in sizes}) <= 1
    if not even or x.rank not in (2, 3):
        raise unsupported(s, "of packed sequences of several lengths; export it with padded ones")


def _gates(g: Any, kind: str, w: Any, hidden: int) -> Any:
    """Weights or biases in ONNX's order."""
    if w is None:
        return None
    order = _ORDER[kind]
    if len(order) > 1:
        rows = np.concatenate([np.arange(hidden) + gate * hidden for gate in order])
        w = g.op("Gather", w, rows, axis=0)
    return w


def _layer(
    g: Any, s: Any, kind: str, x: V, states: Any, weights: Any, reverse: bool, **more: Any
) -> Any:
    w_ih, w_hh, b_ih, b_hh = weights
    hidden = w_hh.shape[1]
    first = g.axes([0])
    w, r = (g.op("Unsqueeze", _gates(g, kind, m, hidden), first) for m in (w_ih, w_hh))
    bias = None
    if b_ih is not None:
        both = [_gates(g, kind, b, hidden) for b in (b_ih, b_hh)]
        bias = g.op("Unsqueeze", g.op("Concat", *both, axis=0), first)
    steps = x if x.rank == 3 else g.op("Unsqueeze", x, first)
    begin = [g.op("Unsqueeze", h, first) for h in states]
    found = g.op(
        kind, steps, w, r, bias, None, *begin, hidden_size=hidden,
        direction="reverse" if reverse else "forward", outputs=1 + len(states), **more,
    )  # fmt: skip
    outputs = g.op("Squeeze", found[0], g.axes([1] if x.rank == 3 else [0, 1]))
    return outputs, *(g.op("Squeeze", last, first) for last in found[1:])


@lower("lstm_layer")
def _lstm(
    g: Any,
    s: Any,
    x: V,
    h: V,
    c: V,
    w_ih: V,
    w_hh: V,
    b_ih: Any,
    b_hh: Any,
    w_hr: Any,
    sizes: Any,
    reverse: bool,
) -> Any:
    if w_hr is not None:
        raise unsupported(s, "with proj_size")
    _check(s, x, h, sizes)
    return _layer(g, s, "LSTM", x, (h, c), (w_ih, w_hh, b_ih, b_hh), reverse)


@lower("gru_layer")
def _gru(
    g: Any, s: Any, x: V, h: V, w_ih: V, w_hh: V, b_ih: Any, b_hh: Any, sizes: Any, reverse: bool
) -> Any:
    _check(s, x, h, sizes)
    return _layer(g, s, "GRU", x, (h,), (w_ih, w_hh, b_ih, b_hh), reverse, linear_before_reset=1)


@lower("rnn_tanh_layer", "rnn_relu_layer")
def _rnn(
    g: Any,
    s: Any,
    x: V,
    h: V,
    w_ih: V,
    w_hh: V,
    b_ih: Any,
    b_hh: Any,
    sizes: Any,
    reverse: bool,
    rectified: bool,
) -> Any:
    _check(s, x, h, sizes)
    activation = ["Relu" if rectified else "Tanh"]
    return _layer(g, s, "RNN", x, (h,), (w_ih, w_hh, b_ih, b_hh), reverse, activations=activation)
