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

    __slots__ = ("dtype", "grad", "high", "kind", "layout", "low", "seed", "shape")

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
        # "uniform", "distinct" (no two alike), "ascending" (distinct, sorted), "ties", "symmetric",
        # "spd" (symmetric positive definite), "well_conditioned", "lower" (triangular, invertible), "one_hot", "zeros",
        # "falling" (n, n - 1, …, 1), "offsets" (0, 1, 3, 6, …),
        # "distinct_index" (integers of [low, high), no two alike)
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


def over(low: float = -2.0, high: float = 2.0, **options: Any) -> Any:
    """Samples for an operation on one tensor whose domain is [low, high)."""

    def samples() -> list[Sample]:
        shapes: list[tuple[int, ...]] = [(2, 3), (), (1,), (0, 2)]
        made = [Sample(T(*shape, low=low, high=high), **options) for shape in shapes]
        return [*made, Sample(T(3, 2, low=low, high=high, layout="transposed"), **options)]

    return samples


def pairs(x: tuple[float, float] = (-2.0, 2.0), y: tuple[float, float] = (-2.0, 2.0)) -> Any:
    """Samples for an operation on two tensors, broadcast together, with a domain each."""

    def samples() -> list[Sample]:
        def of(first: tuple[int, ...], second: tuple[int, ...], **layout: Any) -> Sample:
            return Sample(
                T(*first, low=x[0], high=x[1], **layout), T(*second, low=y[0], high=y[1], seed=1)
            )

        return [
            of((2, 3), (2, 3)),
            of((2, 1), (3,)),
            of((), (2, 2)),
            of((), ()),
            of((0, 2), (2,)),
            of((3, 2), (3, 2), layout="transposed"),
        ]

    return samples
