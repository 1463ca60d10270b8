"""What else is asked of one iteration that is watched call by call, one question each.

`ValueNumbers` shows every lens the calls that it numbers. A lens computes nothing of its own but by reading numbers
that are there (the rows an index takes, whether weights differ), and only on the CPU.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

_MOST = 4096  # rows of an index that are looked at
LOSSES = frozenset(
    (
        "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "cross_entropy", "nll_loss", "kl_div",
        "binary_cross_entropy", "binary_cross_entropy_with_logits",
    )
)  # fmt: skip


class Known:
    """What is known of tensors while they live, by identity."""

    def __init__(self) -> None:
        self._all: dict[int, tuple[Any, Any]] = {}

    def get(self, tensor: Any) -> Any:
        found = self._all.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def put(self, tensor: Any, what: Any) -> None:
        self._all[id(tensor)] = weakref.ref(tensor), what


class Lens:
    """One question. `see` is told of each call: its name, what it was given and what it made."""

    def __init__(self) -> None:
        self.known = Known()

    def see(self, name: str, args: Any, kwargs: Any, given: list[Any], made: list[Any]) -> None:
        raise NotImplementedError


def rows_taken(taken: Any) -> Any:
    """The rows that an index takes, if it takes them by their numbers."""
    taken = getattr(taken, "arrays", taken)
    while isinstance(taken, tuple | list) and taken and not isinstance(taken[0], int):
        taken = taken[0]
    try:
        if hasattr(taken, "detach"):
            if str(taken.device) != "cpu" or taken.dim() != 1 or len(taken) > _MOST:
                return None
            taken = taken.detach().numpy()
        rows = np.asarray(taken)
    except (TypeError, ValueError, RuntimeError):
        return None
    if rows.ndim != 1 or not 4 <= len(rows) <= _MOST or rows.dtype.kind not in "iu":
        return None
    return rows.astype(np.int64)
