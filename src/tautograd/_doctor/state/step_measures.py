"""One step in numbers: norms of gradients, how far each parameter moved, how much of it stood still.

Of large tensors only a part is compared. The parts of all parameters lie one after the other in one array,
so that a step costs a few operations and not a dozen for each parameter.
"""

from __future__ import annotations

import math
import time
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from .gradient_ledger import parameters_of

PART = 4096  # entries of a parameter that are compared
NAN = float("nan")


class Measured:
    """What was seen before a step; `updates()` compares that with what is there after it."""

    def __init__(self, optimizer: Any, engine: Any, parameters: list[Any]) -> None:
        self.started = time.perf_counter()
        self.optimizer, self.engine, self.parameters = optimizer, engine, parameters
        grads = [p.grad.detach() for p in parameters]
        self.norms = norms(engine, grads)
        rows = [part(p) for p in parameters]
        self._bounds = [0, *accumulate(row.numel() for row in rows)]
        self._before = _joined(engine, rows)
        self._moving = _joined(engine, [part(g) for g in grads]) != 0  # the gradient is not 0
        self.spent = time.perf_counter() - self.started

    def updates(self) -> tuple[list[float], list[float]]:
        """How far each parameter moved against its size; the share of entries that should and did not."""
        before = self._before
        now = _joined(self.engine, [part(p) for p in self.parameters])
        still = (now == before) & self._moving
        ratios, unchanged = [], []
        with np.errstate(all="ignore"):  # of what is not finite any more
            delta, whole = np.subtract(now, before, dtype=np.float64), before.astype(np.float64)
            for start, stop in pairwise(self._bounds):
                size, count = _norm(whole[start:stop]), np.count_nonzero(self._moving[start:stop])
                ratios.append(_norm(delta[start:stop]) / size if size else NAN)
                unchanged.append(np.count_nonzero(still[start:stop]) / count if count else NAN)
        return ratios, unchanged


def with_gradients(optimizer: Any) -> list[Any]:
    """The parameters whose gradients can be measured."""
    return [
        p
        for p in parameters_of(optimizer)
        if (g := p.grad) is not None and not g.is_sparse and g.is_floating_point() and g.numel()
    ]


def held_here(tensor: Any) -> Any:
    """What this process holds of a tensor that is spread over several; to measure must send no messages."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def part(tensor: Any) -> Any:
    """The first entries of a tensor, as a row."""
    flat = held_here(tensor.detach()).reshape(-1)
    return flat[:PART] if flat.numel() > PART else flat


def _joined(engine: Any, rows: list[Any]) -> Any:
    """A copy of all rows, one after the other, as NumPy has it."""
    if len({row.device for row in rows}) > 1:
        rows = [row.cpu() for row in rows]
    together = engine.cat(rows)
    if together.element_size() < 4:  # NumPy has no bfloat16
        together = together.float()
    return together.cpu().numpy()


def _norm(row: Any) -> float:
    return math.sqrt(np.dot(row, row))


def largest(engine: Any, tensor: Any) -> float:
    """The largest magnitude: 0 only if all is 0, NaN if there is one."""
    tensor = held_here(tensor.detach())
    return float(tensor.abs().max().item()) if tensor.numel() else 0.0


def norms(engine: Any, tensors: list[Any]) -> list[float]:
    """The norms of all, read at once. What underflows or overflows is measured again."""
    tensors = [held_here(tensor) for tensor in tensors]
    fused = vars(engine).get("_foreach_norm")
    if fused is not None:
        found = fused(tensors, 2)
    else:
        found = [engine.linalg.vector_norm(t) for t in tensors]
    values = _read(engine, found)
    for i, value in enumerate(values):
        if value == 0.0 or not math.isfinite(value):
            values[i] = largest(engine, tensors[i])
    return values


def _read(engine: Any, scalars: list[Any]) -> list[float]:
    if len({(s.device, s.dtype) for s in scalars}) == 1:
        return [float(v) for v in engine.stack(list(scalars)).tolist()]
    return [float(s.item()) for s in scalars]
