"""A kernel for a program of array functions: all of them on one vector, before the next is begun.

An optimizer's formula is such a program (`optim/_program`): a dozen of NumPy's functions, each of which would go
through memory by itself. Arithmetic, comparisons and choices give NumPy's bits, so it does not matter which way a
step takes; a program with any other function has no kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._arrays.kernels import BLOCK
from .._compile.native.llvm import vector_math
from .._compile.native.llvm.algebra import Term
from .._compile.native.llvm.scalar_ops import RULES
from .call import Source, load
from .writer import BEGIN, END, Writer

EXACT = frozenset(RULES) - frozenset(vector_math.RULES) - {"power", "cast", "fmod", "remainder"}
COPY = "copy"


def make_program(
    dtype: Any,
    instructions: Sequence[tuple[str, tuple[int, ...]]],
    arrays: int,
    constants: int,
    literals: dict[int, float],
) -> Callable[..., Any] | None:
    """A kernel `(*arrays, constants, count)`; its units are blocks of elements.

    An instruction is the name of a function and the places of its inputs and of its result. The first places are
    the arrays, the next the constants, which lie in one array; literals have places of their own. Arrays
    that an instruction writes are written back.
    """
    if any(name != COPY and name not in EXACT for name, _ in instructions):
        return None

    def write(w: Writer) -> None:
        *inputs, row, count = w.arguments()
        known: dict[int, Term] = {i: w.constant(number) for i, number in literals.items()}
        for i in range(constants):
            known[arrays + i] = w.splat(w.load_one(w.at(row, str(i))))
        start = w.times(BEGIN, BLOCK)
        stop = w.least(w.times(END, BLOCK), count)

        def body(index: str, mask: str | None) -> None:
            at = dict(known)
            written: dict[int, None] = {}
            for name, (*operands, result) in instructions:
                for place in operands:
                    if place not in at:
                        at[place] = w.load(w.at(inputs[place], index), mask)
                terms = [at[place] for place in operands]
                at[result] = terms[0] if name == COPY else RULES[name](*terms)
                if result < arrays:
                    written[result] = None
            for place in written:
                w.store(at[place], w.at(inputs[place], index), mask)

        w.vectors(stop, body, start)

    return load(Source("program", "a" * (arrays + 1) + "n", write), np.dtype(dtype))
