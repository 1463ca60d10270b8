"""Dimension arguments: negative ones wrapped, wrong ones refused with PyTorch's errors."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from .wrong_argument import WrongArgument

# Functions of several signatures: PyTorch says only that no signature fits the arguments.
OVERLOADED = frozenset(
    ("all", "any", "argsort", "count_nonzero", "max", "mean", "min", "nanquantile", "narrow",
     "prod", "quantile", "sort", "squeeze", "std", "std_mean", "sum", "var", "var_mean")
)  # fmt: skip


def wrap_dim(dim: Any, ndim: int, name: str | None = None, argument: str = "dim") -> int:
    """A dimension counted from the front; a 0-dim tensor has one dimension to name, 0 or -1.

    `name` is the function that asks, for the error about an argument that is no integer.
    """
    if type(dim) is not int:
        dim = require_int(dim, name, argument)
    extent = ndim or 1
    if -extent <= dim < extent:
        wrapped: int = dim if dim >= 0 else dim + extent
        return wrapped
    raise IndexError(
        f"Dimension out of range (expected to be in range of [{-extent}, {extent - 1}], "
        f"but got {dim})"
    )


def wrap_dims(
    dim: Any, ndim: int, name: str | None = None, argument: str = "dim"
) -> tuple[int, ...]:
    """The dimensions meant by an int, a sequence of ints, or None (all of them).

    An empty sequence stays empty: whether it means "all" or "none" is the operation's business.
    """
    if type(dim) is int:
        return (wrap_dim(dim, ndim),)
    if dim is None:
        return tuple(range(ndim))
    if not isinstance(dim, Sequence) or isinstance(dim, str):
        return (wrap_dim(require_int(dim, name, argument, "tuple of ints"), ndim),)
    dims = tuple([wrap_dim(_item(d, i, name, argument), ndim) for i, d in enumerate(dim, start=1)])
    if len(dims) > 1:
        for i, d in enumerate(dims):
            if d in dims[:i]:
                raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return dims


def _item(value: Any, position: int, name: str | None, argument: str) -> Any:
    """One of several dimensions."""
    if type(value) is int:
        return value
    try:
        return require_int(value, name, argument)
    except TypeError:
        called = f"{name}(): " if name else ""
        raise TypeError(
            f"{called}argument '{argument}' failed to unpack the object at pos {position} with "
            f'error "type must be tuple of ints,but got {type(value).__name__}"'
        ) from None


def require_int(value: Any, name: str | None, argument: str, wanted: str = "int") -> int:
    """An integer argument: Python's, NumPy's, or an integer tensor of one element."""
    if not isinstance(value, bool):
        try:
            return operator.index(value)
        except TypeError:
            pass
    if name in OVERLOADED:
        raise no_signature(name, value)
    called = f"{name}(): " if name else ""
    raise TypeError(f"{called}argument '{argument}' must be {wanted}, not {type(value).__name__}")


def no_signature(name: str | None, *arguments: Any) -> TypeError:
    """The error where arguments fit none of a function's signatures."""
    kinds = ", ".join(type(a).__name__ for a in arguments)
    return WrongArgument(f"{name}() received an invalid combination of arguments - got ({kinds})")


def reduced_shape(shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    """The shape that is left when `dims` are reduced."""
    if keepdim:
        return tuple([1 if d in dims else n for d, n in enumerate(shape)])
    return tuple([n for d, n in enumerate(shape) if d not in dims])


def kept_shape(shape: tuple[int, ...], dims: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with reduced dimensions kept as ones, which broadcasts against the input."""
    return reduced_shape(shape, dims, True)
