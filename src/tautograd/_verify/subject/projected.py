"""A very large computation as a function of a few numbers: distances along random directions.

A hundred million parameters cannot be varied one by one, nor can the points of a comparison be held as
rows. But along a handful of random sign vectors the computation is a function of a handful of numbers,
whose gradient is the full one projected onto them: one wrong entry changes every projection by its own
error. The signs take a byte each, and the leaves are moved directly; no rows are written.
"""

from __future__ import annotations

from math import factorial, sqrt
from typing import Any

import numpy as np

from ..numerics.signs import uneven_signs
from .leaves import Leaf
from .subject import Subject

LARGE = 4_000_000  # numbers above which a computation is projected
_POINTS, _ORDER = 8, 4  # values along a line whose fourth differences show the noise


class Projected(Subject):
    """A subject along `count` random directions."""

    def __init__(self, subject: Subject, count: int, seed: int) -> None:
        own = "row", "usual_sizes"
        self.__dict__.update({k: v for k, v in subject.__dict__.items() if k not in own})
        self.inner = subject
        self.__dict__["epsilon"] = subject.epsilon
        random = np.random.default_rng(seed + 1)
        self.scales = [_usual(leaf) for leaf in subject.leaves]
        self.signs = [
            [
                subject.engine.from_numpy(
                    random.integers(0, 2, tuple(leaf.tensor.shape), np.int8) * np.int8(2)
                    - np.int8(1)
                )
                for leaf in subject.leaves
            ]
            for _ in range(count)
        ]
        small = subject.engine.zeros(count, dtype=subject.engine.float64)
        self.leaves = [Leaf("along random directions", small, 0, False)]
        self.row = np.zeros(count)
        self.row.setflags(write=False)
        self.weights = [
            subject.engine.from_numpy(np.asarray(uneven_signs(random, tuple(out.shape))))
            for _, out in subject.outputs
        ]
        self.outputs = self._weighted([out for _, out in subject.outputs])

    def _weighted(self, outputs: list[Any]) -> list[tuple[str, Any]]:
        """One number from all outputs, weighted by random signs."""
        parts = [
            (out.real.double() * w).sum() for out, w in zip(outputs, self.weights, strict=True)
        ]
        return [("the outputs, weighted by random signs", sum(parts[1:], parts[0]))]

    def named_outputs(self, result: Any) -> list[tuple[str, Any]]:
        return self._weighted([out for _, out in self.inner.named_outputs(result)])

    def noise(self, values: Any) -> Any:
        """The rounding of the single output, from a few values along one direction."""
        line = np.zeros((_POINTS, self.row.size))
        line[:, 0] = 1e-12 * np.arange(_POINTS)
        differences = np.diff(values(line)[:, 0], n=_ORDER)
        expected = sqrt(factorial(2 * _ORDER)) / factorial(_ORDER)
        return np.array([2.0 * float(np.sqrt(np.mean(differences**2))) / expected])

    @property
    def step(self) -> float:
        """How much an error of 1 in a single number changes a projection, at least."""
        return min(self.scales, default=1.0)

    def tensors_from(self, row: Any) -> list[Any]:
        found = self.inner.own_tensors()
        for i, moved in enumerate(found):
            for distance, signs in zip(row, self.signs, strict=True):
                if distance:
                    moved.add_(signs[i].to(moved.dtype), alpha=float(distance) * self.scales[i])
        return found

    def own_tensors(self) -> list[Any]:
        return self.inner.own_tensors()

    def call(self, tensors: list[Any]) -> Any:
        return self.inner.call(tensors)

    def evaluated(self, tensors: list[Any]) -> Any:
        return self.inner.evaluated(tensors)

    def pull_back(self, tensors: list[Any], outputs: list[Any], cotangents: Any) -> Any:
        live = [i for i, out in enumerate(outputs) if out.requires_grad]
        rows = np.zeros((len(cotangents), self.row.size))
        for at, cotangent in enumerate(cotangents):
            if not live:
                continue
            parts = self.as_outputs(cotangent, outputs)
            found = self.backward([outputs[i] for i in live], tensors, [parts[i] for i in live])
            for i, gradient in enumerate(found):
                if gradient is not None:
                    for k, signs in enumerate(self.signs):
                        along = gradient.detach().reshape(-1) @ signs[i].to(gradient.dtype).reshape(
                            -1
                        )
                        rows[at, k] += self.scales[i] * float(along.real)
        return rows


def _usual(leaf: Leaf) -> float:
    if not leaf.reals:
        return 1.0
    size = float(leaf.tensor.detach().abs().to(leaf.tensor.abs().dtype).norm()) / leaf.reals**0.5
    return size if np.isfinite(size) and size > 0 else 1.0
