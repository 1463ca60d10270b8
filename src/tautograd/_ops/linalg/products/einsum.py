"""Einstein summation: an equation such as `"bij,bjk->bik"`, carried out as batched matrix products.

Each operand is laid out with one dimension per subscript, the output's first and then those that
are summed, size one where it has none. Two operands are contracted by one `bmm`: subscripts both
have and the output keeps are its batch, those that are summed its inner dimension. More operands
are taken from the left, two at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._autograd.lifted import counterpart
from ...._tensor.tensor import Tensor
from ...declare.public import public
from ...shape.permutations import movedim, permute_to
from ...shape.squeeze import unsqueeze
from ...shape.views import reshape_to, view_to
from .blas import bmm
from .subscripts import align, from_lists, order_of, parse, spread


@public(method=False, out=False)
def einsum(*args: Any) -> Any:
    """The sum over repeated subscripts of the products of the operands' elements.

    `einsum("ij,jk->ik", a, b)`, or with subscripts as lists of numbers:
    `einsum(a, [0, 1], b, [1, 2], [0, 2])`.
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    if isinstance(args[0], Tensor):
        equation, operands = from_lists(args)
    else:
        equation, operands = args[0], args[1:]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        return einsum(equation, *operands[0])
    for i, operand in enumerate(operands):
        if not isinstance(operand, Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 1, but got {type(operand).__name__}"
            )
    inputs, output = parse(equation, len(operands))
    inputs = [
        spread(s, x._data.ndim, i) for i, (s, x) in enumerate(zip(inputs, operands, strict=True))
    ]
    ellipsis = max((sum(type(s) is int for s in labels) for labels in inputs), default=0)
    # The ellipsis of an operand with fewer dimensions stands for the last of them.
    inputs = [align(labels, ellipsis) for labels in inputs]
    order, kept = order_of(inputs, output, ellipsis)
    sizes: dict[Any, int] = {}
    laid_out = [
        _lay_out(x, labels, order, sizes, i)
        for i, (x, labels) in enumerate(zip(operands, inputs, strict=True))
    ]
    return _contract(laid_out, kept)


def _lay_out(
    x: Any, labels: list[Any], order: list[Any], sizes: dict[Any, int], operand: int
) -> Tensor:
    """The operand with one dimension per subscript, in order."""
    present: list[Any] = []
    for label in labels:
        dim = len(present)
        extent = x._data.shape[dim]
        if label in present:
            first = present.index(label)
            if x._data.shape[first] != extent:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {operand} but the sizes "
                    f"don't match, {extent} != {x._data.shape[first]}"
                )
            x = movedim(x.diagonal(0, first, dim), -1, first)
        else:
            present.append(label)
    for label, extent in zip(present, x._data.shape, strict=True):
        known = sizes.get(label, 1)
        if extent != known and 1 not in (extent, known):
            what = "dimension" if type(label) is int else "subscript"
            raise RuntimeError(
                f"einsum(): {what} {label} has size {extent} for operand {operand} which does not "
                f"broadcast with previously seen size {known}"
            )
        sizes[label] = extent if known == 1 else known
    for label in order:
        if label not in present:
            x = unsqueeze(x, -1)
            present.append(label)
    return permute_to(x, tuple([present.index(label) for label in order]))


# --- the contraction -----------------------------------------------------------------------------


def _contract(operands: list[Any], kept: int) -> Any:
    """Multiply from the left, summing each dimension as soon as no later operand has it."""
    result = operands[0]
    ndim = result._data.ndim
    holders = [sum(x._data.shape[d] != 1 for x in operands) for d in range(ndim)]
    for other in operands[1:]:
        both: list[int] = []
        alone: tuple[list[int], list[int]] = ([], [])
        for dim in range(kept, ndim):
            mine, theirs = result._data.shape[dim] != 1, other._data.shape[dim] != 1
            if mine and theirs:
                holders[dim] -= 1
                if holders[dim] == 1:
                    both.append(dim)
                    holders[dim] = 0
            elif holders[dim] == 1 and (mine or theirs):
                alone[0 if mine else 1].append(dim)
                holders[dim] = 0
        if alone[0]:
            result = result.sum(alone[0], keepdim=True)
        if alone[1]:
            other = other.sum(alone[1], keepdim=True)
        result = _pair(result, other, both)
    if ndim > kept:
        if len(operands) > 1:
            return view_to(result, result._data.shape[:kept])
        return result.sum(tuple(range(kept, ndim)))
    return result


def _pair(left: Any, right: Any, summed: list[int]) -> Any:
    """Multiply two operands laid out alike and sum these dimensions (left as ones)."""
    if not summed:
        return left * right
    shapes = left._data.shape, right._data.shape
    ndim = len(shapes[0])
    batch: list[int] = []
    mine: list[int] = []
    theirs: list[int] = []
    for dim in range(ndim):
        if dim not in summed:
            a, b = shapes[0][dim] != 1, shapes[1][dim] != 1
            (batch if a == b else mine if a else theirs).append(dim)
    batch = [d for d in batch if shapes[0][d] != 1] + [d for d in batch if shapes[0][d] == 1]
    if mine and theirs and theirs[-1] < mine[0]:
        # The product comes out with the output's dimensions in order.
        left, right, mine, theirs, shapes = right, left, theirs, mine, shapes[::-1]

    def extent(dims: list[int], which: int) -> int:
        total = 1
        for d in dims:
            total *= shapes[which][d]
        return total

    b, m, n, k = extent(batch, 0), extent(mine, 0), extent(theirs, 1), extent(summed, 0)
    x = reshape_to(permute_to(left, (*batch, *mine, *summed, *theirs)), (b, m, k))
    y = reshape_to(permute_to(right, (*batch, *summed, *theirs, *mine)), (b, k, n))
    product = bmm(x, y)
    order = (*batch, *mine, *summed, *theirs)
    full = (
        [shapes[0][d] for d in (*batch, *mine)] + [1] * len(summed) + [shapes[1][d] for d in theirs]
    )
    spread = view_to(product, tuple(full))
    return permute_to(spread, tuple([order.index(d) for d in range(ndim)]))


@counterpart(np.einsum)
def _np_einsum(equation: str, *operands: Tensor, optimize: Any = False) -> Any:
    return einsum(equation, *operands)
