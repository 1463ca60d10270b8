"""Values of a subject at many points: batched where the engine can, otherwise one by one.

Perturbed inputs differ only in their values, so a batch of them can run through the engine's `vmap`
at once. If that raises (control flow on values, a custom Function without a vmap rule) or
gives different numbers than a plain run, every point is run separately.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..._stand_ins.silence import without_warnings
from ..subject.engines import as_reals
from ..subject.projected import Projected
from ..subject.subject import Subject
from .noise import EPSILON, level_of, points_for_noise

_AT_ONCE = 2**19  # numbers per batch: more would not stay in the processor's cache
_ROWS = 256  # points per batch, at least: each batch has a fixed cost
_ENOUGH = 8  # points from which batching pays


class Values:
    """A function of points (k, n) to values (k, m), for `directional`.

    `here` is the result of a recorded run at the subject's own values, if known.
    """

    def __init__(self, subject: Subject, here: Any = None) -> None:
        self.subject = subject
        self.count = 0  # number of points so far
        self.batches: bool | None = None  # None: not known yet
        self.told: Callable[[int], None] | None = None  # called now and then with the points so far
        self._last_told = time.monotonic()
        self._also: Any = None  # points expected to be requested later, and their values
        self._beside: Any = None
        self._block: Any = None  # the memory of requested points, with expected ones after them
        self._quiet = False
        self._row = subject.row
        self.here = self._alone(self._row) if here is None else here
        self._quiet = self._may_run_without_recording()

    @property
    def noise_is_open(self) -> bool:
        """Whether the noise has not been measured yet."""
        return "noise" not in self.__dict__

    @property
    def noise_is_bound(self) -> bool:
        """Whether only a bound on the noise is known."""
        return "noise" in self.__dict__ and "around" not in self.__dict__

    def take_noise(self, level: Any) -> None:
        """Set the noise of each output, bounded as a by-product of values already computed."""
        self.__dict__["noise"] = level

    @cached_property
    def around(self) -> Any:
        """The values from which `level_of` computes the noise."""
        return self(points_for_noise(self._row, epsilon=max(EPSILON, self.subject.epsilon)))

    @cached_property
    def noise(self) -> Any:
        """The noise level of each output."""
        if isinstance(self.subject, Projected):
            return self.subject.noise(self)
        return level_of(self.around, max(EPSILON, self.subject.epsilon))

    def __call__(self, points: Any) -> Any:
        if len(points) == 1 and np.array_equal(points[0], self._row):
            return self.here[None].copy()
        if points is self._also:
            found, self._beside, self._also = self._beside, None, None
            if found is not None:
                return found
        self.count += len(points)
        self._tell()
        if len(points) >= _ENOUGH and self.batches is not False:
            found = self._together(points)
            if found is not None:
                return found
        return np.array([self._or_nan(point) for point in points]).reshape(len(points), -1)

    def expect(self, points: Any) -> None:
        """Announce points that will be requested: the next batch may include them."""
        self._also, self._beside = points, None

    def blank(self, count: int, size: int) -> Any:
        """Memory for `count` points of `size` numbers each; expected points follow them."""
        if self._also is None:
            return np.empty((count, size))
        self._block = np.empty((count + len(self._also), size))
        self._block[count:] = self._also
        return self._block[:count]

    def _with_expected(self, points: Any) -> Any:
        if self._also is None or self._beside is not None:
            return self._batch(points)
        block, self._block = self._block, None
        if block is None or points.base is not block or len(points) + len(self._also) < len(block):
            block = np.concatenate([points, self._also])
        found = self._batch(block)
        self._beside = found[len(points) :]
        return found[: len(points)]

    def _tell(self) -> None:
        if self.told is not None and time.monotonic() - self._last_told > 1.0:
            self._last_told = time.monotonic()
            self.told(self.count)

    def _or_nan(self, point: Any) -> Any:
        """The values there, or NaN: beside the point the function may be undefined."""
        self._tell()
        try:
            return self._alone(point)
        except Exception:
            return np.full(self.subject.size, np.nan)

    def _alone(self, point: Any) -> Any:
        subject = self.subject
        tensors = subject.tensors_from(point)
        if self._quiet:
            with subject.engine.no_grad():
                return subject.flat(subject.evaluated(tensors))
        with subject.engine.enable_grad():
            return subject.flat(subject.evaluated([t.requires_grad_() for t in tensors]))

    def _may_run_without_recording(self) -> bool:
        """Whether it gives the same result without a graph (a gradient penalty, say, needs one)."""
        self._quiet = True
        try:
            return bool(np.array_equal(self.here, self._alone(self._row), equal_nan=True))
        except Exception:
            return False

    def _together(self, points: Any) -> Any:
        rows = max(_ROWS, _AT_ONCE // max(1, points.shape[1]))
        try:
            parts = [
                (self._with_expected if i + rows >= len(points) else self._batch)(
                    points[i : i + rows]
                )
                for i in range(0, len(points), rows)
            ]
            found = np.concatenate(parts)
        except Exception:
            self.batches, self._beside = False, None
            return None
        if self.batches is None:
            self.batches = self._agree(found, points)
            if not self.batches:
                self._beside = None
        return found if self.batches else None

    def _batch(self, points: Any) -> Any:
        subject = self.subject
        engine = subject.engine
        tensors = []
        for leaf in subject.leaves:
            part = np.ascontiguousarray(points[:, leaf.start : leaf.start + leaf.reals])
            if leaf.tensor.is_complex():
                part = part.view(np.complex128)
            made = engine.from_numpy(part.reshape(len(points), *tuple(leaf.tensor.shape)))
            tensors.append(made.to(dtype=leaf.tensor.dtype, device=leaf.tensor.device))

        def one(*given: Any) -> Any:
            return tuple(t for _, t in subject.named_outputs(subject.evaluated(list(given))))

        with without_warnings, engine.no_grad(), subject.without_trace():
            outputs = engine.func.vmap(one, randomness="same")(*tensors)
        return np.concatenate([as_reals(out).reshape(len(points), -1) for out in outputs], axis=1)

    def _agree(self, found: Any, points: Any) -> bool:
        """Whether a batch agrees with single runs, up to the order of summation."""
        for i in {0, len(points) // 2, len(points) - 1}:
            known = np.array_equal(points[i], self._row)
            alone = self.here if known else self._alone(points[i])
            if alone.shape != found[i].shape:
                return False
            size = np.maximum(np.abs(alone), np.abs(alone).max(initial=0.0))
            close = np.abs(found[i] - alone) <= 1e3 * self.subject.epsilon * size
            if not np.all(close | (np.isnan(alone) & np.isnan(found[i])) | (alone == found[i])):
                return False
        return True
