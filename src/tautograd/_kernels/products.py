"""Products of matrices, shared out among the pool's threads: blocks of the result, each by a BLAS of one thread.

BLAS's own threads have to be woken for each product and wait for each other at its end, which costs more than the
second core gives unless the product is large. The pool's threads are awake while one operation follows another,
whoever is late is not waited for, and a row that is added to the product is added to a block while it is in the
cache.

A unit is a block of one matrix of the stack: some of its rows (`by_rows` is 1) or some of its columns.
"""

from __future__ import annotations

from .._compile.native.products import blas
from .gemm import call_gemm
from .writer import BEGIN, END, Writer

NUMBERS = (
    *("m", "n", "k", "lead_a", "lead_b", "lead_c", "turned_a", "turned_b"),
    *("blocks", "block", "by_rows", "step_a", "step_b", "step_c"),
    *("inner", "outer_a", "inner_a", "outer_b", "inner_b", "outer_c", "inner_c", "biased"),
)
"""What the kernel is told: sizes; the lengths of rows in memory, and the letters N or T of both operands; how many
blocks a matrix has, how long each is, and by how many elements an operand and the result go on from one row or column
to the next; of stacks in two dimensions the extent of the inner one, and the distances from one matrix to the next in
both; whether there is a bias."""


def possible() -> bool:
    """Whether BLAS can be told to run in the thread that calls it."""
    found = blas()
    return found is not None and found.obeys


def product(w: Writer) -> None:
    """`(a, b, bias, out, *numbers)`: `out = a @ b`, and `+ bias` to each row."""
    a, b, bias, out, *numbers = w.arguments()
    n = dict(zip(NUMBERS, numbers, strict=True))
    by_rows = w.code.new(f"icmp ne i64 {n['by_rows']}, 0")
    length = w.code.new(f"select i1 {by_rows}, i64 {n['m']}, i64 {n['n']}")
    with w.each(BEGIN, END) as unit:
        which, part = w.over(unit, n["blocks"]), w.remainder(unit, n["blocks"])
        outer, inner = w.over(which, n["inner"]), w.remainder(which, n["inner"])
        first = w.times(part, n["block"])
        size = w.least(n["block"], w.minus(length, first))
        rows = w.code.new(f"select i1 {by_rows}, i64 {size}, i64 {n['m']}")
        columns = w.code.new(f"select i1 {by_rows}, i64 {n['n']}, i64 {size}")

        def place(
            array: str, name: str, outer: str = outer, inner: str = inner, first: str = first
        ) -> str:
            stack = w.plus(w.times(outer, n[f"outer_{name}"]), w.times(inner, n[f"inner_{name}"]))
            return w.at(array, w.plus(stack, w.times(first, n[f"step_{name}"])))

        left, right, result = place(a, "a"), place(b, "b"), place(out, "c")
        call_gemm(
            w,
            (rows, columns, n["k"]),
            (left, n["lead_a"], n["turned_a"]),
            (right, n["lead_b"], n["turned_b"]),
            (result, n["lead_c"]),
        )
        with w.code.when(w.code.new(f"icmp ne i64 {n['biased']}, 0")):
            row_of_bias = w.code.new(f"select i1 {by_rows}, i64 0, i64 {first}")
            added = w.at(bias, row_of_bias)
            with w.each("0", rows) as row:
                here = w.at(result, w.times(row, n["lead_c"]))

                def body(
                    index: str, mask: str | None, here: str = here, added: str = added
                ) -> None:
                    sum_ = w.load(w.at(here, index), mask) + w.load(w.at(added, index), mask)
                    w.store(sum_, w.at(here, index), mask)

                w.vectors(columns, body)


PRODUCTS = {"product": ("aaaa" + "n" * len(NUMBERS), product)}
