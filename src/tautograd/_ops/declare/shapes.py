"""Shape arguments: `(2, 3)`, `((2, 3),)` or `size=`, a -1 inferred, wrong ones refused."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor


def ints(
    name: str, argument: str, values: tuple[Any, ...], given: dict[str, Any], place: int = 1
) -> tuple[int, ...]:
    """Integers given one by one, as one sequence, or by keyword (in `given`).

    `place` is the position of the argument, for errors.
    """
    if given:
        if given.keys() != {argument}:
            wrong = next(k for k in given if k != argument)
            raise TypeError(f"{name}() got an unexpected keyword argument '{wrong}'")
        if values:
            raise TypeError(f"{name}() got multiple values for argument '{argument}'")
        values = (given[argument],)
    elif not values:
        raise TypeError(f'{name}() missing 1 required positional arguments: "{argument}"')
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        values = tuple(values[0])
    for value in values:
        if type(value) is not int:
            return tuple([_int(name, argument, v, i, place) for i, v in enumerate(values)])
    return values


def _int(name: str, argument: str, value: Any, position: int, place: int) -> int:
    if type(value) is int:
        return value
    if not isinstance(value, (bool, np.ndarray)):
        try:
            return operator.index(value)
        except TypeError:
            pass
    if position == 0:
        raise TypeError(
            f"{name}(): argument '{argument}' (position {place}) must be tuple of ints, not "
            f"{type(value).__name__}"
        )
    raise TypeError(
        f"{name}(): argument '{argument}' failed to unpack the object at pos {position + 1} with "
        f'error "type must be tuple of ints,but got {type(value).__name__}"'
    )


def infer_shape(shape: tuple[int, ...], count: int) -> tuple[int, ...]:
    """The shape with its -1, if it has one, replaced so that it holds `count` elements."""
    known, unknown = 1, None
    for i, extent in enumerate(shape):
        if extent == -1:
            if unknown is not None:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        elif extent >= 0:
            known *= extent
        else:
            raise RuntimeError(
                f"invalid shape dimension {extent} at index {i} of shape {list(shape)}"
            )
    if unknown is None:
        if known != count:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")
        return shape
    if known == 0:
        if count:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous"
        )
    if count % known:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")
    return (*shape[:unknown], count // known, *shape[unknown + 1 :])


def tensor_list(name: str, tensors: Any, argument: str = "tensors") -> tuple[Tensor, ...]:
    """A sequence of tensors, checked."""
    if isinstance(tensors, Tensor) or not isinstance(tensors, Sequence):
        raise TypeError(
            f"{name}(): argument '{argument}' (position 1) must be tuple of Tensors, not "
            f"{type(tensors).__name__}"
        )
    require_all_tensors(tensors)
    return tuple(tensors)


def require_all_tensors(values: Any) -> None:
    """PyTorch's error for a sequence with something else in it."""
    for i, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {type(value).__name__}"
            )
