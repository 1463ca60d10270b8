"""Whether a template stays within its memory at a size: no size is tried, not even aside, at which it would not.

A fit holds for the records that it was fitted to. Where Python does something else at other sizes (it pads to sixteen
rows, and for more rows than that adds none) the fitted program is not only wrong: a place that begins at row n of
sixteen lies outside. So each view that an instruction reads or writes has to lie in its buffer, and no dimension may
be negative. What that says is a polynomial of the sizes; most are proved for all sizes from `LEAST` on when the
template is made, and what is left is evaluated for each size, at once. Memory is planned for the most that a buffer
can need at any size up to the largest, which is not always what it needs at the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..program.ir import Buffer, View
from .size import LEAST, Size, least_and_most, text_of


def staying_within(
    views: Iterable[View], buffers: list[Buffer], symbols: tuple[str, ...]
) -> Callable[..., bool]:
    """A function of the symbols that says whether all views lie in their buffers."""
    texts: dict[str, None] = {}
    for view in set(views):
        for number in _not_negative(view, buffers[view.buffer].nbytes):
            if type(number) is Size:
                low, _ = least_and_most(number)
                if low is None or low < 0:
                    texts[text_of(number.terms)] = None
            elif number < 0:
                texts["-1"] = None
    for buffer in buffers:
        size: Any = buffer.nbytes
        if type(size) is Size:
            low, _ = least_and_most(size)
            if low is None or low < 0:
                texts[text_of(size.terms)] = None
    body = " and ".join(f"{text} >= 0" for text in texts) or "True"
    code = compile(f"lambda {', '.join(symbols)}: {body}", "<sizes>", "eval")
    return eval(code, {"__builtins__": {}})  # type: ignore[no-any-return]


def _not_negative(view: View, nbytes: Any) -> Iterable[Any]:
    """Numbers of which none may be negative."""
    yield from view.shape
    low, high = view.offset, view.offset + view.dtype.itemsize
    for n, stride in zip(view.shape, view.strides, strict=True):
        far = (n - 1) * stride
        least, most = least_and_most(stride)
        # Of a stride that may be either, both ends are looked at: what is refused then would hardly have been right.
        if most is None or most > 0:
            high = high + far
        if least is None or least < 0:
            low = low + far
    yield low
    yield nbytes - high


def most_of(number: Any, most: dict[str, int]) -> int:
    """At least what a number is for any sizes from `LEAST` to these."""
    return _between(number.terms, most)[1] if type(number) is Size else number


def _between(terms: Any, most: dict[str, int]) -> tuple[int, int]:
    low = high = 0
    for monomial, count in terms:
        ends = 1, 1
        for atom, power in monomial:
            for _ in range(power):
                products = [a * b for a in ends for b in _of_atom(atom, most)]
                ends = min(products), max(products)
        low += min(count * ends[0], count * ends[1])
        high += max(count * ends[0], count * ends[1])
    return low, high


def _of_atom(atom: Any, most: dict[str, int]) -> tuple[int, int]:
    if type(atom) is str:
        return LEAST, most[atom]
    operator, terms, other = atom
    low, high = _between(terms, most)
    return (low // other, high // other) if operator == "//" else (0, other - 1)
