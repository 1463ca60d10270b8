"""Shapes of products: of matrices, over chosen dimensions, and by Einstein summation."""

from __future__ import annotations

from typing import Any

import numpy as np

from .meta_array import MetaArray, new, plain


def product(a: Any, b: Any) -> MetaArray:
    """The shape of a matrix product."""
    x, y = np.shape(plain(a)), np.shape(plain(b))
    kind = np.result_type(a.dtype, b.dtype)
    left = (1, *x) if len(x) == 1 else x
    right = (*y, 1) if len(y) == 1 else y
    if left[-1] != right[-2]:
        raise ValueError(f"matmul: {x} and {y} cannot be multiplied")
    batch = np.broadcast_shapes(left[:-2], right[:-2])
    rows = () if len(x) == 1 else (left[-2],)
    columns = () if len(y) == 1 else (right[-1],)
    return new((*batch, *rows, *columns), kind)


def generalised(ufunc: Any, args: Any) -> MetaArray:
    """A function on inner dimensions (`vecdot`: `(n),(n)->()`), elementwise over the others."""
    inputs, _, output = ufunc.signature.partition("->")
    cores = [
        part.strip("()").split(",") if part.strip("()") else [] for part in inputs.split("),(")
    ]
    sizes: dict[str, int] = {}
    batches = []
    for core, given in zip(cores, args, strict=True):
        shape = np.shape(plain(given))
        batches.append(shape[: len(shape) - len(core)])
        sizes.update(zip(core, shape[len(shape) - len(core) :], strict=True))
    kept = tuple(sizes[letter] for letter in output.strip("()").split(",") if letter)
    kind = np.result_type(*(given.dtype for given in args))
    return new((*np.broadcast_shapes(*batches), *kept), kind)


def dot(a: Any, b: Any, out: Any = None) -> MetaArray:
    if np.ndim(plain(b)) <= 2:
        return product(a, b)
    return tensordot(a, b, axes=((np.ndim(plain(a)) - 1,), (np.ndim(plain(b)) - 2,)))


def tensordot(a: Any, b: Any, axes: Any = 2) -> MetaArray:
    x, y = np.shape(plain(a)), np.shape(plain(b))
    if isinstance(axes, int):
        axes = tuple(range(len(x) - axes, len(x))), tuple(range(axes))
    first, second = ([axes_ % n for axes_ in np.atleast_1d(given)]
                     for given, n in zip(axes, (len(x), len(y)), strict=True))  # fmt: skip
    kept = [n for d, n in enumerate(x) if d not in first] + [
        n for d, n in enumerate(y) if d not in second
    ]
    return new(tuple(kept), np.result_type(a.dtype, b.dtype))


def einsum(subscripts: Any, *operands: Any, **options: Any) -> MetaArray:
    if not isinstance(subscripts, str) or "..." in subscripts or "->" not in subscripts:
        from .rules import run

        return run(np.einsum, (subscripts, *operands), options)  # type: ignore[no-any-return]
    inputs, _, output = subscripts.replace(" ", "").partition("->")
    sizes: dict[str, int] = {}
    for letters, operand in zip(inputs.split(","), operands, strict=True):
        for letter, n in zip(letters, np.shape(plain(operand)), strict=True):
            sizes[letter] = n if sizes.get(letter, 1) == 1 else sizes[letter]
    kind = np.result_type(*(operand.dtype for operand in operands))
    return new(tuple(sizes[letter] for letter in output), kind)
