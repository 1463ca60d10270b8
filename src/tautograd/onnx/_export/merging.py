"""Merging several runs, with other sizes and other values, into one program.

The runs must have applied the same operations to the same values. What may differ is a number (a `Size`), or
a constant that is created for each size (a mask, positions). Any other difference was decided by Python
from the values or sizes of one run, or computed out of sight: that is an error with its line,
since the graph would be right for the example alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..._ops.nn.line_maps import LineMap
from ..._ops.nn.pooling.windows import Window
from .errors import at_line, refused
from .recording import Index, Run, Step, Use
from .sizes import Number, Size, of


class Differs(Exception):
    """Two runs cannot be merged here."""


@dataclass
class Node:
    """A value of the program."""

    kind: str
    shape: tuple[Number, ...]
    dtype: Any
    depends: bool
    key: Any = None
    data: Any = None
    varying: list[Any] = field(
        default_factory=list
    )  # a constant's value in each run, if it differed
    site: Any = None


@dataclass
class Program:
    """What all runs have in common."""

    nodes: list[Node]
    steps: list[Step]
    outputs: list[Any]
    runs: int


@dataclass(frozen=True)
class Repeated:
    """A list that repeats a single number."""

    value: Number
    count: Number


def merged(runs: list[Run]) -> Program:
    """Merge all runs into one program."""
    first = runs[0]
    for other in runs[1:]:
        _compare(first, other)
    nodes = [_node([run.values[i] for run in runs]) for i in range(len(first.values))]
    steps = []
    for together in zip(*(run.steps for run in runs), strict=True):
        step: Step = together[0]
        try:
            inputs = tuple(
                _leaf(list(each)) for each in zip(*(s.inputs for s in together), strict=True)
            )
            parameters = {k: _leaf([s.parameters[k] for s in together]) for k in step.parameters}
        except (Differs, ValueError) as error:
            raise refused(
                f"the operation '{step.op.name}' is given something that depends on the inputs' sizes "
                f"or values in a way that a graph cannot repeat ({error})",
                step.site,
            ) from None
        steps.append(Step(step.op, inputs, parameters, step.outputs, step.site, step.path))
    outputs = [_output(list(each)) for each in zip(*(run.outputs for run in runs), strict=True)]
    return Program(nodes, steps, outputs, len(runs))


def _compare(first: Run, other: Run) -> None:
    """Raise if two runs did not do the same."""
    for a, b in zip(first.steps, other.steps, strict=False):
        same = a.op is b.op and a.outputs == b.outputs and _shape_of(a) == _shape_of(b)
        if not same:
            where = at_line(a.site)
            if b.site != a.site:
                where += f"\n  and, in the other run,{at_line(b.site)}"
            raise refused(
                "the model does other things for other inputs: with the example it applied "
                f"'{a.op.name}', with inputs of other values or sizes '{b.op.name}' (or the same to "
                "another value). What Python decides by values or sizes (an `if`, a loop over a "
                "dimension) is not in the graph; make the dimension fixed, or write it with operations"
                + where
            )
    if len(first.steps) != len(other.steps) or len(first.outputs) != len(other.outputs):
        longer = first if len(first.steps) > len(other.steps) else other
        shorter = min(len(first.steps), len(other.steps))
        site = longer.steps[shorter].site if len(longer.steps) > shorter else None
        raise refused(
            "how many operations the model applies depends on the inputs' values or sizes (a Python "
            "loop over a dimension that was to be dynamic?); the graph would repeat the example's number",
            site,
        )
    if len(first.values) != len(other.values):
        raise refused("the model makes other constants for other inputs")


def _shape_of(step: Step) -> Any:
    """Which values a step uses, regardless of their contents."""
    return [_used(x) for x in step.inputs]


def _used(x: Any) -> Any:
    if isinstance(x, (Use, Index)):
        return x
    if isinstance(x, (list, tuple)):
        return [_used(y) for y in x]
    return x is None


def _node(values: list[Any]) -> Node:
    first = values[0]
    if any(
        v.kind != first.kind or v.dtype != first.dtype or len(v.shape) != len(first.shape)
        for v in values
    ):
        raise refused("a value has another dtype or rank in another run", first.site)
    shape = tuple(of(sizes) for sizes in zip(*(v.shape for v in values), strict=True))
    node = Node(
        first.kind, shape, first.dtype, first.depends, first.key, first.data, site=first.site
    )
    held = [v.data for v in values]
    if first.data is not None and any(x is None or not _equal(x, held[0]) for x in held):
        node.data = None
        node.varying = held if first.kind == "constant" else []
    if first.kind == "random":
        try:
            node.key = _leaf([v.key for v in values])
        except (Differs, ValueError):
            raise refused(
                "random numbers are drawn in a way that sizes or values decide", first.site
            ) from None
    return node


def _equal(a: Any, b: Any) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(np.all((a == b) | ((a != a) & (b != b))))


def _leaf(given: list[Any]) -> Any:
    """One leaf for all runs."""
    first = given[0]
    if isinstance(first, Window):
        return SimpleNamespace(
            **{
                name: tuple(of(v) for v in zip(*(getattr(w, name) for w in given), strict=True))
                if isinstance(getattr(first, name), tuple)
                else getattr(first, name)
                for name in ("size", "kernel", "stride", "low", "high", "dilation", "count", "ceil")
            }
        )
    if isinstance(first, LineMap):
        return _map(given)
    if isinstance(first, (list, tuple)):
        lengths = {len(x) for x in given}
        if len(lengths) > 1:
            if all(x and all(y == x[0] for y in x) for x in given):
                return Repeated(of(x[0] for x in given), of(len(x) for x in given))
            raise Differs("lists of other lengths")
        found = [_leaf(list(each)) for each in zip(*given, strict=True)]
        return found if isinstance(first, list) else tuple(found)
    if isinstance(first, dict):
        return {k: _leaf([x[k] for x in given]) for k in first}
    if isinstance(first, np.ndarray):
        if all(_equal(first, x) for x in given):
            return first
        raise Differs("an array that is not the same")
    if isinstance(first, (Use, Index, str, type(None), bool, np.bool_, np.dtype)):
        if all(x == first for x in given):
            return first
        raise Differs(f"{first!r}, elsewhere {next(x for x in given if x != first)!r}")
    if isinstance(first, (int, float, np.integer, np.floating)):
        if isinstance(first, np.generic):
            if all(x == first or (x != x and first != first) for x in given):
                return first
            return TypedSize(of(x.item() for x in given), first.dtype)
        if all(x != x for x in given):
            return first
        return of(given)
    if isinstance(first, slice):
        return slice(*(_leaf([getattr(s, n) for s in given]) for n in ("start", "stop", "step")))
    if all(x is first or x == first for x in given):
        return first
    raise Differs(f"{type(first).__name__} that is not the same")


@dataclass(frozen=True)
class TypedSize:
    """A size as a number of a dtype."""

    size: Any
    dtype: Any


def _map(maps: list[LineMap]) -> Any:
    """Merge maps along a dimension: they must be identical, or have one formula."""
    first = maps[0]
    if all(m is first or (m.size == first.size and m.count == first.count) for m in maps):
        return first
    origin = getattr(first, "origin", None)
    if origin is None:
        raise Differs("a map of elements that follows from a size")
    return SimpleNamespace(
        size=of(m.size for m in maps),
        count=of(m.count for m in maps),
        origin=tuple(_leaf(list(each)) for each in zip(*(m.origin for m in maps), strict=True)),
    )


def _output(given: list[Any]) -> Any:
    first = given[0]
    if isinstance(first, Use):
        if any(x != first for x in given):
            raise refused("the model returns another value for other inputs")
        return first
    return of(given) if isinstance(first, (int, float)) and not isinstance(first, bool) else first


__all__ = ["Program", "Repeated", "Size", "TypedSize", "merged"]
