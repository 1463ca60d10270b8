"""How far two correct results may lie apart: derived, the same formula for every operation.

Two engines that each compute a stable algorithm give the exact result for slightly changed inputs,
rounded. So they may differ by

    tolerance = K · eps · (|out| + S)

where eps is the machine epsilon of the dtype, |out| covers the rounding of the result, and S is how
far the exact result moves per unit of relative change of its inputs (for a gradient, cotangents are
inputs too): the condition. S is measured on PyTorch, for the same numbers in double precision, as
the largest central difference over a few random patterns of relative changes ±δ; where the two
halves of the difference disagree (a jump, a kink) the function has no condition there, and S is 0.
K counts roundings: 4 for an elementwise result (two engines, each within 2 ulp), times sqrt(n) for
results that gather n input elements (the growth of a random walk of rounding errors), times 1 + k
for a k-th derivative (a chain of k more products). Results of elementwise operations are held to
this element by element, others by their largest S (sums and factorisations are stable in norm).

S is only measured where the strict test (S = 0) fails, which is seldom.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch

from .arrays import numpy_dtype
from .cases import TORCH, Call, is_elementwise, tensors_in
from .measure import Item, measure

STEP = 2.0**-30  # relative change of the inputs: far above double rounding, far below curvature
PATTERNS = 4


def roundings(op: Any, sample: Any, key: str) -> float:
    """K of the formula."""
    order = {"out": 0, "gra": 1, "sec": 2}[key[:3]]
    size = 1.0
    if not is_elementwise(op):
        size = max((float(np.prod(t.shape)) for t in tensors_in(sample)), default=1.0)
    elif order:  # undoing a broadcast is a sum over the output
        size = float(np.prod(_broadcast(sample))) or 1.0
    return 4.0 * max(size, 1.0) ** 0.5 * (1 + order)


def _broadcast(sample: Any) -> tuple[int, ...]:
    return np.broadcast_shapes(*(t.shape for t in tensors_in(sample)))


def epsilon(dtype: str) -> float:
    return float(ml_dtypes.finfo(numpy_dtype(_real(dtype))).eps)


def _real(dtype: str) -> str:
    parts = {"complex64": "float32", "complex128": "float64", "complex32": "float16"}
    return parts.get(dtype, dtype)


def smallest(dtype: str) -> float:
    return float(ml_dtypes.finfo(numpy_dtype(_real(dtype))).smallest_subnormal)


def underflow(call: Call, dtype: str, shape: tuple[int, ...]) -> Any:
    """What rounding to a subnormal number may cost: such a number may yet be multiplied by the
    operands."""
    cost = np.full(shape, 2 * smallest(dtype))
    if not is_elementwise(call.op):
        return cost
    for tensor in call.tensors:
        x = np.abs(np.asarray(call.engine.array(tensor)).astype(np.complex128))
        with np.errstate(all="ignore"):
            factor = 1 + np.where(np.isfinite(x), x, 0.0)
            if np.broadcast_shapes(factor.shape, shape) == shape:
                cost = cost * factor
    return cost


class Condition:
    """S of one case, by item name; measured when first asked for."""

    def __init__(self, op: Any, sample: Any, dtype: str, fn: Any = None) -> None:
        self.op, self.sample, self.fn, self.dtype = op, sample, fn, dtype
        self._found: dict[str, Any] | None = None

    def of(self, key: str) -> Any:
        """S of the item called `key`: an array, or 0 where it could not be measured."""
        if self._found is None:
            with np.errstate(all="ignore"):
                self._found = self._measure()
        return self._found.get(key, 0.0)

    def _measure(self) -> dict[str, Any]:
        centre = self._run(0.0, 0)
        found = {k: np.zeros(np.shape(v)) for k, v in centre.items()}
        for pattern in range(PATTERNS):
            up, down = self._run(STEP, pattern), self._run(-STEP, pattern)
            for key, at in centre.items():
                if {np.shape(up.get(key)), np.shape(down.get(key))} == {np.shape(at)}:
                    move = np.abs(up[key] - down[key]) / (2 * STEP)
                    bend = np.abs(up[key] - 2 * at + down[key]) / STEP
                    smooth = np.isfinite(move) & (bend <= 0.5 * move)
                    found[key] = np.maximum(found[key], np.where(smooth, move, 0.0))
        if not is_elementwise(self.op):
            found = {k: np.max(v, initial=0.0) for k, v in found.items()}
        return found

    def _run(self, step: float, pattern: int) -> dict[str, np.ndarray]:
        call = Call(TORCH, self.op, self.sample, self.dtype, True, widen=True)
        rng = np.random.default_rng(pattern)

        def nudged(tensor: Any) -> Any:
            if not (tensor.is_floating_point() or tensor.is_complex()):
                return tensor
            # The parts of a complex number are rounded one by one.
            parts = torch.view_as_real(tensor) if tensor.is_complex() else tensor
            signs = rng.choice([-1.0, 1.0], tuple(parts.shape))
            parts = parts * (1 + step * TORCH.tensor(np.asarray(signs)))
            return torch.view_as_complex(parts) if tensor.is_complex() else parts

        for tensor in call.tensors:
            changed = nudged(tensor.data)
            if 0 not in tensor.stride():  # the same layout: PyTorch may choose its kernels by it
                changed = torch.empty_strided(
                    tensor.size(), tensor.stride(), dtype=changed.dtype
                ).copy_(changed)
            tensor.data = changed
        call.nudge = nudged  # cotangents are inputs of a gradient like any other
        outcome = measure(call, 2, self.fn)
        return {k: v.array for k, v in outcome.items.items() if isinstance(v, Item)}
