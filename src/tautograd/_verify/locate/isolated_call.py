"""One recorded call in isolation, as a function of a flat row of numbers.

The row holds the call's differentiable tensors as they were when it was called. The call can be run at
other values of them, and its own backward gives gradients, independent of the rest of the program, in
its own precision or in float64. `Backward` is the call's backward, as a function of the inputs and of
the incoming gradient; its derivative is checked for second order.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from ..._stand_ins.silence import without_warnings
from ..._trees.nests import WITH_DATACLASSES as NESTS
from ..subject.engines import as_reals, as_tensors, reals_in
from ..subject.intent import moved
from ..subject.time_limit import in_time
from .tape import Call, Slot

_WIDE = {
    **dict.fromkeys(("float16", "bfloat16", "float32"), "float64"),
    **dict.fromkeys(("complex32", "complex64"), "complex128"),
}


class Isolated:
    """A call's function and its engine's gradient of it, on float64 rows."""

    order = 1

    def __init__(self, engine: Any, call: Call, double: bool) -> None:
        self.engine, self.call, self.double = engine, call, double
        everything = call.checkpointed or not any(call.wanted)
        self.variables = [
            i
            for i, t in enumerate(call.copies)
            if (t.is_floating_point() or t.is_complex()) and (call.wanted[i] or everything)
        ]
        self._constants = [self._cast(t) for t in call.copies]
        self._args, self._kwargs = call.args, call.kwargs
        if double:
            self._args, self._kwargs = NESTS.mapped((call.args, call.kwargs), self._wide_dtype)
        self._sizes = [reals_in(call.copies[i]) for i in self.variables]
        self._starts = np.cumsum([0, *self._sizes])
        parts = [as_reals(call.copies[i]) for i in self.variables]
        self.x = np.concatenate(parts) if parts else np.zeros(0)
        self.inputs = self.x.size  # whatever follows in the row is linear
        self.y, self.live = self._first_run()

    # --- numbers and tensors -------------------------------------------------------------------

    def _cast(self, tensor: Any) -> Any:
        wide = _WIDE.get(str(tensor.dtype).rpartition(".")[2]) if self.double else None
        return tensor if wide is None else tensor.to(getattr(self.engine, wide))

    def _wide_dtype(self, value: Any) -> Any:
        if isinstance(value, np.dtype):
            return np.dtype(_WIDE[value.name]) if value.name in _WIDE else value
        if isinstance(value, self.engine.dtype):
            wide = _WIDE.get(str(value).rpartition(".")[2])
            return value if wide is None else getattr(self.engine, wide)
        return value

    @property
    def epsilon(self) -> float:
        """The precision of the dtype it computes in."""
        dtypes = [self._constants[i].dtype for i in self.variables]
        if self.call.autocast is not None and not self.double:
            dtypes.append(self.call.autocast)
        return max([float(self.engine.finfo(d).eps) for d in dtypes], default=2.0**-52)

    def place(self, number: int) -> tuple[str, tuple[int, ...]]:
        """The input that holds a number of the row, and the index in it."""
        which = int(np.searchsorted(self._starts, number, side="right")) - 1
        tensor = self.call.copies[self.variables[which]]
        flat = (number - self._starts[which]) // (2 if tensor.is_complex() else 1)
        index = np.unravel_index(int(flat), tuple(tensor.shape))
        return self.input_name(self.variables[which]), tuple(int(i) for i in index)

    def input_name(self, slot: int) -> str:
        """An input's name, by its place among the tensors of the call."""
        return f"input {slot}"

    def spans(self) -> list[slice]:
        """The slice of the row for each input."""
        return [slice(a, b) for a, b in zip(self._starts[:-1], self._starts[1:], strict=True)]

    def _tensors(self, row: Any) -> list[Any]:
        """The variables, with values from a row."""
        found = []
        for slot, span in zip(self.variables, self.spans(), strict=True):
            like = self._constants[slot]
            part = np.array(row[span], np.float64)
            if like.is_complex():
                part = part.view(np.complex128)
            made = self.engine.from_numpy(part.reshape(tuple(like.shape)))
            made = made.to(dtype=like.dtype, device=like.device)
            if made.stride() != like.stride() and like.numel():
                made = _laid_out(self.engine, made, like)
            found.append(made)
        return found

    def plain_leaves(self) -> list[Any]:
        """The variables with the call's values, each contiguous in memory of its own."""
        return [t.detach().contiguous().clone() for t in self._tensors(self.x)]

    # --- running -------------------------------------------------------------------------------

    def outputs_from(self, leaves: Sequence[Any]) -> list[Any]:
        """What the call gives for these variables, recorded as they are passed."""
        return self._run(leaves)

    def _run(self, tensors: Sequence[Any]) -> list[Any]:
        """The floating-point tensors that the call returns or modifies."""
        values = list(self._constants)
        for slot, tensor in zip(self.variables, tensors, strict=True):
            values[slot] = tensor
        for slot in self.call.changed:
            values[slot] = values[slot].clone()
        args, kwargs = NESTS.mapped(
            (self._args, self._kwargs),
            lambda value: values[value.number] if isinstance(value, Slot) else value,
        )
        if self.call.random_state is not None:
            self.engine.set_rng_state(self.call.random_state)
        lower = None if self.double else self.call.autocast
        casting = nullcontext() if lower is None else self.engine.autocast("cpu", dtype=lower)
        with without_warnings, casting:
            kind = f"call of {self.call.name}"
            result = in_time(kind, 1.0, lambda: self.call.function(*args, **kwargs))
        given = {id(v) for v in values}
        found = {id(v): v for v in NESTS.leaves(result) if isinstance(v, self.engine.Tensor)}
        found = {key: v for key, v in found.items() if key not in given}
        found |= {id(values[slot]): values[slot] for slot in self.call.changed}
        return [v for v in found.values() if v.is_floating_point() or v.is_complex()]

    def _meant(self, tensors: Sequence[Any]) -> list[Any]:
        """The outputs there, with the intended slope where it is not the derivative."""
        stand_in = self.call.meant
        if stand_in is None:
            return self._run(tensors)
        given = self._run(self._tensors(self.x))

        def anew(*args: Any, **kwargs: Any) -> Any:  # it may return its own input
            return NESTS.mapped(
                stand_in(*args, **kwargs),
                lambda v: v * 1 if isinstance(v, self.engine.Tensor) else v,
            )

        itself, self.call = self.call, replace(self.call, function=anew)
        try:
            there, here = self._run(tensors), self._run(self._tensors(self.x))
        finally:
            self.call = itself
        return list(moved(given, there, here))

    def _first_run(self) -> tuple[Any, Any]:
        """The values of the recorded outputs, and which outputs those are."""
        _, outputs = self._recorded(self.x)
        live = [i for i, out in enumerate(outputs) if out.requires_grad]
        parts = [as_reals(outputs[i]) for i in live]
        return (np.concatenate(parts) if parts else np.zeros(0)), live

    def _recorded(self, row: Any) -> tuple[list[Any], list[Any]]:
        leaves = [t.detach().requires_grad_() for t in self._tensors(row)]
        with self.engine.enable_grad():
            return leaves, self._run(leaves)

    def values(self, points: Any) -> Any:
        """Map (k, n) points to the (k, m) numbers of the outputs."""
        rows = []
        with self.engine.no_grad():
            for point in points:
                outputs = self._meant(self._tensors(point))
                parts = [as_reals(outputs[i]) for i in self.live]
                rows.append(np.concatenate(parts))
        return np.array(rows).reshape(len(points), self.y.size)

    def gradients(self, row: Any, cotangents: Any) -> Any:
        """For each cotangent of the outputs, the gradient of the variables."""
        leaves, outputs = self._recorded(row)
        return np.array(
            [
                self._flat(self._pull_back(leaves, outputs, c, retain_graph=True), leaves)
                for c in cotangents
            ]
        ).reshape(len(cotangents), self.x.size)

    def _pull_back(self, leaves: Any, outputs: Any, cotangent: Any, **options: Any) -> Any:
        live = [outputs[i] for i in self.live]
        parts = self._split(cotangent, live)
        with without_warnings:
            return self.engine.autograd.grad(live, leaves, parts, allow_unused=True, **options)

    def _flat(self, gradients: Any, leaves: Any) -> Any:
        parts = [
            np.zeros(reals_in(leaf)) if g is None else as_reals(g)
            for g, leaf in zip(gradients, leaves, strict=True)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _split(self, row: Any, like: Sequence[Any]) -> list[Any]:
        """Split a row of numbers into tensors like these."""
        if not isinstance(row, np.ndarray):
            return list(row)
        return as_tensors(self.engine, row, like)


class Backward(Isolated):
    """A call's backward: the gradient of its variables, as a function of them and of what arrives."""

    order = 2

    def __init__(self, engine: Any, call: Call, double: bool, seed: int = 0) -> None:
        super().__init__(engine, call, double)
        arriving = np.random.default_rng(seed).uniform(0.5, 1.5, self.y.size)
        arriving *= np.random.default_rng(seed + 1).choice([-1.0, 1.0], self.y.size)
        self._first = self.x
        self.x = np.concatenate([self.x, arriving])
        self.y = self.values(self.x[None])[0]

    def place(self, number: int) -> tuple[str, tuple[int, ...]]:
        if number < self.inputs:
            return super().place(number)
        return "gradient of the output", (number - self.inputs,)

    def values(self, points: Any) -> Any:
        rows = []
        for point in points:
            leaves, outputs = self._recorded(point[: self.inputs])
            rows.append(self._flat(self._pull_back(leaves, outputs, point[self.inputs :]), leaves))
        return np.array(rows).reshape(len(points), self.inputs)

    def gradients(self, row: Any, cotangents: Any) -> Any:
        leaves, outputs = self._recorded(row[: self.inputs])
        arriving = self._split(row[self.inputs :], [outputs[i] for i in self.live])
        arriving = [g.requires_grad_() for g in arriving]
        first = self._pull_back(leaves, outputs, arriving, create_graph=True)
        variables = [*leaves, *arriving]
        live = [i for i, g in enumerate(first) if g is not None and g.requires_grad]
        rows = []
        for cotangent in cotangents:
            parts = self._split(cotangent, leaves)
            found = [None] * len(variables)
            if live:
                with without_warnings:
                    found = self.engine.autograd.grad(
                        [first[i] for i in live],
                        variables,
                        [parts[i] for i in live],
                        retain_graph=True,
                        allow_unused=True,
                    )
            rows.append(self._flat(found, variables))
        return np.array(rows).reshape(len(cotangents), row.size)


def _laid_out(engine: Any, tensor: Any, like: Any) -> Any:
    """The same values in the memory layout of another tensor, if that has no overlap."""
    strides = like.stride()
    dense = sorted((s, n) for s, n in zip(strides, like.shape, strict=True) if n > 1)
    expected = 1
    for stride, extent in dense:
        if stride != expected:
            return tensor
        expected *= extent
    made = engine.empty_strided(tuple(like.shape), strides, dtype=like.dtype, device=like.device)
    made.copy_(tensor)
    return made
