"""Convolutions in one and two dimensions with steps of one, straight from the image: no columns are made.

An image is copied once, between the zeros of its padding, into memory that stays in the cache. There a row of outputs
and the row after it follow each other at the image's own pitch, so all positions are one long run: position `p` of an
output reads `p + offset` for each place of the kernel. The few positions at the end of each row that are no
outputs are computed and left out. Some output channels by some vectors of positions are kept in registers while
all input channels and places of the kernel go by. An image that is larger than the cache is done some rows after
another, by all output channels each time: else it would be read anew for every few of them.

    out[o, p]      = b[o] + Σ w[o, c, k] · x[c, p + offset(k)]
    dw[o, c, k]    = Σ_p g[o, p] · x[c, p + offset(k)]

A unit is a run of images with memory of its own (`scratch`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from .._compile.native.llvm.algebra import Term, fma
from .._compile.native.llvm.jit import host
from .writer import BEGIN, END, Variable, Writer

# Output channels by vectors of positions that fit into the registers: of AVX-512, and of all others.
_WIDE = ((8, 3), (4, 4), (2, 6), (1, 8))
_NARROW = ((6, 2), (4, 3), (2, 4), (1, 6))
MOST_VECTORS = 8
# For gradients of weights: output channels by neighbouring places of the kernel.
_WIDE_WEIGHT = (8, 4, 2, 1)
_NARROW_WEIGHT = (4, 2, 1)
_PLACES = (3, 2, 1)
_STRETCH = (
    4096  # positions that the gradient of a weight is summed over at once: they stay in the cache
)


class _Tile(NamedTuple):
    """Output channels by vectors of positions: how many, and the first of each."""

    size: int
    vectors: int
    output: str
    position: str


def _has_many_registers() -> bool:
    return host().vector_bytes == 64


def _by_parts(
    w: Writer, count: str, sizes: Sequence[int], body: Callable[[str, int], None]
) -> None:
    """`body(start, size)` for parts that make up `range(count)`, the largest sizes first."""
    at = w.code.variable("i64")
    w.code.do(f"store i64 0, ptr {at}")
    for size in sizes:
        start = w.code.new(f"load i64, ptr {at}")
        rest = w.minus(count, start)
        whole = w.times(w.over(rest, size), size)
        end = w.plus(start, whole)
        with w.each(start, end, size) as index:
            body(index, size)
        w.code.do(f"store i64 {end}, ptr {at}")


def _copy_rows(
    w: Writer, source: str, target: str, rows: str, width: str, pitches: tuple[str, str]
) -> None:
    """Rows of numbers from one pitch to another."""
    with w.each("0", rows) as row:
        from_row = w.at(source, w.times(row, pitches[0]))
        to_row = w.at(target, w.times(row, pitches[1]))

        def body(index: str, mask: str | None, a: str = from_row, b: str = to_row) -> None:
            w.store(w.load(w.at(a, index), mask), w.at(b, index), mask)

        w.vectors(width, body)


def _images_of(w: Writer, unit: str, batch: str, units: str) -> tuple[str, str]:
    first = w.over(w.times(unit, batch), units)
    return first, w.over(w.times(w.plus(unit, 1), batch), units)


CONVOLUTION_NUMBERS = (
    "batch",
    "units",
    "channels",
    "height",
    "width",
    "outputs",
    "kernel_height",
    "kernel_width",
    "out_height",
    "out_width",
    "offset",
    "step_down",
    "step_right",
    "groups",
    "padded",
    "pitch",
    "run",
    "room",
    "rows",
)
"""What both kernels are told of the geometry.

`offset` is where an image's first element lies in its padded plane, of `padded` elements in rows of `pitch`;
`step_down` and `step_right` are the distances between neighbouring places of the kernel; `run` is how many positions
an output channel has room for, `room` how many numbers a unit has, and `rows` how many rows of outputs are done at
once.
"""


def convolution(w: Writer) -> None:
    """`(x, weight, bias, out, scratch, *numbers)`."""
    x, weight, bias, out, scratch, *numbers = w.arguments()
    n = dict(zip(CONVOLUTION_NUMBERS, numbers, strict=True))
    inner, outer = w.over(n["channels"], n["groups"]), w.over(n["outputs"], n["groups"])
    places = w.times(n["kernel_height"], n["kernel_width"])
    each_weight = w.times(inner, places)  # of one output channel
    plane, out_plane = w.times(n["height"], n["width"]), w.times(n["out_height"], n["out_width"])
    tiles = _WIDE if _has_many_registers() else _NARROW
    with w.each(BEGIN, END) as unit:
        image_room = w.at(scratch, w.times(unit, n["room"]))
        run_room = w.at(image_room, w.minus(n["room"], w.times(n["run"], tiles[0][0])))
        first, last = _images_of(w, unit, n["batch"], n["units"])
        with w.each(first, last) as image:
            _pad(w, x, image, image_room, n, plane)
            with w.each("0", n["groups"]) as group:
                source = w.at(image_room, w.times(w.times(group, inner), n["padded"]))
                first_output = w.times(group, outer)

                with _stretches(w, n["out_height"], n["rows"]) as (row, end):

                    def block(
                        start: str,
                        size: int,
                        source: str = source,
                        first_output: str = first_output,
                        image: str = image,
                        row: str = row,
                        end: str = end,
                    ) -> None:
                        output = w.plus(first_output, start)
                        weights = w.at(weight, w.times(output, each_weight))
                        vectors = dict(tiles)[size]
                        here, stop = w.times(row, n["pitch"]), w.times(end, n["pitch"])
                        with w.each(here, stop, vectors * w.lanes) as p:
                            tile = _Tile(size, vectors, output, p)
                            _tile(w, n, tile, source, (weights, each_weight, inner), bias, run_room)
                        which = w.plus(w.times(image, n["outputs"]), output)
                        first_row = w.times(row, n["out_width"])
                        for o in range(size):
                            plane_of = w.times(w.plus(which, o), out_plane)
                            _copy_rows(
                                w,
                                w.at(run_room, w.plus(w.times(n["run"], o), here)),
                                w.at(out, w.plus(plane_of, first_row)),
                                w.minus(end, row),
                                n["out_width"],
                                (n["pitch"], n["out_width"]),
                            )

                    _by_parts(w, outer, [size for size, _ in tiles], block)


@contextmanager
def _stretches(w: Writer, count: str, length: str | int) -> Iterator[tuple[str, str]]:
    """A loop over stretches that make up `range(count)`: the first of each, and the one after its last."""
    number = w.over(w.plus(count, w.minus(str(length), 1)), length)
    with w.each("0", number) as which:
        first = w.times(which, length)
        yield first, w.least(w.plus(first, length), count)


def _pad(w: Writer, x: str, image: str, room: str, n: dict[str, str], plane: str) -> None:
    """All channels of an image into their padded planes."""
    with w.each("0", n["channels"]) as channel:
        source = w.at(x, w.times(w.plus(w.times(image, n["channels"]), channel), plane))
        target = w.at(room, w.plus(w.times(channel, n["padded"]), n["offset"]))
        _copy_rows(w, source, target, n["height"], n["width"], (n["width"], n["pitch"]))


def _tile(
    w: Writer,
    n: dict[str, str],
    tile: _Tile,
    source: str,
    weight: tuple[str, str, str],
    bias: str,
    run_room: str,
) -> None:
    """Some output channels at some vectors of positions."""
    size, vectors, output, p = tile
    weights, each_weight, inner = weight
    totals: list[list[Variable]] = []
    for o in range(size):
        first = w.splat(w.load_one(w.at(bias, w.plus(output, o))))
        totals.append([w.variable(first) for _ in range(vectors)])
    rows = [w.at(weights, w.times(each_weight, o)) for o in range(size)]
    with w.each("0", inner) as channel:
        plane = w.at(source, w.plus(w.times(channel, n["padded"]), p))
        taken = w.times(channel, w.times(n["kernel_height"], n["kernel_width"]))
        with w.each("0", n["kernel_height"]) as down:
            line = w.at(plane, w.times(down, n["step_down"]))
            from_here = w.plus(taken, w.times(down, n["kernel_width"]))
            with w.each("0", n["kernel_width"]) as right:
                place = w.at(line, w.times(right, n["step_right"]))
                values = [w.load(w.at(place, str(v * w.lanes))) for v in range(vectors)]
                which = w.plus(from_here, right)
                for o in range(size):
                    factor = w.splat(w.load_one(w.at(rows[o], which)))
                    for v in range(vectors):
                        totals[o][v].set(fma(values[v], factor, totals[o][v].get()))
    for o in range(size):
        target = w.at(run_room, w.plus(w.times(n["run"], o), p))
        for v in range(vectors):
            w.store(totals[o][v].get(), w.at(target, str(v * w.lanes)))


def convolution_weight(w: Writer) -> None:
    """`(x, g, totals, scratch, *numbers)`: each unit's share of the weight's gradient is added to its totals."""
    x, g, totals, scratch, *numbers = w.arguments()
    n = dict(zip(CONVOLUTION_NUMBERS, numbers, strict=True))
    inner, outer = w.over(n["channels"], n["groups"]), w.over(n["outputs"], n["groups"])
    places = w.times(n["kernel_height"], n["kernel_width"])
    each_weight = w.times(inner, places)
    positions = w.times(n["out_height"], n["pitch"])
    plane, out_plane = w.times(n["height"], n["width"]), w.times(n["out_height"], n["out_width"])
    blocks = _WIDE_WEIGHT if _has_many_registers() else _NARROW_WEIGHT
    with w.each(BEGIN, END) as unit:
        image_room = w.at(scratch, w.times(unit, n["room"]))
        gradient_room = w.at(image_room, w.minus(n["room"], w.times(n["run"], n["outputs"])))
        total = w.at(totals, w.times(unit, w.times(n["outputs"], each_weight)))
        first, last = _images_of(w, unit, n["batch"], n["units"])
        with w.each(first, last) as image:
            _pad(w, x, image, image_room, n, plane)
            with w.each("0", n["outputs"]) as output:
                which = w.plus(w.times(image, n["outputs"]), output)
                _copy_rows(
                    w,
                    w.at(g, w.times(which, out_plane)),
                    w.at(gradient_room, w.times(output, n["run"])),
                    n["out_height"],
                    n["out_width"],
                    (n["out_width"], n["pitch"]),
                )
            with w.each("0", n["groups"]) as group:
                source = w.at(image_room, w.times(w.times(group, inner), n["padded"]))
                first_output = w.times(group, outer)

                with _stretches(w, positions, _STRETCH) as stretch:

                    def block(
                        start: str,
                        size: int,
                        source: str = source,
                        first_output: str = first_output,
                        stretch: tuple[str, str] = stretch,
                    ) -> None:
                        output = w.plus(first_output, start)
                        gradients = w.at(gradient_room, w.times(output, n["run"]))
                        here = w.at(total, w.times(output, each_weight))
                        with w.each("0", inner) as channel:
                            plane = w.at(source, w.times(channel, n["padded"]))
                            taken = w.times(channel, places)
                            with w.each("0", n["kernel_height"]) as down:
                                line = w.at(plane, w.times(down, n["step_down"]))
                                before = w.plus(taken, w.times(down, n["kernel_width"]))

                                def along(right: str, count: int) -> None:
                                    place = w.at(line, w.times(right, n["step_right"]))
                                    target = w.at(here, w.plus(before, right))
                                    tile = size, count, stretch
                                    _products(w, n, tile, gradients, place, (target, each_weight))

                                _by_parts(w, n["kernel_width"], _PLACES, along)

                    _by_parts(w, outer, blocks, block)


def _products(
    w: Writer,
    n: dict[str, str],
    tile: tuple[int, int, tuple[str, str]],
    gradients: str,
    place: str,
    result: tuple[str, str],
) -> None:
    """Sums over a stretch of positions for some output channels and neighbouring places of the kernel."""
    size, count, stretch = tile
    target, each_weight = result
    zero = w.constant(0.0)
    totals = [[w.variable(zero) for _ in range(count)] for _ in range(size)]
    with w.each(*stretch, w.lanes) as p:
        shifts = [w.times(n["step_right"], k) for k in range(count)]
        values = [w.load(w.at(place, w.plus(p, shift))) for shift in shifts]
        for o in range(size):
            gradient: Term = w.load(w.at(gradients, w.plus(p, w.times(n["run"], o))))
            for k in range(count):
                totals[o][k].set(fma(gradient, values[k], totals[o][k].get()))
    for o in range(size):
        for k in range(count):
            here = w.at(w.at(target, w.times(each_weight, o)), str(k))
            w.store_one(w.load_one(here) + w.total(totals[o][k].get()), here)


CONVOLUTION = {
    "convolution": ("aaaaa" + "n" * len(CONVOLUTION_NUMBERS), convolution),
    "convolution_weight": ("aaaa" + "n" * len(CONVOLUTION_NUMBERS), convolution_weight),
}
