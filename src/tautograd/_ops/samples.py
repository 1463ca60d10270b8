"""Sample inputs of an operation, as data: what the tests and the documentation run it on.

A record's `samples` is a function without arguments that returns `Sample`s. A sample is a call of
the public function; `T(2, 3)` in it stands for a tensor that the tests make on both engines, in each
dtype, from one seeded array:

    samples=lambda: [Sample(T(2, 3), T(3)), Sample(T(2, 0), 1.5, alpha=2)]

Domains (`low`, `high`) keep samples where a function is defined and away from its kinks; extremes,
ties, NaN and infinities are tried by the tests for every elementwise operation without being asked.
"""

from __future__ import annotations

from typing import Any


class T:
    """A tensor to be made: its shape, range, and what makes it unusual."""

    __slots__ = ("shape", "low", "high", "dtype", "grad", "layout", "kind", "seed")

    def __init__(
        self,
        *shape: int,
        low: float = -2.0,
        high: float = 2.0,
        dtype: str | None = None,
        grad: bool = True,
        layout: str = "contiguous",
        kind: str = "uniform",
        seed: int = 0,
    ) -> None:
        self.shape = shape
        self.low = low  # values lie in [low, high); integers are drawn from the same range
        self.high = high
        self.dtype = dtype  # a fixed dtype name ("int64", "bool"); None: the dtype under test
        self.grad = grad  # whether to differentiate with respect to it
        self.layout = layout  # "contiguous", "transposed", "strided", "expanded"
        # "uniform", "distinct" (no two alike), "ties", "spd" (symmetric positive definite),
        # "symmetric", "well_conditioned", "lower" (triangular, invertible), "one_hot", "zeros"
        self.kind = kind
        self.seed = seed

    def __repr__(self) -> str:
        return f"T{self.shape}"


class Sample:
    """One call: positional and keyword arguments, tensors given as `T` (also inside lists)."""

    __slots__ = ("args", "kwargs")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        parts = [repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.kwargs.items()]
        return f"Sample({', '.join(parts)})"
