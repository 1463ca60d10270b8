"""Padding as modules: one class for each mode and number of dimensions."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from .. import functional as F
from ._shared.constructors import own_constructor
from .module import Module
from .utils import _ntuple

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _OwnElements(Module):
    """Padding with the input's own elements."""

    _rank: int
    _mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._rank)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_OwnElements):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        rank, ndim = self._rank, len(input.shape)
        if ndim not in (rank + 1, rank + 2):
            raise ValueError(f"expected {rank + 1}D or {rank + 2}D input (got {ndim}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Elements from the opposite end, over one dimension."""

    _rank = 1


class CircularPad2d(_CircularPadNd):
    """Elements from the opposite end, over two dimensions."""

    _rank = 2


class CircularPad3d(_CircularPadNd):
    """Elements from the opposite end, over three dimensions."""

    _rank = 3


class _ReflectionPadNd(_OwnElements):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Elements reflected at the ends, over one dimension."""

    _rank = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Elements reflected at the edges, over two dimensions."""

    _rank = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Elements reflected at the faces, over three dimensions."""

    _rank = 3


class _ReplicationPadNd(_OwnElements):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """The last element repeated, over one dimension."""

    _rank = 1


class ReplicationPad2d(_ReplicationPadNd):
    """The last element repeated, over two dimensions."""

    _rank = 2


class ReplicationPad3d(_ReplicationPadNd):
    """The last element repeated, over three dimensions."""

    _rank = 3


class _ConstantPadNd(Module):
    """Padding with a number."""

    _rank: int

    def __init__(self, padding: Any, value: Any) -> None:
        super().__init__()
        self.value = value
        self.padding = _ntuple(2 * self._rank)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """A number before and after one dimension."""

    _rank = 1


class ConstantPad2d(_ConstantPadNd):
    """A number around two dimensions."""

    _rank = 2


class ConstantPad3d(_ConstantPadNd):
    """A number around three dimensions."""

    _rank = 3


class _ZeroPadNd(_ConstantPadNd):
    """Padding with zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


@own_constructor
class ZeroPad1d(_ZeroPadNd, ConstantPad1d):
    """Zeros before and after one dimension."""


@own_constructor
class ZeroPad2d(_ZeroPadNd, ConstantPad2d):
    """Zeros around two dimensions."""


@own_constructor
class ZeroPad3d(_ZeroPadNd, ConstantPad3d):
    """Zeros around three dimensions."""
