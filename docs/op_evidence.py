"""What is known of an operation from running its samples, here and on PyTorch."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
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
            agreement=agreement(ours, theirs, samples) if runnable and theirs else "–",
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


class Maker:
    """Makes a sample's tensors on one engine, or takes those to differentiate from a given list."""

    def __init__(self, engine: str, dtype: str, given: Sequence[Any] | None = None) -> None:
        self._place = arrays.to_torch if engine == "torch" else arrays.to_tautograd
        self._dtype = dtype
        self._position = itertools.count()
        self._given = iter(given) if given is not None else None
        self.leaves: list[Any] = []

    def __call__(self, value: Any) -> Any:
        if isinstance(value, T):
            return self._tensor(value)
        if isinstance(value, (list, tuple)):
            return type(value)([self(part) for part in value])
        return value

    def _tensor(self, wanted: T) -> Any:
        array = arrays.array_for(wanted, self._dtype, next(self._position))
        if not wanted.grad or (wanted.dtype or self._dtype) not in arrays.DIFFERENTIABLE:
            return self._place(array)
        made = self._place(array, True) if self._given is None else next(self._given)
        self.leaves.append(made)
        return made


def call(function: Any, sample: Sample, make: Maker) -> Any:
    return function(
        *[make(value) for value in sample.args],
        **{name: make(value) for name, value in sample.kwargs.items()},
    )


def accepted_dtypes(function: Any, samples: list[Sample]) -> str:
    def runs(dtype: str) -> bool:
        try:
            call(function, samples[0], Maker("tautograd", dtype))
        except (RuntimeError, TypeError, NotImplementedError, ValueError):
            return False
        return True

    parts = []
    for letter, members in KINDS.items():
        able = [dtype for dtype in members if runs(dtype)]
        parts += [letter] if len(able) == len(members) else able
    return " ".join(parts)


def second_order(op: Op, function: Any, samples: list[Sample]) -> str:
    """Whether the gradient's gradient agrees with finite differences, on the first small sample."""
    if op.vjp is None:
        return "–"
    for sample in samples:
        make = Maker("tautograd", "float64")
        results = flat(call(function, sample, make))
        if sum(leaf.numel() for leaf in make.leaves) == 0:
            continue
        if not any(getattr(result, "requires_grad", False) for result in results):
            continue

        def differentiated(*leaves: Any, sample: Sample = sample) -> Any:
            outputs = flat(call(function, sample, Maker("tautograd", "float64", leaves)))
            return tuple(out for out in outputs if out.requires_grad)

        good = tautograd.autograd.gradgradcheck(differentiated, make.leaves, raise_exception=False)
        return "agrees" if good else "DISAGREES"
    return "–"


def agreement(ours: Any, theirs: Any, samples: list[Sample]) -> str:
    """The largest difference from PyTorch over all samples, values and gradients."""
    worst = 0.0
    for dtype, sample in itertools.product(("float32", "float64"), samples):
        their_make, our_make = Maker("torch", dtype), Maker("tautograd", dtype)
        try:
            expected = call(theirs, sample, their_make)
        except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError):
            continue  # a sample that PyTorch refuses in this dtype
        got = call(ours, sample, our_make)
        pairs = [
            *zip(flat(got), flat(expected), strict=True),
            *zip(
                gradients(tautograd, got, our_make.leaves),
                gradients(torch, expected, their_make.leaves),
                strict=True,
            ),
        ]
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
