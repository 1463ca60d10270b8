"""Each pass on a program written by hand: what it removes or rewrites, and what it must leave alone."""

from __future__ import annotations

import numpy as np
import pytest

from tautograd._compile.program.ir import Buffer, Kind, Map, Number, Program, View
from tautograd._compile.program.passes import improved
from tautograd._compile.program.passes.constants import spread_constants
from tautograd._compile.program.passes.dead import without_dead_code
from tautograd._compile.program.passes.forwarding import forward_copies

DOUBLE = np.dtype(np.float64)
ARGUMENT, SCRATCH, OTHER, RESULT = range(4)


def all_of(buffer: int, first: int = 0, count: int = 4) -> View:
    return View(buffer, 8 * first, (count,), (8,), DOUBLE)


def program(*instructions: Map) -> Program:
    """On four numbers each of an argument, of two pieces of scratch memory and of a result."""
    kinds = (Kind.ARGUMENT, Kind.SCRATCH, Kind.SCRATCH, Kind.KEPT)
    buffers = [Buffer(i, 32, kind) for i, kind in enumerate(kinds)]
    return Program(buffers, list(instructions), [None] * len(instructions))


def computes(function: str, *inputs: View | Number, to: View) -> Map:
    return Map(function, inputs, to, (DOUBLE,) * (len(inputs) + 1))


READ = computes("exp", all_of(ARGUMENT), to=all_of(SCRATCH))
FILL = computes("cast", Number(np.float64(2.0)), to=all_of(SCRATCH))
COPY = computes("cast", all_of(SCRATCH), to=all_of(RESULT))
PRODUCT = computes("multiply", all_of(ARGUMENT), all_of(SCRATCH), to=all_of(RESULT))


def test_what_nobody_reads_is_dead() -> None:
    unread = computes("log", all_of(ARGUMENT), to=all_of(OTHER))
    found = without_dead_code(program(READ, unread, COPY))
    assert found.instructions == [READ, COPY]
    assert len(found.sites) == 2


def test_what_the_caller_sees_is_alive() -> None:
    written = computes("exp", all_of(ARGUMENT), to=all_of(ARGUMENT))
    assert without_dead_code(program(written)).instructions == [written]


def test_a_number_is_read_as_a_number() -> None:
    _, product = spread_constants(program(FILL, PRODUCT)).instructions
    assert isinstance(product, Map)
    assert product.inputs == (all_of(ARGUMENT), Number(np.float64(2.0)))
    assert improved(program(FILL, PRODUCT)).instructions == [product]


@pytest.mark.parametrize(
    "also",
    [
        computes("exp", all_of(ARGUMENT), to=all_of(SCRATCH)),
        computes("exp", all_of(ARGUMENT, count=1), to=all_of(SCRATCH, first=3, count=1)),
    ],
)
def test_what_is_written_twice_is_no_constant(also: Map) -> None:
    found = spread_constants(program(FILL, also, PRODUCT)).instructions
    assert found == [FILL, also, PRODUCT]


def test_a_part_that_is_filled_is_no_constant() -> None:
    part = computes("cast", Number(np.float64(2.0)), to=all_of(SCRATCH, count=3))
    assert spread_constants(program(part, PRODUCT)).instructions == [part, PRODUCT]


def test_what_is_copied_is_computed_in_its_place() -> None:
    found = improved(program(READ, COPY)).instructions
    assert found == [computes("exp", all_of(ARGUMENT), to=all_of(RESULT))]


def test_a_copy_that_is_read_after_its_source_has_changed_stays() -> None:
    again = computes("add", all_of(SCRATCH), Number(np.float64(1.0)), to=all_of(SCRATCH))
    last = computes("add", all_of(RESULT), all_of(SCRATCH), to=all_of(RESULT))
    steps = [READ, COPY, again, last]
    assert forward_copies(program(*steps)).instructions == steps
