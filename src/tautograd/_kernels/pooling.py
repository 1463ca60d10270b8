"""The gradient of a max pool in two dimensions: what reaches a window's maximum goes to the element that won.

A window's winner is its first largest element, or its last NaN if it has one; padding never wins.
"""

from __future__ import annotations

from typing import Any

from .._compile.native.llvm.algebra import Term, where
from .writer import BEGIN, END, INT64, Writer


def max_pool_gradient(w: Writer) -> None:
    """`(g, x, out, *numbers)`; a unit is an image's channel, and `out` has zeros to add to.

    The numbers, for both dimensions each: the image's size, how many windows, their kernel, stride, padding, dilation.
    """
    g, x, out, *numbers = w.arguments()
    (height, width, rows, columns, k_down, k_right), rest = numbers[:6], numbers[6:]
    s_down, s_right, top, left, d_down, d_right = rest
    plane, windows = w.times(height, width), w.times(rows, columns)
    with w.each(BEGIN, END) as unit:
        image, result = (w.at(a, w.times(unit, plane)) for a in (x, out))
        arrived = w.at(g, w.times(unit, windows))
        with w.each("0", rows) as row, w.each("0", columns) as column:
            best = w.variable(w.constant(float("-inf"), 1))
            place = w.variable(w.constant(-1, 1, INT64))
            first_y = w.minus(w.times(row, s_down), top)
            first_x = w.minus(w.times(column, s_right), left)
            with w.each("0", k_down) as down:
                y = w.plus(first_y, w.times(down, d_down))
                is_inside = w.code.new(f"icmp ult i64 {y}, {height}")
                with w.code.when(is_inside), w.each("0", k_right) as right:
                    at_x = w.plus(first_x, w.times(right, d_right))
                    with w.code.when(w.code.new(f"icmp ult i64 {at_x}, {width}")):
                        index = w.plus(w.times(y, width), at_x)
                        value = w.load_one(w.at(image, index))
                        wins = _wins(value, best.get(), place.get())
                        best.set(where(wins, value, best.get()))
                        place.set(where(wins, w.whole(index), place.get()))
            found = place.get().value.text
            with w.code.when(w.code.new(f"icmp sge i64 {found}, 0")):
                share = w.load_one(w.at(arrived, w.plus(w.times(row, columns), column)))
                target = w.at(result, found)
                w.store_one(w.load_one(target) + share, target)


def _wins(value: Term, best: Term, place: Term) -> Term:
    """Chosen, not branched on: which element wins is as good as random."""
    return value.compare("gt", best) | value.is_nan() | place.compare("lt", 0)


POOLING: dict[str, Any] = {"max_pool_gradient": ("aaa" + "n" * 12, max_pool_gradient)}
