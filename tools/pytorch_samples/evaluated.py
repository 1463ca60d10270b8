"""One sample of an operation on one engine: its results, and the gradients of a weighted sum of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from tools.pytorch_suite.absent import Absent

from .carried import packed, unpacked

SEED = 11


class Incoming:
    """Gradients for the results of a sample, in sequence, the same on every engine."""

    def __init__(self, engine: Any, moved: float = 0.0) -> None:
        self._engine = engine
        self._moved = moved
        self._numbers = np.random.default_rng(SEED)

    def like(self, tensor: Any) -> Any:
        weights = self._numbers.uniform(0.5, 1.5, tuple(tensor.shape))
        if tensor.is_complex():
            weights = weights + 1j * self._numbers.uniform(-0.5, 0.5, tuple(tensor.shape))
        # Rounded to the narrowest dtype, so that all engines and dtypes receive the same numbers.
        rounded = np.round(weights * 16) / 16
        if self._moved:
            rounded = rounded * (1 + self._moved * self._numbers.choice([-1.0, 1.0], weights.shape))
        return self._engine.from_numpy(np.asarray(rounded)).to(tensor.dtype)


def evaluated(
    op: Any,
    sample: Any,
    engine: Any,
    *,
    wide: bool = False,
    process: Any = None,
    moved: float = 0.0,
) -> tuple[Any, Any]:
    """Results and gradients of a serialised sample `(input, args, kwargs)`, serialised.

    `moved` is how far, relative to themselves, incoming gradients are moved.
    """
    default = engine.get_default_dtype()
    if wide:  # integers become floats of the default dtype
        engine.set_default_dtype(engine.float64)
    try:
        return _evaluated(op, unpacked(sample, engine, wide=wide), engine, process, moved)
    finally:
        engine.set_default_dtype(default)


def _evaluated(op: Any, arguments: Any, engine: Any, process: Any, moved: float) -> tuple[Any, Any]:
    first, args, kwargs = arguments
    engine.manual_seed(SEED)
    leaves = [t for t in tensors((first, args, kwargs), engine) if t.requires_grad]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Makes inputs symmetric or triangular, where the operation reads only a part of them.
        call = op.gradcheck_wrapper if leaves else lambda function, *a, **k: function(*a, **k)
        result = call(op.get_op(), first, *args, **kwargs)
        if isinstance(result, Absent):
            raise LookupError(f"there is no {result.absent_name}")
        values = packed([t.detach() for t in tensors(result, engine)], engine)
        if not leaves:
            return values, None
        used = process(result) if process is not None else result
        incoming = Incoming(engine, moved)
        ends = [t for t in tensors(used, engine) if t.requires_grad]
        if not ends:
            return values, None
        weights = [incoming.like(t) for t in ends]
        gradients = engine.autograd.grad(ends, leaves, weights, allow_unused=True)
    return values, packed(list(gradients), engine)


def tensors(nest: Any, engine: Any) -> Iterator[Any]:
    if isinstance(nest, engine.Tensor):
        yield nest
    elif isinstance(nest, dict):
        for part in nest.values():
            yield from tensors(part, engine)
    elif isinstance(nest, tuple | list):
        for part in nest:
            yield from tensors(part, engine)
