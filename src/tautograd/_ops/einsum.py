"""Einstein summation: an equation such as `"bij,bjk->bik"`, carried out as batched matrix products.

Each operand is laid out with one dimension per subscript, the output's first and then those that are
summed, size one where it has none. Two operands are contracted by one `bmm`: subscripts both have and
the output keeps are its batch, those that are summed its inner dimension. More operands are taken
from the left, two at a time.
"""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from .._autograd.lifted import counterpart
from .._tensor.tensor import Tensor
from .permutations import movedim, permute_to
from .products import bmm
from .public import public
from .views import reshape_to, unsqueeze, view_to

LABELS = ascii_uppercase + ascii_lowercase
ELLIPSIS = "..."


@public(method=False, out=False)
def einsum(*args: Any) -> Tensor:
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
        equation, operands = _from_lists(args)
    else:
        equation, operands = args[0], args[1:]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        return einsum(equation, *operands[0])
    for i, operand in enumerate(operands):
        if not isinstance(operand, Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 1, but got {type(operand).__name__}"
            )
    inputs, output = _parse(equation, len(operands))
    inputs = [
        _spread(s, x._data.ndim, i) for i, (s, x) in enumerate(zip(inputs, operands, strict=True))
    ]
    ellipsis = max((sum(type(s) is int for s in labels) for labels in inputs), default=0)
    # The ellipsis of an operand with fewer dimensions stands for the last of them.
    inputs = [_align(labels, ellipsis) for labels in inputs]
    order, kept = _order(inputs, output, ellipsis)
    sizes: dict[Any, int] = {}
    laid_out = [
        _lay_out(x, labels, order, sizes, i)
        for i, (x, labels) in enumerate(zip(operands, inputs, strict=True))
    ]
    return _contract(laid_out, kept)


def _from_lists(args: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """The equation that subscripts given as numbers stand for."""

    def spell(subscripts: Any) -> str:
        text = ""
        for s in subscripts:
            if s is Ellipsis:
                text += ELLIPSIS
            elif s >= 0 and s < len(LABELS):
                text += LABELS[s]
            else:
                raise ValueError(
                    "einsum(): subscript in subscript list is not within the valid range [0, 52)"
                )
        return text

    equation = ",".join(spell(s) for s in args[1::2])
    operands = args[0::2]
    if len(args) % 2:
        equation += "->" + spell(args[-1])
        operands = args[:-1:2]
    return equation, operands


# --- the equation -----------------------------------------------------------------------------------


def _parse(equation: str, count: int) -> tuple[list[list[Any]], list[Any] | None]:
    """Subscripts of each operand and of the output (None if the equation leaves it open)."""
    left, arrow, right = equation.partition("->")
    inputs: list[list[Any]] = [[]]
    position = 0
    while position < len(left):
        char = left[position]
        labels = inputs[-1]
        if char == ".":
            if ELLIPSIS in labels:
                raise RuntimeError(
                    f"einsum(): found '.' for operand {len(inputs) - 1} for which an ellipsis was "
                    "already found"
                )
            if left[position : position + 3] != ELLIPSIS:
                raise RuntimeError(
                    f"einsum(): found '.' for operand {len(inputs) - 1} that is not part of any ellipsis"
                )
            labels.append(ELLIPSIS)
            position += 2
        elif char == ",":
            inputs.append([])
            if len(inputs) > count:
                raise RuntimeError(
                    "einsum(): fewer operands were provided than specified in the equation"
                )
        elif char != " ":
            _check_label(char, position)
            labels.append(char)
        position += 1
    if len(inputs) < count:
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    return inputs, _parse_output(right, len(left) + 2, inputs) if arrow else None


def _parse_output(text: str, start: int, inputs: list[list[Any]]) -> list[Any]:
    output: list[Any] = []
    position = 0
    while position < len(text):
        char = text[position]
        if char == ".":
            if ELLIPSIS in output:
                raise RuntimeError(
                    "einsum(): found '.' for output but an ellipsis (...) was already found"
                )
            if text[position : position + 3] != ELLIPSIS:
                raise RuntimeError(
                    "einsum(): found '.' for output that is not part of any ellipsis (...)"
                )
            output.append(ELLIPSIS)
            position += 2
        elif char != " ":
            _check_label(char, start + position)
            if char in output:
                raise RuntimeError(
                    f"einsum(): output subscript {char} appears more than once in the output"
                )
            if not any(char in labels for labels in inputs):
                raise RuntimeError(
                    f"einsum(): output subscript {char} does not appear in the equation for any input "
                    "operand"
                )
            output.append(char)
        position += 1
    return output


def _check_label(char: str, position: int) -> None:
    if char not in LABELS:
        raise RuntimeError(
            f"einsum(): invalid subscript given at index {position} in the equation string, "
            "subscripts must be in [a-zA-Z]"
        )


def _spread(labels: list[Any], ndim: int, operand: int) -> list[Any]:
    """Subscripts with the ellipsis replaced by one number per dimension it stands for."""
    if ELLIPSIS not in labels:
        if len(labels) != ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(labels)}) does not match the "
                f"number of dimensions ({ndim}) for operand {operand} and no ellipsis was given"
            )
        return labels
    at, rest = labels.index(ELLIPSIS), len(labels) - 1
    if rest > ndim:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({rest}) is more than the number of "
            f"dimensions ({ndim}) for operand {operand}"
        )
    return [*labels[:at], *range(ndim - rest), *labels[at + 1 :]]


def _align(labels: list[Any], ellipsis: int) -> list[Any]:
    missing = ellipsis - sum(type(s) is int for s in labels)
    return [s + missing if type(s) is int else s for s in labels]


def _order(
    inputs: list[list[Any]], output: list[Any] | None, ellipsis: int
) -> tuple[list[Any], int]:
    """All subscripts, the output's first, and how many those are."""
    dots = list(range(ellipsis))
    every = sorted({s for labels in inputs for s in labels if type(s) is not int}, key=LABELS.index)
    if output is None:
        counts = [s for labels in inputs for s in labels]
        order = dots + [s for s in every if counts.count(s) == 1]
    else:
        order = []
        for s in output:
            order.extend(dots if s == ELLIPSIS else [s])
    rest = [s for s in (*dots, *every) if s not in order]
    return order + rest, len(order)


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


# --- the contraction --------------------------------------------------------------------------------


def _contract(operands: list[Any], kept: int) -> Tensor:
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
        return _as_any(result).sum(tuple(range(kept, ndim)))
    return result  # type: ignore[no-any-return]


def _as_any(x: Any) -> Any:
    return x


def _pair(left: Any, right: Any, summed: list[int]) -> Any:
    """Multiply two operands laid out alike and sum these dimensions (left as ones)."""
    if not summed:
        return left * right
    shapes = left._data.shape, right._data.shape
    ndim = len(shapes[0])
    batch, mine, theirs = [], [], []
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
def _np_einsum(equation: str, *operands: Tensor, optimize: Any = False) -> Tensor:
    return einsum(equation, *operands)
