"""A transform for each part of a tensor, with parts joined by `torch.cat` or `torch.stack`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tautograd as torch
from tautograd import Tensor

from .. import constraints
from ..utils import _sum_rightmost, lazy_property
from ._transform import Transform


class _Joined(Transform):
    """Transforms along a dimension, in order."""

    transforms: list[Transform]
    dim: int

    def __init__(self, tseq: Sequence[Transform], cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)

    @property
    def bijective(self) -> bool:
        """Whether every part is bijective."""
        return all(t.bijective for t in self.transforms)

    def _require(self, value: Tensor, name: str, wanted: int, called: str, what: str) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for {what} with {value.dim()} dimensions"
            )
        if value.size(self.dim) != wanted:
            raise AssertionError(
                f"{name}.size({self.dim}) = {value.size(self.dim)} must equal {called} {wanted}"
            )


class CatTransform(_Joined):
    """Applies each transform to its section of `dim`, with the given length (default 1)."""

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})"
            )
        self.dim = dim

    @lazy_property
    def event_dim(self) -> int:
        """The maximum over the parts."""
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        """The sum of the lengths."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with a cache of this size in every part."""
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _split(self, value: Tensor, name: str, what: str = "tensor") -> Sequence[Tensor]:
        self._require(value, name, self.length, "length", what)
        return value.split(self.lengths, self.dim)

    def _call(self, x: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(x, "x"), strict=True)
        return torch.cat([t(part) for t, part in parts], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._split(y, "y"), strict=True)
        return torch.cat([t.inv(part) for t, part in parts], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Each part's own; summed if `dim` lies within an event, else concatenated."""
        xs, ys = self._split(x, "x", "x"), self._split(y, "y", "y")
        terms = [
            _sum_rightmost(t.log_abs_det_jacobian(a, b), self.event_dim - t.event_dim)
            for t, a, b in zip(self.transforms, xs, ys, strict=True)
        ]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return torch.cat(terms, dim=dim) if dim < 0 else sum(terms)  # type: ignore[return-value]

    @constraints.dependent_property
    def domain(self) -> Any:
        """Each part's, concatenated."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Each part's, concatenated."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Joined):
    """Applies each transform to its slice along `dim`."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, cache_size)
        self.dim = dim

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with a cache of this size in every part."""
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    def _slice(self, value: Tensor) -> list[Tensor]:
        return [value.select(self.dim, i) for i in range(value.size(self.dim))]

    def _parts(self, value: Tensor, name: str, what: str = "tensor") -> list[Tensor]:
        self._require(value, name, len(self.transforms), "len(transforms)", what)
        return self._slice(value)

    def _call(self, x: Tensor) -> Tensor:
        parts = zip(self.transforms, self._parts(x, "x"), strict=True)
        return torch.stack([t(part) for t, part in parts], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._parts(y, "y"), strict=True)
        return torch.stack([t.inv(part) for t, part in parts], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Each part's own, stacked."""
        xs, ys = self._parts(x, "x", "x"), self._parts(y, "y", "y")
        threes = zip(self.transforms, xs, ys, strict=True)
        return torch.stack([t.log_abs_det_jacobian(a, b) for t, a, b in threes], dim=self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        """Each part's, stacked."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Each part's, stacked."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
