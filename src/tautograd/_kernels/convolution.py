"""Convolutions in one and two dimensions, straight from the image: no columns are made.

An image is copied once, between the zeros of its padding, into memory that stays in the cache. There a row of outputs
and the row after it follow each other at the image's own pitch, so all positions are one long run: position `p` of an
output reads `p + offset` for each place of the kernel. The few positions at the end of each row that are no
outputs are computed and left out. Some output channels by some vectors of positions are kept in registers while
all input channels and places of the kernel go by. An image that is larger than the cache is done some rows after
another, by all output channels each time: else it would be read anew for every few of them.

    out[o, p]      = b[o] + Σ w[o, c, k] · x[c, p + offset(k)]
    dw[o, c, k]    = Σ_p g[o, p] · x[c, p + offset(k)]

With steps larger than one, what lies a step apart is copied side by side: an image becomes as many planes as there are
remainders (phases), and a place of the kernel is an offset in one of them. The other way round an output has
phases, of which each is a convolution with some of the kernel's places.

A unit is a run of images with memory of its own (`scratch`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from .._compile.native.llvm.algebra import Term, fma
from .._compile.native.llvm.jit import host
from .writer import BEGIN, END, INT64, Variable, Writer

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
    w: Writer,
    source: str,
    target: str,
    rows: str,
    width: str,
    pitches: tuple[str, str],
    step: str = "1",
) -> None:
    """Rows of numbers from one pitch to another, where they may lie a step apart."""
    beside = w.code.new(f"icmp eq i64 {step}, 1")
    apart = w.code.new(f"xor i1 {beside}, true")
    with w.each("0", rows) as row:
        from_row = w.at(source, w.times(row, pitches[0]))
        to_row = w.at(target, w.times(row, pitches[1]))

        def body(index: str, mask: str | None, a: str = from_row, b: str = to_row) -> None:
            w.store(w.load(w.at(a, index), mask), w.at(b, index), mask)

        with w.code.when(beside):
            w.vectors(width, body)
        with w.code.when(apart), w.each("0", width) as index:
            w.store_one(w.load_one(w.at(from_row, index)), w.at(to_row, w.times(index, step)))


def _images_of(w: Writer, unit: str, batch: str, units: str) -> tuple[str, str]:
    first = w.over(w.times(unit, batch), units)
    return first, w.over(w.times(w.plus(unit, 1), batch), units)


CONVOLUTION_NUMBERS = (
    *("batch", "units", "channels", "height", "width", "outputs", "places"),
    *("out_height", "out_width", "phases", "out_down", "out_right", "groups"),
    *("top", "left", "step_down", "step_right", "padded", "plane", "pitch", "run", "room", "rows"),
)
"""What both kernels are told of the geometry.

A channel of an image has `padded` elements in a plane for each phase, of `plane` elements in rows of `pitch`; `top` and
`left` are its padding, `step_down` and `step_right` the steps that make its phases. `places` are those of the whole
kernel. Outputs have `phases` whose elements lie `out_down` and `out_right` apart. `run` is how many positions
an output channel has room for, `room` how many numbers a unit has, and `rows` how many rows of outputs are done at
once.
"""
PHASE_NUMBERS = ("places", "first_place", "first_weight", "rows", "columns", "start")
"""What is known of a phase of the outputs: its places of the kernel, where their offsets and weights begin, its rows
and columns, and where its first element lies in the output's plane."""


def convolution(w: Writer) -> None:
    """`(x, weight, bias, out, scratch, offsets, phases, *numbers)`: those two are whole numbers."""
    x, weight, bias, out, scratch, offsets, phases, *numbers = w.arguments()
    n = dict(zip(CONVOLUTION_NUMBERS, numbers, strict=True))
    inner, outer = w.over(n["channels"], n["groups"]), w.over(n["outputs"], n["groups"])
    out_plane = w.times(n["out_height"], n["out_width"])
    tiles = _WIDE if _has_many_registers() else _NARROW
    with w.each(BEGIN, END) as unit:
        image_room = w.at(scratch, w.times(unit, n["room"]))
        run_room = w.at(image_room, w.minus(n["room"], w.times(n["run"], tiles[0][0])))
        first, last = _images_of(w, unit, n["batch"], n["units"])
        with w.each(first, last) as image:
            _pad(w, x, image, image_room, n)
            with w.each("0", n["groups"]) as group, w.each("0", n["phases"]) as phase:
                source = w.at(image_room, w.times(w.times(group, inner), n["padded"]))
                first_output = w.times(group, outer)
                here = w.at(phases, w.times(phase, len(PHASE_NUMBERS)), INT64)
                f = {name: _whole(w, here, str(place)) for place, name in enumerate(PHASE_NUMBERS)}
                each_weight = w.times(inner, f["places"])
                phase_weight = w.at(weight, f["first_weight"])
                kernel = _Kernel(
                    f["places"], w.at(offsets, f["first_place"], INT64), each_weight, inner
                )
                target = w.at(out, f["start"])

                with _stretches(w, f["rows"], n["rows"]) as (row, end):

                    def block(
                        start: str,
                        size: int,
                        source: str = source,
                        first_output: str = first_output,
                        image: str = image,
                        row: str = row,
                        end: str = end,
                        kernel: _Kernel = kernel,
                        phase_weight: str = phase_weight,
                        columns: str = f["columns"],
                        target: str = target,
                    ) -> None:
                        output = w.plus(first_output, start)
                        weights = w.at(phase_weight, w.times(output, kernel.each_weight))
                        vectors = dict(tiles)[size]
                        here, stop = w.times(row, n["pitch"]), w.times(end, n["pitch"])
                        with w.each(here, stop, vectors * w.lanes) as p:
                            tile = _Tile(size, vectors, output, p)
                            _tile(w, n, tile, source, weights, kernel, bias, run_room)
                        which = w.plus(w.times(image, n["outputs"]), output)
                        line = w.times(n["out_width"], n["out_down"])
                        for o in range(size):
                            plane_of = w.times(w.plus(which, o), out_plane)
                            _copy_rows(
                                w,
                                w.at(run_room, w.plus(w.times(n["run"], o), here)),
                                w.at(target, w.plus(plane_of, w.times(row, line))),
                                w.minus(end, row),
                                columns,
                                (n["pitch"], line),
                                n["out_right"],
                            )

                    _by_parts(w, outer, [size for size, _ in tiles], block)


@contextmanager
def _stretches(w: Writer, count: str, length: str | int) -> Iterator[tuple[str, str]]:
    """A loop over stretches that make up `range(count)`: the first of each, and the one after its last."""
    number = w.over(w.plus(count, w.minus(str(length), 1)), length)
    with w.each("0", number) as which:
        first = w.times(which, length)
        yield first, w.least(w.plus(first, length), count)


def _pad(w: Writer, x: str, image: str, room: str, n: dict[str, str]) -> None:
    """All channels of an image into their padded planes, a plane for each phase."""
    plane = w.times(n["height"], n["width"])
    single = w.code.new(f"icmp eq i64 {w.times(n['step_down'], n['step_right'])}, 1")
    several = w.code.new(f"xor i1 {single}, true")
    with w.each("0", n["channels"]) as channel:
        source = w.at(x, w.times(w.plus(w.times(image, n["channels"]), channel), plane))
        target = w.at(room, w.times(channel, n["padded"]))
        with w.code.when(single):
            inside = w.at(target, w.plus(w.times(n["top"], n["pitch"]), n["left"]))
            pitches = n["width"], n["pitch"]
            _copy_rows(w, source, inside, n["height"], n["width"], pitches)
        with w.code.when(several), w.each("0", n["height"]) as y:
            down = w.plus(y, n["top"])
            phase = w.times(w.remainder(down, n["step_down"]), n["step_right"])
            line = w.times(w.over(down, n["step_down"]), n["pitch"])
            from_row = w.at(source, w.times(y, n["width"]))
            with w.each("0", n["step_right"]) as right:
                # The first element of the row whose place among its padding has this remainder.
                less = w.times(n["left"], w.minus(n["step_right"], 1))
                start = w.remainder(w.plus(right, less), n["step_right"])
                column = w.over(w.plus(start, n["left"]), n["step_right"])
                here = w.plus(w.times(w.plus(phase, right), n["plane"]), line)
                to_row = w.at(target, w.plus(here, column))
                _gather(w, from_row, to_row, (start, n["width"]), n["step_right"])


def _gather(w: Writer, source: str, target: str, span: tuple[str, str], step: str) -> None:
    """Numbers a step apart, side by side."""
    start, stop = span
    count = w.over(w.plus(w.minus(w.most(stop, start), start), w.minus(step, 1)), step)
    with w.each("0", count) as index:
        value = w.load_one(w.at(source, w.plus(start, w.times(index, step))))
        w.store_one(value, w.at(target, index))


class _Kernel(NamedTuple):
    """Places of a kernel: how many, their offsets, the weights of an output channel, the channels that it reads."""

    places: str
    offsets: str
    each_weight: str
    inner: str


def _tile(
    w: Writer,
    n: dict[str, str],
    tile: _Tile,
    source: str,
    weights: str,
    kernel: _Kernel,
    bias: str,
    run_room: str,
) -> None:
    """Some output channels at some vectors of positions."""
    size, vectors, output, p = tile
    totals: list[list[Variable]] = []
    for o in range(size):
        first = w.splat(w.load_one(w.at(bias, w.plus(output, o))))
        totals.append([w.variable(first) for _ in range(vectors)])
    rows = [w.at(weights, w.times(kernel.each_weight, o)) for o in range(size)]
    with w.each("0", kernel.inner) as channel:
        plane = w.at(source, w.plus(w.times(channel, n["padded"]), p))
        taken = w.times(channel, kernel.places)
        with w.each("0", kernel.places) as number:
            place = w.at(plane, _whole(w, kernel.offsets, number))
            values = [w.load(w.at(place, str(v * w.lanes))) for v in range(vectors)]
            which = w.plus(taken, number)
            for o in range(size):
                factor = w.splat(w.load_one(w.at(rows[o], which)))
                for v in range(vectors):
                    totals[o][v].set(fma(values[v], factor, totals[o][v].get()))
    for o in range(size):
        target = w.at(run_room, w.plus(w.times(n["run"], o), p))
        for v in range(vectors):
            w.store(totals[o][v].get(), w.at(target, str(v * w.lanes)))


def _whole(w: Writer, table: str, index: str) -> str:
    """A whole number of a table."""
    return w.load_one(w.at(table, index, INT64), INT64).value.text


def convolution_weight(w: Writer) -> None:
    """`(x, g, totals, scratch, offsets, *numbers)`: a unit's share of the weight's gradient is added to its totals."""
    x, g, totals, scratch, offsets, *numbers = w.arguments()
    n = dict(zip(CONVOLUTION_NUMBERS, numbers, strict=True))
    inner, outer = w.over(n["channels"], n["groups"]), w.over(n["outputs"], n["groups"])
    each_weight = w.times(inner, n["places"])
    positions = w.times(n["out_height"], n["pitch"])
    out_plane = w.times(n["out_height"], n["out_width"])
    blocks = _WIDE_WEIGHT if _has_many_registers() else _NARROW_WEIGHT
    with w.each(BEGIN, END) as unit:
        image_room = w.at(scratch, w.times(unit, n["room"]))
        gradient_room = w.at(image_room, w.minus(n["room"], w.times(n["run"], n["outputs"])))
        total = w.at(totals, w.times(unit, w.times(n["outputs"], each_weight)))
        first, last = _images_of(w, unit, n["batch"], n["units"])
        with w.each(first, last) as image:
            _pad(w, x, image, image_room, n)
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
                            taken = w.times(channel, n["places"])

                            def at_places(first: str, count: int) -> None:
                                numbers = [w.plus(first, k) for k in range(count)]
                                places = [
                                    w.at(plane, _whole(w, offsets, number)) for number in numbers
                                ]
                                target = w.at(here, w.plus(taken, first))
                                _products(
                                    w, n, (size, stretch), gradients, places, (target, each_weight)
                                )

                            _by_parts(w, n["places"], _PLACES, at_places)

                    _by_parts(w, outer, blocks, block)


def _products(
    w: Writer,
    n: dict[str, str],
    tile: tuple[int, tuple[str, str]],
    gradients: str,
    places: list[str],
    result: tuple[str, str],
) -> None:
    """Sums over a stretch of positions for some output channels and some places of the kernel."""
    size, stretch = tile
    target, each_weight = result
    zero = w.constant(0.0)
    totals = [[w.variable(zero) for _ in places] for _ in range(size)]
    with w.each(*stretch, w.lanes) as p:
        values = [w.load(w.at(place, p)) for place in places]
        for o in range(size):
            gradient: Term = w.load(w.at(gradients, w.plus(p, w.times(n["run"], o))))
            for k, value in enumerate(values):
                totals[o][k].set(fma(gradient, value, totals[o][k].get()))
    for o in range(size):
        for k in range(len(places)):
            here = w.at(w.at(target, w.times(each_weight, o)), str(k))
            w.store_one(w.load_one(here) + w.total(totals[o][k].get()), here)


CONVOLUTION = {
    "convolution": ("aaaaaaa" + "n" * len(CONVOLUTION_NUMBERS), convolution),
    "convolution_weight": ("aaaaa" + "n" * len(CONVOLUTION_NUMBERS), convolution_weight),
}
