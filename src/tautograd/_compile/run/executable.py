"""From a program to one that can run: on a GPU, as machine code, or by calls of array functions."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..._user_code.sites import warning_level
from ..program.ir import Program, View
from ..record.arrays import is_on_gpu
from .replay import Replay


@contextmanager
def uncollected() -> Iterator[None]:
    """Meanwhile nothing is looked for in cycles: a program is many objects, of which none goes before it is ready."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def ready(
    name: str, program: Program, inputs: list[View], native: bool, left: list[tuple[Any, View]]
) -> Any:
    """A program that can run: natively, or by NumPy where no machine code can be made of it.

    `left` are tensors that it makes anew at each run and leaves to others: on a GPU they lie where it likes.
    The function has run by now, so what it did and gave must not be lost.
    """
    kind: Any = Replay
    if is_on_gpu(program):
        from ..cuda import CudaReplay

        kind = partial(CudaReplay, left=left)
    try:
        return kind(program, inputs, native)
    except Exception as error:
        if not native:
            raise
        why = f"{type(error).__name__}: {error}"
        warnings.warn(
            f"{name}: no machine code could be made ({why}); it is replayed by calls of array functions",
            stacklevel=warning_level(),
        )
        found = kind(program, inputs, False)
        found.why_not_native = why
        return found
