"""Running a program again with leaves moved, or with the result of some of its calls replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..._stand_ins.function_mode import FunctionMode
from ..._trees.nests import WITH_DATACLASSES as NESTS
from ..subject.engines import as_numpy, as_reals, tensors_of
from .leaving import ABOUT_GRAPH, CUTTING, LEAVING
from .tape import Call


def candidates_of(calls: Sequence[Call]) -> Iterator[tuple[str, Call]]:
    """The calls with an input that requires a gradient and a result without history, and how each leaves."""
    written = {
        id(call.inputs[i]) for call in calls if any(call.wanted) for i in call.changed
    }  # kept alive by the tape, so that ids stay unique
    for call in calls:
        if call.checkpointed or call.custom:
            continue
        if not any(call.wanted):
            # An alias of memory into which something with history is written later.
            if call.name in ("data", "detach") and any(id(t) in written for t in call.outputs):
                yield CUTTING[call.name], call
            continue
        if call.name in LEAVING:
            yield LEAVING[call.name], call
        elif call.name == "detach_":
            yield CUTTING[call.name], call
        elif call.name in ABOUT_GRAPH:
            if call.name == "grad" and call.outputs and not any(map(_has_history, call.nodes)):
                yield "grad() without create_graph", call
        elif call.outputs:
            recorded = [_has_history(edge) for edge in call.nodes]
            how = CUTTING.get(call.name, "" if call.grad else "no_grad")
            if not any(recorded) or (how and not all(recorded)) or (call.changed and not call.grad):
                yield how or call.name, call


def _has_history(edge: Any) -> bool:
    return edge is not None and hasattr(edge[0], "next_functions")


def floats_of(value: Any) -> Any:
    """The numbers of a call's result, whatever container holds them, as one row of float64."""
    parts = []
    for one in NESTS.leaves(value):
        if hasattr(one, "requires_grad"):
            kind = as_numpy(one).dtype.kind
            parts.append(as_reals(one) if kind in "fc" else as_numpy(one).reshape(-1) * 1.0)
        elif isinstance(one, np.ndarray) and one.dtype.kind in "fiub":
            parts.append(one.reshape(-1).astype(np.float64))
        elif isinstance(one, (int, float, np.number)):
            parts.append(np.array([float(one)]))
    return np.concatenate(parts) if parts else np.zeros(0)


class Rerun:
    """The program as a function of its leaves: the sum of its results, weighted by cotangents."""

    def __init__(
        self,
        engine: Any,
        run: Callable[[], Any],
        leaves: Mapping[str, Any],
        cotangents: Sequence[Any],
        state: Any,
    ) -> None:
        self.engine, self.run, self.leaves, self.state = engine, run, leaves, state
        self.weights = [as_reals(c) for c in cotangents]
        self.start = {name: as_reals(leaf) for name, leaf in leaves.items()}
        self._kept = {name: leaf.detach().clone() for name, leaf in leaves.items()}
        self.size = self._last_size = 0.0  # of the summands, for their rounding

    def restore(self) -> None:
        """Give the leaves their own values again."""
        with self.engine.no_grad():
            for name, leaf in self.leaves.items():
                leaf.copy_(self._kept[name])

    def is_repeatable(self) -> bool:
        """Whether two runs give the same result."""
        first, second = self({}), self({})
        self.size = self._last_size
        return bool(first == second) and bool(np.isfinite(first))

    def __call__(self, moves: Mapping[str, Any], replace: Mapping[int, Any] | None = None) -> Any:
        """The weighted sum with leaves moved; `replace` says by how much to move results of calls."""
        if replace is None:
            try:
                return self._total(self._run(moves, None))
            except Exception:  # at other values it may be undefined
                if not moves:
                    raise
                return float("nan")
        seen: set[int] = set()

        def put(ordinal: int, result: Any, args: Any) -> Any:
            if ordinal not in replace:
                return result
            seen.add(ordinal)
            return self._moved(result, args, replace[ordinal])

        try:
            found = self._total(self._run(moves, put))
        except Exception:  # the program may not accept the replacement
            return None
        return found if seen >= set(replace) else None

    def observed(self, moves: Mapping[str, Any], ordinals: Sequence[int]) -> Any:
        """The results of calls, by ordinal, with leaves moved; None if some of them were not made."""
        found: dict[int, Any] = {}
        wanted = set(ordinals)

        def note(ordinal: int, result: Any, args: Any) -> Any:
            if ordinal in wanted:
                found[ordinal] = floats_of(args[0] if result is None else result)
            return result

        try:
            self._run(moves, note)
        except Exception:
            return None
        return found if wanted <= set(found) else None

    def _run(self, moves: Mapping[str, Any], see: Any) -> Any:
        engine = self.engine
        with engine.no_grad():
            for name, leaf in self.leaves.items():
                if name in moves:
                    row = self.start[name] + moves[name]
                    row = row.view(np.complex128) if leaf.is_complex() else row
                    made = engine.from_numpy(np.array(row).reshape(tuple(leaf.shape)))
                    leaf.copy_(made.to(dtype=leaf.dtype, device=leaf.device))
                else:
                    leaf.copy_(self._kept[name])
        engine.set_rng_state(self.state)
        with engine.enable_grad():
            if see is None:
                return self.run()
            with FunctionMode(engine, _Counter(see)):
                return self.run()

    def _total(self, result: Any) -> float:
        outputs = [
            t for t in tensors_of(result).values() if t.is_floating_point() or t.is_complex()
        ]
        total = size = 0.0
        for weight, out in zip(self.weights, outputs, strict=True):
            row = as_reals(out)
            total += float(weight @ row)
            size += float(np.abs(weight) @ np.abs(row))
        self._last_size = size
        return total

    def _moved(self, result: Any, args: Any, by: Any) -> Any:
        """A moved copy of a result; if the call wrote into its first argument, that argument moved."""
        engine = self.engine
        if result is None or (args and result is args[0]):
            if by is not None:
                with engine.no_grad():
                    args[0].add_(self._like(args[0], by))
            return result
        start = 0

        def moved(value: Any) -> Any:
            nonlocal start
            row = floats_of(value)
            part = None if by is None else by[start : start + row.size]
            start += row.size
            if not row.size:
                return value
            if hasattr(value, "requires_grad"):
                copy = value.detach().clone() if not value.requires_grad else value
                if part is None:
                    return copy
                if not (copy.is_floating_point() or copy.is_complex()):
                    return self._like(copy, row + part)
                return copy + self._like(copy, part)
            if isinstance(value, np.ndarray):
                return value.copy() if part is None else _moved_array(value, part)
            if isinstance(value, bool) or part is None:
                return value
            return type(value)(value + part[0])

        return NESTS.mapped(result, moved)

    def _like(self, tensor: Any, row: Any) -> Any:
        row = np.array(row, np.float64)
        row = row.view(np.complex128) if tensor.is_complex() else row
        made = self.engine.from_numpy(row.reshape(tuple(tensor.shape)))
        return made.to(dtype=tensor.dtype, device=tensor.device)


def _moved_array(array: Any, part: Any) -> Any:
    return (array + part.reshape(array.shape)).astype(array.dtype)


class _Counter:
    """Numbers the calls passed to a mode, as a tape does."""

    def __init__(self, see: Callable[[int, Any, Any], Any]) -> None:
        self.see, self.ordinal = see, 0

    def __call__(self, function: Any, args: Any, kwargs: Any) -> Any:
        self.ordinal += 1
        ordinal = self.ordinal
        return self.see(ordinal, function(*args, **kwargs), args)
