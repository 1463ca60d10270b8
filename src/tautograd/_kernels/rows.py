"""Softmax and norms of rows, forward and backward, and the norm of a batch's channels.

Sums are added up in float64 and deviations are taken from a mean in float64: a row of 10⁶ numbers in float32 has a
mean and a variance that are off by their own rounding, and no more. A unit is a row (or a channel); columns are
summed by vectors of columns, so no sum is ever shared between threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._compile.native.llvm.algebra import Term
from .._compile.native.llvm.vector_math_exp import exp
from .._compile.native.llvm.vector_math_log import log
from .writer import BEGIN, END, FLOAT64, Writer

_WIDE = FLOAT64
COLUMNS = 64  # of a unit where columns are added up


def _row_maximum(w: Writer, row: str, width: str) -> Term:
    best = w.variable(w.constant(float("-inf")))

    def body(index: str, mask: str | None) -> None:
        value = w.kept(mask, w.load(w.at(row, index), mask), float("-inf"))
        best.set(best.get().call("maxnum", value))

    w.vectors(width, body)
    return w.splat(w.total(best.get(), "fmax"))


def softmax(w: Writer) -> None:
    """`(x, out, width)`: e^(x - max) over their sum."""
    x, out, width = w.arguments()
    with w.each(BEGIN, END) as number:
        start = w.times(number, width)
        row, result = w.at(x, start), w.at(out, start)
        largest = _row_maximum(w, row, width)
        total = w.sum_variable()

        def raised(index: str, mask: str | None) -> None:
            value = exp(w.load(w.at(row, index), mask) - largest)
            w.store(value, w.at(result, index), mask)
            w.add_to(total, w.kept(mask, value, 0.0))

        w.vectors(width, raised)
        whole = w.splat(w.total(total.get()).to(w.dtype))

        def shared(index: str, mask: str | None) -> None:
            place = w.at(result, index)
            w.store(w.load(place, mask) / whole, place, mask)

        w.vectors(width, shared)


def log_softmax(w: Writer) -> None:
    """`(x, out, width)`: (x - max) - log of the sum of e^(x - max)."""
    x, out, width = w.arguments()
    with w.each(BEGIN, END) as number:
        start = w.times(number, width)
        row, result = w.at(x, start), w.at(out, start)
        largest = _row_maximum(w, row, width)
        total = w.sum_variable()

        def raised(index: str, mask: str | None) -> None:
            value = exp(w.load(w.at(row, index), mask) - largest)
            w.add_to(total, w.kept(mask, value, 0.0))

        w.vectors(width, raised)
        logarithm = w.splat(log(w.total(total.get())).to(w.dtype))

        def lowered(index: str, mask: str | None) -> None:
            value = (w.load(w.at(row, index), mask) - largest) - logarithm
            w.store(value, w.at(result, index), mask)

        w.vectors(width, lowered)


def _sum_then_move(
    w: Writer,
    added: Callable[[Term, Term, str | None], Term],
    moved: Callable[[Term, Term, Term], Term],
) -> None:
    """A gradient `(g, y, out, width)` in two passes over a row: a sum, then each element by that sum."""
    g, y, out, width = w.arguments()
    with w.each(BEGIN, END) as number:
        start = w.times(number, width)
        gradients, results, written = (w.at(a, start) for a in (g, y, out))
        total = w.sum_variable()

        def both(index: str, mask: str | None) -> tuple[Term, Term]:
            return w.load(w.at(gradients, index), mask), w.load(w.at(results, index), mask)

        def first(index: str, mask: str | None) -> None:
            w.add_to(total, added(*both(index, mask), mask))

        w.vectors(width, first)
        whole = w.splat(w.total(total.get()).to(w.dtype))

        def second(index: str, mask: str | None) -> None:
            w.store(moved(*both(index, mask), whole), w.at(written, index), mask)

        w.vectors(width, second)


def softmax_gradient(w: Writer) -> None:
    """`(g, y, out, width)`: y (g - Σ g y)."""
    _sum_then_move(
        w,
        lambda g, y, mask: w.kept(mask, g.to(_WIDE) * y.to(_WIDE), 0.0),
        lambda g, y, total: y * (g - total),
    )


def log_softmax_gradient(w: Writer) -> None:
    """`(g, y, out, width)`: g - e^y Σ g."""
    _sum_then_move(w, lambda g, y, mask: g, lambda g, y, total: g - exp(y) * total)


# --- norms ----------------------------------------------------------------------------------------


def _one(w: Writer, number: float) -> Term:
    return w.constant(number, 1, _WIDE)


def _count(w: Writer, number: str) -> Term:
    """A whole number as a float64."""
    return w.whole(number).to(_WIDE)


def layer_norm(w: Writer) -> None:
    """`(x, weight, bias, out, mean, inverse, width, eps)`."""
    x, weight, bias, out, means, inverses, width, eps = w.arguments()
    with w.each(BEGIN, END) as number:
        start = w.times(number, width)
        row, result = w.at(x, start), w.at(out, start)
        total, squares = w.sum_variable(), w.sum_variable()
        count = _count(w, width)

        def added(index: str, mask: str | None) -> None:
            w.add_to(total, w.load(w.at(row, index), mask))

        w.vectors(width, added)
        mean = w.total(total.get()) / count
        centre = w.splat(mean)

        def spread(index: str, mask: str | None) -> None:
            off = w.load(w.at(row, index), mask).to(_WIDE) - centre
            w.add_to(squares, w.kept(mask, off * off, 0.0))

        w.vectors(width, spread)
        inverse = _one(w, 1.0) / (w.total(squares.get()) / count + w.float64(eps)).call("sqrt")
        w.store_one(mean.to(w.dtype), w.at(means, number))
        w.store_one(inverse.to(w.dtype), w.at(inverses, number))
        scale = w.splat(inverse)

        def normal(index: str, mask: str | None) -> None:
            value = ((w.load(w.at(row, index), mask).to(_WIDE) - centre) * scale).to(w.dtype)
            value = value * w.load(w.at(weight, index), mask) + w.load(w.at(bias, index), mask)
            w.store(value, w.at(result, index), mask)

        w.vectors(width, normal)


def layer_norm_gradient(w: Writer) -> None:
    """`(g, x, weight, mean, inverse, out, width)`: inverse (h - mean(h) - n mean(h n)), h = g w."""
    g, x, weight, means, inverses, out, width = w.arguments()
    with w.each(BEGIN, END) as number:
        start = w.times(number, width)
        arrived, row, result = (w.at(a, start) for a in (g, x, out))
        centre = w.splat(w.load_one(w.at(means, number)))
        scale = w.splat(w.load_one(w.at(inverses, number)))
        total, along = w.sum_variable(), w.sum_variable()

        def pair(index: str, mask: str | None) -> tuple[Term, Term]:
            h = w.load(w.at(arrived, index), mask) * w.load(w.at(weight, index), mask)
            return h, (w.load(w.at(row, index), mask) - centre) * scale

        def added(index: str, mask: str | None) -> None:
            h, n = pair(index, mask)
            w.add_to(total, w.kept(mask, h, 0.0))
            w.add_to(along, w.kept(mask, h * n, 0.0))

        w.vectors(width, added)
        count = _count(w, width)
        mean = w.splat((w.total(total.get()) / count).to(w.dtype))
        pull = w.splat((w.total(along.get()) / count).to(w.dtype))

        def moved(index: str, mask: str | None) -> None:
            h, n = pair(index, mask)
            w.store((h - mean - n * pull) * scale, w.at(result, index), mask)

        w.vectors(width, moved)


def norm_columns(w: Writer) -> None:
    """`(g, x, mean, inverse, by_weight, by_bias, rows, width)`: Σ g n and Σ g; a unit is 64 columns."""
    g, x, means, inverses, by_weight, by_bias, rows, width = w.arguments()
    last = w.least(w.times(END, COLUMNS), width)
    with w.each(w.times(BEGIN, COLUMNS), last, w.lanes) as column:
        mask = w.first_lanes(w.minus(width, column))
        total, along = w.sum_variable(), w.sum_variable()
        with w.each("0", rows) as row:
            place = w.plus(w.times(row, width), column)
            arrived = w.load(w.at(g, place), mask)
            off = w.load(w.at(x, place), mask) - w.load_one(w.at(means, row))
            n = off * w.load_one(w.at(inverses, row))
            w.add_to(total, arrived)
            w.add_to(along, w.kept(mask, arrived * n, 0.0))
        w.store(along.get().to(w.dtype), w.at(by_weight, column), mask)
        w.store(total.get().to(w.dtype), w.at(by_bias, column), mask)


def batch_norm(w: Writer) -> None:
    """`(x, weight, bias, out, mean, inverse, variance, batch, channels, size, eps)`; a unit is a channel."""
    x, weight, bias, out, means, inverses, variances, batch, channels, size, eps = w.arguments()
    count = _count(w, w.times(batch, size))
    with w.each(BEGIN, END) as channel:
        total, squares = w.sum_variable(), w.sum_variable()

        def each_image(body: Any) -> None:
            with w.each("0", batch) as image:
                start = w.times(w.plus(w.times(image, channels), channel), size)
                row, result = w.at(x, start), w.at(out, start)
                w.vectors(
                    size, lambda index, mask: body(w.at(row, index), w.at(result, index), mask)
                )

        def added(place: str, _: str, mask: str | None) -> None:
            w.add_to(total, w.load(place, mask))

        each_image(added)
        mean = w.total(total.get()) / count
        centre = w.splat(mean)

        def spread(place: str, _: str, mask: str | None) -> None:
            off = w.load(place, mask).to(_WIDE) - centre
            w.add_to(squares, w.kept(mask, off * off, 0.0))

        each_image(spread)
        variance = w.total(squares.get()) / count
        inverse = _one(w, 1.0) / (variance + w.float64(eps)).call("sqrt")
        for value, where in ((mean, means), (inverse, inverses), (variance, variances)):
            w.store_one(value.to(w.dtype), w.at(where, channel))
        scale = w.splat(inverse)
        factor = w.splat(w.load_one(w.at(weight, channel)))
        shift = w.splat(w.load_one(w.at(bias, channel)))

        def normal(place: str, result: str, mask: str | None) -> None:
            value = ((w.load(place, mask).to(_WIDE) - centre) * scale).to(w.dtype)
            w.store(value * factor + shift, result, mask)

        each_image(normal)


def batch_norm_gradient(w: Writer) -> None:
    """`(g, x, weight, mean, inverse, out, by_weight, by_bias, batch, channels, size)`; a unit is a channel.

    w/σ (g - mean(g) - n mean(g n)), n the normalised channel.
    """
    g, x, weight, means, inverses, out, by_weight, by_bias, batch, channels, size = w.arguments()
    count = _count(w, w.times(batch, size))
    with w.each(BEGIN, END) as channel:
        middle = w.splat(w.load_one(w.at(means, channel)))
        inverse = w.load_one(w.at(inverses, channel))
        scale = w.splat(inverse)
        total, along = w.sum_variable(), w.sum_variable()

        def each_image(body: Any) -> None:
            with w.each("0", batch) as image:
                start = w.times(w.plus(w.times(image, channels), channel), size)
                arrived, row, result = (w.at(a, start) for a in (g, x, out))

                def both(index: str, mask: str | None) -> None:
                    value = w.load(w.at(arrived, index), mask)
                    n = (w.load(w.at(row, index), mask) - middle) * scale
                    body(value, n, w.at(result, index), mask)

                w.vectors(size, both)

        def added(value: Term, n: Term, _: str, mask: str | None) -> None:
            w.add_to(total, value)
            w.add_to(along, w.kept(mask, value * n, 0.0))

        each_image(added)
        first, second = w.total(total.get()), w.total(along.get())
        w.store_one(first.to(w.dtype), w.at(by_bias, channel))
        w.store_one(second.to(w.dtype), w.at(by_weight, channel))
        mean, pull = (w.splat((v / count).to(w.dtype)) for v in (first, second))
        slope = w.splat(inverse * w.load_one(w.at(weight, channel)))

        def moved(value: Term, n: Term, result: str, mask: str | None) -> None:
            w.store((value - mean - n * pull) * slope, result, mask)

        each_image(moved)


ROWS: dict[str, Any] = {
    "softmax": ("aan", softmax),
    "log_softmax": ("aan", log_softmax),
    "softmax_gradient": ("aaan", softmax_gradient),
    "log_softmax_gradient": ("aaan", log_softmax_gradient),
    "layer_norm": ("aaaaaanx", layer_norm),
    "layer_norm_gradient": ("aaaaaan", layer_norm_gradient),
    "norm_columns": ("aaaaaann", norm_columns),
    "batch_norm": ("aaaaaaannnx", batch_norm),
    "batch_norm_gradient": ("aaaaaaaannn", batch_norm_gradient),
}
