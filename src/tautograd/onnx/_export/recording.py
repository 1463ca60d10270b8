"""The record of a run: the values it computed with, and the operations, in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..._ops.declare.record import Op


@dataclass
class Value:
    """A value that a graph computes with: where it comes from, and what it is in this run."""

    kind: str  # "input", "weight", "constant", "random", "step"
    shape: tuple[int, ...]
    dtype: Any
    depends: bool  # on an input
    key: Any = None  # which input or weight, the sampler that drew it
    data: Any = None  # a constant's contents
    site: Any = None


@dataclass(frozen=True)
class Use:
    """One use of a value."""

    number: int


@dataclass(frozen=True)
class Index:
    """The positions of index arrays; None where a dimension is whole."""

    places: tuple[Use | None, ...]


@dataclass
class Step:
    """An operation: its values, its parameters, and its results."""

    op: Op
    inputs: tuple[Any, ...]
    parameters: dict[str, Any]
    outputs: tuple[int, ...]
    site: Any
    path: str


@dataclass
class Run:
    """A complete run."""

    values: list[Value] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    written: dict[str, Any] = field(default_factory=dict)  # weights and buffers that were changed
