"""`torch.func`: Jacobians and Hessians (`jacrev`, `jacfwd`, `hessian`).

A whole basis is sent through at once, as a batch that the graph does not know of.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..._arrays.batching.batched import BatchedArray
from ..._tensor.tensor import Tensor, make
from ..._trees.nests import TUPLES_LISTS_DICTS as NESTS
from ..grad_mode import inference_mode
from ..modes import modes
from .arguments import Argnums, choose, refuse_complex, replaced, split_aux, tensors_returned
from .transforms import (
    fresh_alias,
    gradients_of,
    jvp,
    outer_graph,
    settled,
)
from .vmap import open_level, unbatch


def _basis(tensors: list[Tensor], start: int, stop: int) -> list[Any]:
    """Rows start…stop of the standard basis of all these tensors' entries together."""
    rows = []
    offset = 0
    for tensor in tensors:
        size = tensor._data.size
        block = np.zeros((stop - start, size), tensor._data.dtype)
        first, last = max(start, offset), min(stop, offset + size)
        if first < last:
            index = np.arange(first, last)
            block[index - start, index - offset] = 1
        rows.append(block.reshape(stop - start, *tensor._data.shape))
        offset += size
    return rows


def _chunks(total: int, chunk_size: int | None) -> list[tuple[int, int]]:
    step = max(total if chunk_size is None else int(chunk_size), 1)
    return [(s, min(s + step, total)) for s in range(0, total, step)]


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that returns the Jacobian of `func`, by reverse mode with all rows at once."""
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        recording = modes.grad
        with inference_mode(False):  # recording, also inside `inference_mode`
            chosen = NESTS.mapped(choose(args, argnums), fresh_alias)
            refuse_complex("jacrev", "inputs", NESTS.leaves(chosen))
            output = func(*replaced(args, argnums, chosen))
            aux = None
            if has_aux:
                output, aux = split_aux("vjp(f, *primals)", output)
            outputs, inputs = tensors_returned("vjp(f, *primals)", output), NESTS.leaves(chosen)
            refuse_complex("jacrev", "outputs", outputs)
            outer = recording and outer_graph(outputs, inputs)
            jacobians = rows_by_reverse(outputs, inputs, outer, chunk_size)
        result = _shape_jacobian(jacobians, output, outputs, chosen, inputs)
        return (result, NESTS.mapped(aux, settled)) if has_aux else result

    return wrapper


def rows_by_reverse(
    outputs: list[Tensor], inputs: list[Tensor], create: bool, chunk_size: int | None = None
) -> list[Tensor]:
    """For each input a tensor of (entries of all outputs, *shape of the input)."""
    from ..._ops.declare.public import FUNCTIONS

    total = sum(o._data.size for o in outputs)
    pieces = []
    for start, stop in _chunks(total, chunk_size):
        with open_level(stop - start) as level:
            cotangents = [make(BatchedArray(b, level.number)) for b in _basis(outputs, start, stop)]
            found = gradients_of(outputs, inputs, cotangents, create)
            pieces.append([unbatch(g, 0, level) for g in found])
    if not pieces:
        return [make(np.zeros_like(x._data, shape=(0, *x._data.shape))) for x in inputs]
    return [c[0] if len(c) == 1 else FUNCTIONS["cat"](list(c)) for c in zip(*pieces, strict=True)]


def _shape_jacobian(
    rows: list[Tensor], output: Any, outputs: list[Tensor], chosen: Any, inputs: list[Tensor]
) -> Any:
    """Nest Jacobians as PyTorch does: by output, then by input."""
    per_output = []
    offset = 0
    for o in outputs:
        size = o._data.size
        blocks = [
            r.narrow(0, offset, size).reshape((*o._data.shape, *x._data.shape))
            for r, x in zip(rows, inputs, strict=True)
        ]
        per_output.append(NESTS.filled(chosen, blocks))
        offset += size
    return per_output[0] if isinstance(output, Tensor) else _nest(output, per_output)


def _nest(tree: Any, values: list[Any]) -> Any:
    """A nest like `tree` with tuples for lists, and these values in it."""
    return _place(tree, iter(values))


def _place(tree: Any, rest: Iterator[Any]) -> Any:
    if isinstance(tree, dict):
        return {k: _place(v, rest) for k, v in tree.items()}
    if isinstance(tree, (list, tuple)):
        return tuple([_place(v, rest) for v in tree])
    return next(rest)


def jacfwd(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """A function that returns the Jacobian of `func`, by forward mode with all columns at once."""

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        chosen = choose(args, argnums)
        inputs = NESTS.leaves(chosen)
        refuse_complex("jacfwd", "inputs", inputs)
        total = sum(x._data.size for x in inputs)

        def along(*values: Any) -> Any:
            return func(*replaced(args, argnums, NESTS.filled(chosen, list(values))))

        with open_level(total, randomness) as level:
            tangents = tuple(make(BatchedArray(b, level.number)) for b in _basis(inputs, 0, total))
            found = jvp(along, tuple(inputs), tangents, has_aux=has_aux)
            refuse_complex("jacfwd", "outputs", NESTS.leaves(found[0]))
            columns = [unbatch(t, 0, level) for t in NESTS.leaves(found[1])]
        blocks: list[list[Any]] = [[] for _ in columns]
        offset = 0
        for x in inputs:
            size = x._data.size
            for block, column in zip(blocks, columns, strict=True):
                part = column.narrow(0, offset, size).movedim(0, -1)
                block.append(part.view((*column._data.shape[1:], *x._data.shape)))
            offset += size
        per_output = [NESTS.filled(chosen, block) for block in blocks]
        result = per_output[0] if isinstance(found[0], Tensor) else _nest(found[0], per_output)
        return (result, found[2]) if has_aux else result

    return wrapper


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that returns the Hessian of `func`: forward mode over reverse mode."""
    return jacfwd(jacrev(func, argnums), argnums)
