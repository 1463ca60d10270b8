"""The steps of recurrent layers, forward and backward: for all time in one call, products by BLAS in between.

Sequences are independent of each other, so a unit is some of them (`rows`), from the first step to the last. Rows of a
step lie together, `batch` of them; `stride` is the distance in rows from one step to the next that is worked off,
negative where a layer runs backward in time. All units of a call run with a BLAS of one thread.
"""

from __future__ import annotations

from typing import Any

from .._compile.native.llvm.algebra import Term
from .._compile.native.llvm.vector_math_exp import sigmoid, tanh
from .gemm import multiply
from .writer import BEGIN, END, Writer


class _Unit:
    """The rows of a unit, and where they lie in arrays with a row for each step and sequence."""

    def __init__(self, w: Writer, unit: str, numbers: list[str]) -> None:
        self.w = w
        self.steps, self.batch, self.width, self.rows, self.start, self.stride = numbers
        self.first = w.times(unit, self.rows)
        self.count = w.minus(w.least(w.plus(self.first, self.rows), self.batch), self.first)

    def at(self, array: str, step: str, columns: str) -> str:
        """The unit's first row of a step."""
        row = self.w.plus(self.w.plus(self.start, self.w.times(step, self.stride)), self.first)
        return self.w.at(array, self.w.times(row, columns))

    def initial(self, array: str) -> str:
        return self.w.at(array, self.w.times(self.first, self.width))

    def before(self, array: str, step: str, initial: str) -> str:
        """The rows of the step before, or the initial ones."""
        earlier = self.at(array, self.w.minus(step, 1), self.width)
        is_first = self.w.code.new(f"icmp eq i64 {step}, 0")
        return self.w.code.new(f"select i1 {is_first}, ptr {self.initial(initial)}, ptr {earlier}")


LSTM_NUMBERS = "nnnnnn"


def _gates(w: Writer, row: str, index: str, width: str, mask: str | None) -> list[Term]:
    return [w.load(_gate(w, row, gate, index, width), mask) for gate in range(4)]


def _gate(w: Writer, row: str, gate: int, index: str, width: str) -> str:
    return w.at(row, w.plus(w.times(width, gate), index))


def lstm(w: Writer) -> None:
    """`(gates, bias, h0, c0, recurrent, cells, outs, *numbers)`; `gates` hold what the input gives.

    i, f, o = sigmoid(…), a = tanh(…);  c' = f c + i a;  h' = o tanh(c').
    """
    gates, bias, h0, c0, recurrent, cells, outs, *numbers = w.arguments()
    with w.each(BEGIN, END) as number:
        unit = _Unit(w, number, numbers)
        width = unit.width
        all_gates = w.times(width, 4)
        with w.each("0", unit.steps) as step:
            gate = unit.at(gates, step, all_gates)
            h = unit.before(outs, step, h0)
            sizes = (unit.count, all_gates, width)
            multiply(w, sizes, (h, width), (recurrent, all_gates), (gate, all_gates), True)
            c, cell = unit.before(cells, step, c0), unit.at(cells, step, width)
            out = unit.at(outs, step, width)
            with w.each("0", unit.count) as row:
                here = w.at(gate, w.times(row, all_gates))
                from_row = w.times(row, width)

                def body(
                    index: str, mask: str | None, here: str = here, row: str = from_row
                ) -> None:
                    given = _gates(w, here, index, width, mask)
                    extra = _gates(w, bias, index, width, mask)
                    i, f, a, o = (x + b for x, b in zip(given, extra, strict=True))
                    i, f, a, o = sigmoid(i), sigmoid(f), tanh(a), sigmoid(o)
                    for which, term in enumerate((i, f, a, o)):
                        w.store(term, _gate(w, here, which, index, width), mask)
                    place = w.plus(row, index)
                    state = f * w.load(w.at(c, place), mask) + i * a
                    w.store(state, w.at(cell, place), mask)
                    w.store(o * tanh(state), w.at(out, place), mask)

                w.vectors(width, body)


def lstm_gradient(w: Writer) -> None:
    """`(g, gates, cells, c0, weight, dh, dc, d_gates, *numbers)`; `dh` and `dc` arrive and leave.

    With s = tanh(c'):  dc += dh o (1 - s²);  d_i = dc a i(1-i), d_f = dc c f(1-f), d_a = dc i (1-a²),
    d_o = dh s o(1-o);  then dc f and d_gates @ weight are handed to the step before.
    """
    g, gates, cells, c0, weight, dh, dc, d_gates, *numbers = w.arguments()
    with w.each(BEGIN, END) as number:
        unit = _Unit(w, number, numbers)
        width = unit.width
        all_gates = w.times(width, 4)
        own_h, own_c = unit.initial(dh), unit.initial(dc)
        with w.each("0", unit.steps) as back:
            step = w.minus(w.minus(unit.steps, 1), back)
            gate, result = (unit.at(x, step, all_gates) for x in (gates, d_gates))
            arrived, cell = unit.at(g, step, width), unit.at(cells, step, width)
            c = unit.before(cells, step, c0)
            with w.each("0", unit.count) as row:
                from_gates = w.times(row, all_gates)
                here, there = w.at(gate, from_gates), w.at(result, from_gates)
                from_row = w.times(row, width)

                def body(
                    index: str,
                    mask: str | None,
                    here: str = here,
                    there: str = there,
                    row: str = from_row,
                ) -> None:
                    place = w.plus(row, index)
                    i, f, a, o = _gates(w, here, index, width, mask)
                    h = w.load(w.at(own_h, place), mask) + w.load(w.at(arrived, place), mask)
                    shown = tanh(w.load(w.at(cell, place), mask))
                    moved = w.load(w.at(own_c, place), mask) + h * o * (1.0 - shown * shown)
                    found = (
                        moved * a * (i * (1.0 - i)),
                        moved * w.load(w.at(c, place), mask) * (f * (1.0 - f)),
                        moved * i * (1.0 - a * a),
                        h * shown * (o * (1.0 - o)),
                    )
                    for which, term in enumerate(found):
                        w.store(term, _gate(w, there, which, index, width), mask)
                    w.store(moved * f, w.at(own_c, place), mask)

                w.vectors(width, body)
            sizes = (unit.count, width, all_gates)
            multiply(w, sizes, (result, all_gates), (weight, width), (own_h, width), False)


def gru(w: Writer) -> None:
    """`(given, bias, h0, recurrent, gates, candidates, inner, outs, *numbers)`; `inner` is w's part of n.

    r, z = sigmoid(…);  n = tanh(given + r · inner);  h' = n + z (h - n). `own` is memory for a step's products.
    """
    given, bias, h0, recurrent, own, gates, candidates, inner, outs, *numbers = w.arguments()
    with w.each(BEGIN, END) as number:
        unit = _Unit(w, number, numbers)
        width = unit.width
        all_gates, two = w.times(width, 3), w.times(width, 2)
        room = w.at(own, w.times(unit.first, all_gates))
        with w.each("0", unit.steps) as step:
            h = unit.before(outs, step, h0)
            sizes = (unit.count, all_gates, width)
            multiply(w, sizes, (h, width), (recurrent, all_gates), (room, all_gates), False)
            seen, gate = unit.at(given, step, all_gates), unit.at(gates, step, two)
            candidate, part, out = (unit.at(x, step, width) for x in (candidates, inner, outs))
            with w.each("0", unit.count) as row:
                from_seen = w.times(row, all_gates)
                a, b = w.at(seen, from_seen), w.at(room, from_seen)
                to_gate = w.at(gate, w.times(row, two))
                from_row = w.times(row, width)

                def body(
                    index: str,
                    mask: str | None,
                    a: str = a,
                    b: str = b,
                    to_gate: str = to_gate,
                    row: str = from_row,
                ) -> None:
                    def three(base: str) -> list[Term]:
                        return [w.load(_gate(w, base, k, index, width), mask) for k in range(3)]

                    x, y, extra = three(a), three(b), three(bias)
                    r, z = (sigmoid(x[k] + (y[k] + extra[k])) for k in range(2))
                    own_part = y[2] + extra[2]
                    n = tanh(x[2] + r * own_part)
                    place = w.plus(row, index)
                    earlier = w.load(w.at(h, place), mask)
                    w.store(r, _gate(w, to_gate, 0, index, width), mask)
                    w.store(z, _gate(w, to_gate, 1, index, width), mask)
                    w.store(n, w.at(candidate, place), mask)
                    w.store(own_part, w.at(part, place), mask)
                    w.store(n + z * (earlier - n), w.at(out, place), mask)

                w.vectors(width, body)


def gru_gradient(w: Writer) -> None:
    """`(g, gates, candidates, inner, outs, h0, weight, dh, seen, own, *numbers)`.

    `seen` is what arrives at the input's part of the gates, `own` at the state's:  dn = dh (1-z)(1-n²) at both, but
    times r at `own`;  d_r = dn inner r(1-r);  d_z = dh (h-n) z(1-z);  dh z + own @ weight is handed on.
    """
    g, gates, candidates, inner, outs, h0, weight, dh, seen, own, kept, *numbers = w.arguments()
    with w.each(BEGIN, END) as number:
        unit = _Unit(w, number, numbers)
        width = unit.width
        all_gates, two = w.times(width, 3), w.times(width, 2)
        own_h, carried = unit.initial(dh), unit.initial(kept)
        with w.each("0", unit.steps) as back:
            step = w.minus(w.minus(unit.steps, 1), back)
            h = unit.before(outs, step, h0)
            gate = unit.at(gates, step, two)
            first, second = (unit.at(x, step, all_gates) for x in (seen, own))
            arrived, candidate, part = (unit.at(x, step, width) for x in (g, candidates, inner))
            with w.each("0", unit.count) as row:
                from_row, from_gates = w.times(row, width), w.times(row, all_gates)
                from_gate = w.at(gate, w.times(row, two))
                a, b = w.at(first, from_gates), w.at(second, from_gates)

                def body(
                    index: str,
                    mask: str | None,
                    from_gate: str = from_gate,
                    a: str = a,
                    b: str = b,
                    row: str = from_row,
                ) -> None:
                    place = w.plus(row, index)
                    r, z = (w.load(_gate(w, from_gate, k, index, width), mask) for k in range(2))
                    n, y, earlier = (w.load(w.at(p, place), mask) for p in (candidate, part, h))
                    d = w.load(w.at(own_h, place), mask) + w.load(w.at(carried, place), mask)
                    d = d + w.load(w.at(arrived, place), mask)
                    by_n = d * (1.0 - z) * (1.0 - n * n)
                    by_r = by_n * y * (r * (1.0 - r))
                    by_z = d * (earlier - n) * (z * (1.0 - z))
                    for target, last in ((a, by_n), (b, by_n * r)):
                        for which, term in enumerate((by_r, by_z, last)):
                            w.store(term, _gate(w, target, which, index, width), mask)
                    w.store(d * z, w.at(carried, place), mask)

                w.vectors(width, body)
            sizes = (unit.count, width, all_gates)
            multiply(w, sizes, (second, all_gates), (weight, width), (own_h, width), False)


RECURRENT: dict[str, Any] = {
    "lstm": ("a" * 7 + LSTM_NUMBERS, lstm),
    "lstm_gradient": ("a" * 8 + LSTM_NUMBERS, lstm_gradient),
    "gru": ("a" * 9 + LSTM_NUMBERS, gru),
    "gru_gradient": ("a" * 11 + LSTM_NUMBERS, gru_gradient),
}
