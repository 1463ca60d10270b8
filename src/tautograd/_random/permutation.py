"""Random permutations: Fisher and Yates' shuffle, whose order of draws PyTorch's results follow.

Step i swaps entry i with a partner at or after i. As written that is a loop, and a kernel runs it
where there is one. Without a kernel a short one runs as it stands, and of a long one the swaps are
solved instead of executed. Let D(i) be the value at place i when step i begins. Step i carries D(i)
to its partner's place, so D(i) is D of the last earlier step whose partner was i, or i itself if
there was none: a forest of pointers to earlier steps, whose roots doubling finds in a few passes.
The value that step i brings to place i was likewise left at the partner's place by the last earlier
step with the same partner.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays.kernels import kernel_for_work
from . import names
from .arithmetic import narrow
from .engine import Generator

if TYPE_CHECKING:
    import numpy.typing as npt

# Below this the list of swaps is faster than sorting and doubling.
_LOOP_UP_TO = 600

_FLOAT64 = np.dtype(np.float64)  # which a kernel of whole numbers goes by
_PRECISION_LIMITS = {
    np.dtype(np.float16): (2**11 + 1, "2049"),
    np.dtype(np.float32): (2**24 + 1, "2^24+1"),
    np.dtype(np.float64): (2**53 + 1, "2^53+1"),
}


def check_size(n: int, kind: np.dtype) -> None:
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if kind.kind in "cb" or kind in names.BAREBONES_UNSIGNED:
        raise names.not_implemented("randperm", kind)
    if kind in _PRECISION_LIMITS:
        most, spelling = _PRECISION_LIMITS[kind]
        if n > most:
            raise RuntimeError(
                f"n cannot be greater than {spelling} for {names.torch_name(kind)} type."
            )
    elif kind.kind in "iu" and n - 1 > np.iinfo(kind).max:
        raise RuntimeError(f"value cannot be converted to type {kind}_t without overflow")


def _execute(partners: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    values = list(range(len(partners) + 1))
    for place, partner in enumerate(partners.tolist()):
        values[place], values[partner] = values[partner], values[place]
    return np.array(values, np.int64)


def _solve(partners: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    steps = np.arange(len(partners))
    source = np.arange(len(partners) + 1)
    moving = partners != steps
    # Of several assignments to one place the last stands, which is the last earlier step.
    source[partners[moving]] = steps[moving]
    while True:
        further = source[source]
        if np.array_equal(further, source):
            break
        source = further
    # Sorted by partner and then by step, a step follows the last one with the same partner.
    keys = (partners.astype(np.uint64) << np.uint64(32)) | steps.astype(np.uint64)
    keys.sort()
    by_partner = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
    keys >>= np.uint64(32)
    repeated = np.flatnonzero(keys[1:] == keys[:-1])
    values = np.append(partners.astype(np.int64), source[-1])
    values[by_partner[repeated + 1]] = source[by_partner[repeated]]
    return values


def randperm(generator: Generator, n: int, dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
    """A permutation of 0..n-1: `torch.randperm`.

    (From n = 214748364 on PyTorch shuffles by 64-bit words in another order; not reproduced.)
    """
    kind = names.known(dtype)
    check_size(n, kind)
    if n < 2:
        return np.zeros(n, kind)
    run = kernel_for_work("random_shuffle", _FLOAT64, n)
    if run is not None:
        shuffled = np.empty(n, np.int64)
        run(1, n, generator.random32(n - 1), shuffled, n)
        return narrow(shuffled, kind)
    partners = generator.random32(n - 1)
    partners %= np.arange(n, 1, -1, dtype=np.uint32)
    partners += np.arange(n - 1, dtype=np.uint32)
    return narrow(_execute(partners) if n <= _LOOP_UP_TO else _solve(partners), kind)


def permutations(generator: Generator, shape: Sequence[int], dtype: npt.DTypeLike) -> Any:
    """One permutation along the last dimension for each place in the others."""
    *batch, n = shape
    if not batch:
        return randperm(generator, n, dtype)
    rows = [randperm(generator, n, dtype) for _ in range(math.prod(batch))]
    return np.reshape(np.stack(rows), shape)
