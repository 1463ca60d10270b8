"""What is known of an operation from running its samples, here and on PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import tautograd
from tautograd._ops.record import Op
from tautograd._ops.samples import Sample, T
from tests.ops import arrays

KINDS = {
    "f": ("float16", "bfloat16", "float32", "float64"),
    "c": ("complex64", "complex128"),
    "i": ("int8", "int16", "int32", "int64", "uint8"),
    "b": ("bool",),
}


@dataclass(frozen=True)
class Evidence:
    """A row of the table."""

    name: str
    node: str
    dtypes: str
    first: tuple[str, ...]
    second: str
    forward: str
    agreement: str


def evidence_for(op: Op) -> Evidence:
    samples = list(op.samples()) if op.samples is not None else []
    ours, theirs = resolve(tautograd, op), resolve(torch, op)
    runnable = bool(samples) and ours is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Evidence(
            name=op.public_name,
            node=op.node_name,
            dtypes=accepted_dtypes(ours, samples) if runnable else "",
            first=differentiable_inputs(op),
            second=second_order(op, ours, samples) if runnable else "–",
            forward="yes" if op.jvp is not None else "–",
            agreement=agreement(op, ours, theirs, samples) if runnable and theirs else "–",
        )


def resolve(engine: Any, op: Op) -> Any:
    """The public function an operation is called by: `torch.x`, `torch.linalg.x` or `Tensor.x`."""
    for root in (engine, engine.Tensor):
        found = root
        for part in op.public_name.split("."):
            found = getattr(found, part, None)
        if found is not None:
            return found
    return None


def differentiable_inputs(op: Op) -> tuple[str, ...]:
    if op.vjp is None:
        return ()
    if op.joint:
        return op.inputs
    return tuple(name for name, rule in zip(op.inputs, op.vjp, strict=True) if rule is not None)


# ---- running a sample ----------------------------------------------------------------------------


def build(value: Any, dtype: str, engine: str, counter: Iterator[int], leaves: list[Any]) -> Any:
    """A sample's argument with every `T` in it made into a tensor; those to differentiate noted."""
    if isinstance(value, T):
        array = arrays.array_for(value, dtype, next(counter))
        grad = value.grad and array.dtype.kind in "fc"
        made = (arrays.to_torch if engine == "torch" else arrays.to_tautograd)(array, grad)
        if grad:
            leaves.append(made)
        return made
    if isinstance(value, (list, tuple)):
        return type(value)([build(v, dtype, engine, counter, leaves) for v in value])
    return value


def call(function: Any, sample: Sample, dtype: str, engine: str) -> tuple[Any, list[Any]]:
    import itertools

    leaves: list[Any] = []
    counter = itertools.count()
    args = [build(a, dtype, engine, counter, leaves) for a in sample.args]
    kwargs = {k: build(v, dtype, engine, counter, leaves) for k, v in sample.kwargs.items()}
    return function(*args, **kwargs), leaves


def accepted_dtypes(function: Any, samples: list[Sample]) -> str:
    def runs(dtype: str) -> bool:
        try:
            call(function, samples[0], dtype, "tautograd")
        except (RuntimeError, TypeError, NotImplementedError, ValueError):
            return False
        return True

    parts = []
    for letter, members in KINDS.items():
        able = [dtype for dtype in members if runs(dtype)]
        parts += [letter] if len(able) == len(members) else able
    return " ".join(parts)


def second_order(op: Op, function: Any, samples: list[Sample]) -> str:
    return "–"


def agreement(op: Op, ours: Any, theirs: Any, samples: list[Sample]) -> str:
    """The largest difference over all samples, or what stood in the way of comparing."""
    worst = 0.0
    for dtype in ("float32", "float64"):
        for sample in samples:
            try:
                expected, their_leaves = call(theirs, sample, dtype, "torch")
            except Exception:
                continue
            got, our_leaves = call(ours, sample, dtype, "tautograd")
            for a, b in zip(flat(got), flat(expected), strict=True):
                worst = max(worst, difference(a, b))
            if our_leaves and their_leaves:
                pairs = zip(
                    gradients(tautograd, got, our_leaves),
                    gradients(torch, expected, their_leaves),
                    strict=True,
                )
                worst = max([worst, *(difference(a, b) for a, b in pairs)])
    return "exact" if worst == 0 else f"{worst:.1f} ε"


def flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in flat(part)]
    return [value]


def gradients(engine: Any, result: Any, leaves: list[Any]) -> list[Any]:
    outputs = [t for t in flat(result) if getattr(t, "requires_grad", False)]
    if not outputs:
        return []
    weights = [engine.ones_like(t) for t in outputs]
    found = engine.autograd.grad(outputs, leaves, weights, allow_unused=True)
    return [g for g in found if g is not None]


def difference(ours: Any, theirs: Any) -> float:
    """In units of the dtype's precision, at the size of the largest element."""
    a = np.asarray(ours.detach().numpy() if isinstance(ours, tautograd.Tensor) else ours)
    b = np.asarray(arrays.from_torch(theirs) if isinstance(theirs, torch.Tensor) else theirs)
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    if a.dtype.kind not in "fc":
        return 0.0 if np.array_equal(a, b) else float("inf")
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    if not finite.any():
        return 0.0
    size = np.abs(b[finite]).max()
    gap = np.abs(a[finite] - b[finite]).max()
    return float(gap / (np.finfo(a.dtype).eps * size)) if gap else 0.0
