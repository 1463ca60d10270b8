"""Max pools in two dimensions, forward and back: what reaches a window's maximum goes to the element that won.

A window's winner is its first largest element, or its last NaN if it has one; padding never wins. Windows beside each
other in a row are the lanes of a vector where they are one or two elements apart; those that reach over the
image's sides, and all that are farther apart, are done one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

from .._compile.native.llvm.algebra import Term, where
from .writer import BEGIN, END, Writer

_STEPS = (1, 2)  # between windows that are lanes of a vector


class _Row(NamedTuple):
    """A row of windows: its image, the first of its rows there, and the numbers of `_NUMBERS`."""

    image: str
    first_y: str
    n: dict[str, str]


_NUMBERS = (
    *("height", "width", "rows", "columns", "k_down", "k_right"),
    *("s_down", "s_right", "top", "left", "d_down", "d_right"),
)


def max_pool(w: Writer) -> None:
    """`(x, out, *numbers)`; a unit is an image's channel.

    The numbers, for both dimensions each: the image's size, how many windows, their kernel, stride, padding, dilation.
    """
    x, out, *numbers = w.arguments()
    n = dict(zip(_NUMBERS, numbers, strict=True))

    def body(row: _Row, unit: str, which: str, column: str, step: int, count: str | None) -> None:
        best, _ = _winner(w, row, column, step, count)
        windows = w.times(w.plus(w.times(unit, n["rows"]), which), n["columns"])
        place = w.at(out, w.plus(windows, column))
        if step:
            w.store(best, place, None if count is None else w.first_lanes(count))
        else:
            w.store_one(best, place)

    _each_window(w, x, n, body)


def max_pool_gradient(w: Writer) -> None:
    """`(g, x, out, *numbers)`; a unit is an image's channel. The numbers are those of the forward."""
    g, x, out, *numbers = w.arguments()
    n = dict(zip(_NUMBERS, numbers, strict=True))
    plane = w.times(n["height"], n["width"])

    def body(row: _Row, unit: str, which: str, column: str, step: int, count: str | None) -> None:
        _, winner = _winner(w, row, column, step, count)
        windows = w.times(w.plus(w.times(unit, n["rows"]), which), n["columns"])
        arrived = w.at(g, w.plus(windows, column))
        mask = None if count is None else w.first_lanes(count)
        share = w.load(arrived, mask) if step else w.load_one(arrived)
        target = row._replace(image=w.at(out, w.times(unit, plane)))

        def won(number: Term) -> Term:
            return where(winner.compare("eq", number), share, share.like(0.0))

        def add(address: str, number: Term) -> None:
            _add_lanes(w, won(number), address, step, count)

        def add_two(address: str, number: Term) -> None:
            _add_pairs(w, won(number), won(number + 1.0), address, count)

        _each_place(w, target, column, not step, add, add_two if step == 2 else None)

    def clear(unit: str) -> None:
        zeros, result = w.constant(0.0), w.at(out, w.times(unit, plane))
        w.vectors(plane, lambda index, mask: w.store(zeros, w.at(result, index), mask))

    _each_window(w, x, n, body, clear)


def _each_window(
    w: Writer,
    x: str,
    n: dict[str, str],
    body: Callable[[_Row, str, str, str, int, str | None], None],
    begin: Callable[[str], None] = lambda unit: None,
) -> None:
    """`body(row, unit, number of the row, column, step, count)` for all windows.

    With a step of 0 that is one window; else as many as a vector has lanes, or `count`.
    """
    reach = w.minus(w.plus(n["width"], n["left"]), w.times(w.minus(n["k_right"], 1), n["d_right"]))
    first = w.least(
        _over(w, w.plus(n["left"], w.minus(n["s_right"], 1)), n["s_right"]), n["columns"]
    )
    reached = _over(w, w.plus(reach, w.minus(n["s_right"], 1)), n["s_right"])
    inside = w.most(w.least(reached, n["columns"]), first)
    near = w.code.new(f"icmp ule i64 {n['s_right']}, {max(_STEPS)}")
    last = w.code.new(f"select i1 {near}, i64 {inside}, i64 {first}")
    with w.each(BEGIN, END) as unit:
        begin(unit)
        image = w.at(x, w.times(unit, w.times(n["height"], n["width"])))
        with w.each("0", n["rows"]) as which:
            row = _Row(image, w.minus(w.times(which, n["s_down"]), n["top"]), n)
            for start, stop in (("0", first), (last, n["columns"])):
                with w.each(start, stop) as column:
                    body(row, unit, which, column, 0, None)
            for step in _STEPS:
                is_this = w.code.new(f"icmp eq i64 {n['s_right']}, {step}")
                with w.code.when(is_this):
                    whole = w.code.new(f"and i64 {w.minus(last, first)}, {-w.lanes}")
                    end = w.plus(first, whole)
                    with w.each(first, end, w.lanes) as column:
                        body(row, unit, which, column, step, None)
                    rest = w.minus(last, end)
                    with w.code.when(w.code.new(f"icmp ne i64 {rest}, 0")):
                        body(row, unit, which, end, step, rest)


def _over(w: Writer, a: str, b: str) -> str:
    """The quotient, or 0 if there is less than none."""
    return w.over(w.most(a, "0"), b)


def _each_place(
    w: Writer,
    row: _Row,
    column: str,
    looks: bool,
    body: Callable[[str, Term], None],
    by_two: Callable[[str, Term], None] | None = None,
) -> None:
    """`body(address, number)` for each place of a window that lies in the image.

    Sideways all do unless one has to look. Of places side by side the first two are done `by_two`, and so on.
    """
    n = row.n
    first_x = w.minus(w.times(column, n["s_right"]), n["left"])
    beside = w.code.new(f"icmp eq i64 {n['d_right']}, 1")
    even = w.code.new(f"and i64 {n['k_right']}, -2")
    rest = w.code.new(f"select i1 {beside}, i64 {even}, i64 0") if by_two is not None else "0"
    with w.each("0", n["k_down"]) as down:
        y = w.plus(row.first_y, w.times(down, n["d_down"]))
        with w.code.when(w.code.new(f"icmp ult i64 {y}, {n['height']}")):
            line = w.at(row.image, w.times(y, n["width"]))
            first = w.times(down, n["k_right"])

            def at(right: str, do: Callable[[str, Term], None]) -> None:
                at_x = w.plus(first_x, w.times(right, n["d_right"]))
                is_inside = w.code.new(f"icmp ult i64 {at_x}, {n['width']}") if looks else ""
                with w.code.when(is_inside) if looks else nullcontext():
                    do(w.at(line, at_x), w.whole(w.plus(first, right)).to(w.dtype))

            if by_two is not None:
                with w.each("0", rest, 2) as right:
                    at(right, by_two)
            with w.each(rest, n["k_right"]) as right:
                at(right, body)


def _winner(w: Writer, row: _Row, column: str, step: int, count: str | None) -> tuple[Term, Term]:
    """The maximum of a window and the number of its place, or of several windows."""
    lanes = w.lanes if step else 1
    best = w.variable(w.constant(float("-inf"), lanes))
    place = w.variable(w.constant(-1.0, lanes))

    def look(address: str, number: Term) -> None:
        value = _lanes(w, address, step, count)
        wins = _wins(value, best.get(), place.get())
        best.set(where(wins, value, best.get()))
        place.set(where(wins, place.get().lift(number), place.get()))

    _each_place(w, row, column, not step, look)
    return best.get(), place.get()


def _wins(value: Term, best: Term, place: Term) -> Term:
    """Chosen, not branched on: which element wins is as good as random."""
    return value.compare("gt", best) | value.is_nan() | place.compare("lt", 0.0)


# --- vectors of numbers that are a step apart ------------------------------------------------------------


def _halves(w: Writer, address: str, count: str | None) -> list[tuple[str, str | None]]:
    """Where two vectors lie that have every other of twice as many numbers but one, and their masks.

    The second begins with the last of the first, which is none of them: so no number is touched behind the last.
    """
    second = w.at(address, str(w.lanes - 1))
    if count is None:
        return [(address, None), (second, None)]
    twice = w.times(count, 2)
    masks = w.first_lanes(w.minus(twice, 1)), w.first_lanes(w.minus(twice, w.lanes))
    return list(zip((address, second), masks, strict=True))


def _lanes(w: Writer, address: str, step: int, count: str | None) -> Term:
    """A number, or as many as a vector has lanes, or `count`, a step from each other."""
    if not step:
        return w.load_one(address)
    if step == 1:
        return w.load(address, None if count is None else w.first_lanes(count))
    one, other = (w.load(place, mask) for place, mask in _halves(w, address, count))
    half = w.lanes // 2
    return w.shuffled(one, other, [2 * i if i < half else 2 * i + 1 for i in range(w.lanes)])


def _add_lanes(w: Writer, share: Term, address: str, step: int, count: str | None) -> None:
    """The other way: numbers are added to what is there."""
    if not step:
        w.store_one(w.load_one(address) + share, address)
    elif step == 1:
        mask = None if count is None else w.first_lanes(count)
        w.store(w.load(address, mask) + share, address, mask)
    else:
        zero, half, none = w.constant(0.0), w.lanes // 2, w.lanes
        spread = (
            [i // 2 if i % 2 == 0 else none for i in range(w.lanes)],
            [half + i // 2 if i % 2 else none for i in range(w.lanes)],
        )
        for (place, mask), numbers in zip(_halves(w, address, count), spread, strict=True):
            w.store(w.load(place, mask) + w.shuffled(share, zero, numbers), place, mask)


def _add_pairs(w: Writer, even: Term, odd: Term, address: str, count: str | None) -> None:
    """Numbers added to every other one, and others to those between.

    Both at once: a vector that is read soon after one was written that lies across it has to wait.
    """
    half, end = w.lanes // 2, w.lanes
    for side in (0, 1):
        pairs = w.shuffled(even, odd, [side * half + i // 2 + i % 2 * end for i in range(end)])
        place = w.at(address, str(side * end))
        mask = None
        if count is not None:
            mask = w.first_lanes(w.minus(w.times(count, 2), side * end))
        w.store(w.load(place, mask) + pairs, place, mask)


POOLING: dict[str, Any] = {
    "max_pool": ("aa" + "n" * len(_NUMBERS), max_pool),
    "max_pool_gradient": ("aaa" + "n" * len(_NUMBERS), max_pool_gradient),
}
