"""From records to calls: every sample of every record, as the same call on both engines.

`cases_of(op)` lists what to try; `Call(engine, op, sample, dtype)` is one of them on one engine.
Elementwise operations are tried on more than they ask for: extremes, ties, large integers, 0-dim,
empty, non-contiguous and broadcast inputs, derived from their first sample.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch

import tautograd
from tautograd._arrays.dtypes import DTYPE_NAMES
from tautograd._arrays.dtypes import dtype as tautograd_dtype
from tautograd._autograd import api
from tautograd._autograd.grad_mode import no_grad
from tautograd._autograd.transforms import vmap as _vmap  # noqa: F401  (declares records of its own)
from tautograd._ops import nn_families as _library  # noqa: F401  (declares records of its own)
from tautograd._ops.declare import public
from tautograd._ops.declare.record import INTERNAL, REGISTRY, Op
from tautograd._ops.declare.samples import Sample, T

from .arrays import DIFFERENTIABLE, array_for, from_torch, to_tautograd, to_torch
from .departures import FATAL_IN_PYTORCH
from .programs import PROGRAMS

# Records that make or undo a hidden batch dimension: no tensor that a user holds comes out of
# them, so `test_vmap` tests them by what `vmap` gives.
OF_VMAP = frozenset(("to_batched", "from_batched", "sum_batch", "show_batch"))
# A record that only a GPU's arrays come to; `tools/gpu/fast_paths.py` tests it there.
OF_GPUS = frozenset(("cross_entropy_of_many",))
# A record whose results have no elements: there is no value that could be wrong (`test_conv` runs it).
EMPTY = frozenset(("convolution_of_no_channels",))
# Records of sparse tensors, loaded by the first of those; `tests/sparse` tests them by what they give.
OF_SPARSE = frozenset(n for n in INTERNAL if n.startswith(("sparse_", "to_sparse")))
RECORDS = tuple(sorted({*REGISTRY, *INTERNAL} - OF_VMAP - OF_GPUS - EMPTY - OF_SPARSE))


def record(name: str) -> Op:
    """A record by its name, public or the engine's own."""
    return REGISTRY[name] if name in REGISTRY else INTERNAL[name]


@dataclass(frozen=True)
class Engine:
    """What the tests need of an engine, under one name for both."""

    name: str
    module: Any
    tensor: Callable[..., Any]
    array: Callable[[Any], np.ndarray]
    grad: Callable[..., Any]
    dtype: Callable[[str], Any]
    no_grad: Callable[[], Any]

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, self.module.Tensor)


TORCH = Engine(
    "torch", torch, to_torch, from_torch, torch.autograd.grad, torch.__dict__.get, torch.no_grad
)
TAUTOGRAD = Engine(
    "tautograd", tautograd, to_tautograd, lambda t: t._data, api.grad, DTYPE_NAMES.get, no_grad
)


def function(engine: Engine, name: str) -> Callable[..., Any]:
    """A public function by its dotted name: "add", "linalg.det", "Tensor.expand"."""
    *path, last = name.split(".")
    if engine is TAUTOGRAD and len(path) < 2:
        table = getattr(public, path[0].upper() if path else "FUNCTIONS", {})
        if last in table:
            return table[last]
    found: Any = engine.module
    for part in (*path, last):
        found = getattr(found, part)
    return found


def program_of(engine: Engine, op: Op) -> Callable[..., Any]:
    """What a record's samples are arguments of."""
    if op.name in PROGRAMS:
        return PROGRAMS[op.name][0](engine)
    fn = function(engine, op.public_name)
    return on_a_clone(fn) if op.public_name[-1] == "_" != op.public_name[-2] else fn


def on_a_clone(in_place: Callable[..., Any]) -> Callable[..., Any]:
    """An in-place method as a function that leaves its (leaf) argument alone."""
    return lambda x, *rest, **options: in_place(x.clone(), *rest, **options)


class Call:
    """One sample on one engine: the arguments as tensors, and the leaves among them."""

    def __init__(
        self,
        engine: Engine,
        op: Op,
        sample: Sample,
        dtype: str,
        grad: bool,
        widen: bool = False,
    ) -> None:
        self.engine, self.op, self.sample, self.dtype = engine, op, sample, dtype
        self.want_grad = grad
        self.widen = widen  # the same numbers in double precision
        self.nudge: Callable[[Any], Any] | None = None  # a change of every cotangent
        self.leaves: list[Any] = []
        self.tensors: list[Any] = []
        self.args = [self._made(a) for a in sample.args]
        self.kwargs = {k: self._made(v) for k, v in sample.kwargs.items()}

    def run(self, fn: Callable[..., Any] | None = None) -> Any:
        fn = program_of(self.engine, self.op) if fn is None else fn
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fn(*self.args, **self.kwargs)

    def _made(self, value: Any) -> Any:
        if isinstance(value, T):
            return self._tensor(value)
        if isinstance(value, tautograd_dtype):
            return self.engine.dtype(value.name)
        if isinstance(value, str) and value in DTYPE_NAMES:
            return self.engine.dtype(value)
        if isinstance(value, dict):
            return {k: self._made(v) for k, v in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self._made(v) for v in value)
        if isinstance(value, slice):
            return slice(*(self._made(v) for v in (value.start, value.stop, value.step)))
        return value

    def _tensor(self, t: T) -> Any:
        array = array_for(t, self.dtype, len(self.tensors))
        floats = self.op.promotion == "float" and array.dtype != bool  # integers become floats
        if self.widen and (floats or (t.dtype or self.dtype) in DIFFERENTIABLE):
            wide = np.complex128 if array.dtype.kind == "c" else np.float64
            array = array.astype(wide, copy=False)
        grad = self.want_grad and t.grad and (t.dtype or self.dtype) in DIFFERENTIABLE
        tensor = self.engine.tensor(array, grad)
        self.tensors.append(tensor)
        if grad:
            self.leaves.append(tensor)
        return tensor


# --- which samples -------------------------------------------------------------------------------


@cache
def samples_of(name: str) -> tuple[Sample, ...]:
    """A record's own samples."""
    op = record(name)
    given = PROGRAMS[name][1] if name in PROGRAMS else None
    if given is not None:
        return tuple(given)
    return tuple(op.samples()) if op.samples is not None else ()


@cache
def cases_of(name: str) -> tuple[tuple[str, Sample], ...]:
    """Labelled samples: the record's own, then what elementwise operations get on top."""
    own = [(f"sample{i}", s) for i, s in enumerate(samples_of(name))]
    return tuple(own + list(_derived(name)))


def is_elementwise(op: Op) -> bool:
    return op.promotion is not None and op.outputs == 1 and not op.variadic


def _derived(name: str) -> Iterator[tuple[str, Sample]]:
    op = record(name)
    if not samples_of(name):
        return
    if not is_elementwise(op):
        yield from _laid_out_otherwise(name)
        return
    first = max(samples_of(name), key=lambda s: len(list(tensors_in(s))))
    count = len(list(tensors_in(first)))
    if not count or any(t.dtype for t in tensors_in(first)):
        return
    for label, shapes, change in _VARIANTS:
        shapes = shapes[:count] if count <= 3 else shapes[:1] * count
        changes = [dict(change) for _ in range(count)]
        if change.get("kind") == "extremes" and name in FATAL_IN_PYTORCH:
            changes = [{**c, "kind": "extremes but the smallest"} for c in changes]
        yield label, changed(first, shapes, changes)
        if label == "extremes" and count > 1:
            # Zero in one place makes an integer division an error for all: so once without it.
            changes[1]["kind"] += " and no zero"
            yield "extremes by other than zero", changed(first, shapes, changes)


# A label, the shapes of up to three tensors, and what else is changed in them.
_VARIANTS: tuple[tuple[str, Any, dict[str, Any]], ...] = (
    ("extremes", ((64, 1), (1, 64), (1, 1)), {"kind": "extremes", "grad": False}),
    ("ties", ((4, 3), (4, 3), (4, 3)), {"kind": "ties", "grad": False}),
    ("0-dim", ((), (), ()), {}),
    ("0-dim with 2-dim", ((), (2, 2), ()), {}),
    ("empty", ((0, 2), (0, 2), (0, 2)), {}),
    ("broadcast", ((2, 1, 2), (3, 1), (2,)), {}),
    ("transposed", ((3, 2), (3, 2), (3, 2)), {"layout": "transposed"}),
    ("strided", ((3, 2), (3, 2), (3, 2)), {"layout": "strided"}),
    ("offset", ((3, 2), (3, 2), (3, 2)), {"layout": "offset"}),
    ("expanded", ((3, 2), (3, 2), (3, 2)), {"layout": "expanded"}),
)


def _laid_out_otherwise(name: str) -> Iterator[tuple[str, Sample]]:
    """The first sample of an operation that is not elementwise, in other layouts of memory."""
    samples = [s for s in samples_of(name) if any(len(t.shape) > 1 for t in tensors_in(s))]
    for sample in (samples or list(samples_of(name)))[:1]:
        tensors = list(tensors_in(sample))
        for layout in ("transposed", "strided", "offset"):
            changes = [{"layout": layout} for _ in tensors]
            yield layout, changed(sample, [t.shape for t in tensors], changes)


def tensors_in(value: Any) -> Iterator[T]:
    """Every `T` in a sample, in order."""
    if isinstance(value, T):
        yield value
    elif isinstance(value, Sample):
        yield from tensors_in(value.args)
        yield from tensors_in(value.kwargs)
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from tensors_in(v)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def changed(sample: Sample, shapes: Any, changes: list[dict[str, Any]]) -> Sample:
    """A sample with each of its tensors in another shape and otherwise changed."""
    left = list(zip(shapes, changes, strict=True))

    def replace(value: Any) -> Any:
        if isinstance(value, T):
            shape, change = left.pop(0)
            return altered(value, shape, **change)
        if isinstance(value, (list, tuple)):
            return type(value)(replace(v) for v in value)
        if isinstance(value, dict):
            return {k: replace(v) for k, v in value.items()}
        return value

    args = [replace(a) for a in sample.args]
    return Sample(*args, **{k: replace(v) for k, v in sample.kwargs.items()})


def altered(t: T, shape: tuple[int, ...], **change: Any) -> T:
    kept = {n: getattr(t, n) for n in ("low", "high", "dtype", "grad", "layout", "kind", "seed")}
    return T(*shape, **{**kept, **change})
