"""`diagonal_copy`, `view_copy` and all their kind: what a view shows, in memory of its own."""

from __future__ import annotations

from typing import Any

from ..._arrays.formats import contiguous_format
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import require_tensor
from ..declare.public import FUNCTIONS, public

_OF_METHODS = {
    "as_strided": "size stride storage_offset",
    "detach": "",
    "diagonal": "offset dim1 dim2",
    "expand": "size",
    "permute": "dims",
    "select": "dim index",
    "split": "split_size dim",
    "split_with_sizes": "split_sizes dim",
    "squeeze": "dim",
    "t": "",
    "transpose": "dim0 dim1",
    "unbind": "dim",
    "unfold": "dimension size step",
    "unsqueeze": "dim",
    "view": "size",
}
"""Views that are methods, and the names of their arguments."""


def _own(view: Any) -> Any:
    """A view's values, or those of several, where nothing else points to."""
    if isinstance(view, (tuple, list)):
        return tuple(_own(one) for one in view)
    return view.clone(memory_format=contiguous_format)


def _declare(name: str, names: str) -> None:
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        require_tensor(f"{name}_copy", input)
        unknown = set(kwargs) - {*names.split(), "implicit"}
        if unknown:
            raise TypeError(f"{name}_copy() got an unexpected keyword argument '{unknown.pop()}'")
        kwargs.pop("implicit", None)
        return _own(getattr(Tensor, name)(input, *args, **kwargs))

    call.__name__ = call.__qualname__ = f"{name}_copy"
    call.__doc__ = f"`{name}` as a copy."
    public(f"{name}_copy", method=False)(call)


for _name, _names in _OF_METHODS.items():
    _declare(_name, _names)


@public(method=False)
def alias_copy(input: Any) -> Tensor:
    """A copy in C order."""
    require_tensor("alias_copy", input)
    return _own(input)  # type: ignore[no-any-return]


@public(method=False)
def slice_copy(
    input: Any, dim: Any = 0, start: Any = None, end: Any = None, step: Any = 1
) -> Tensor:
    """`input[start:end:step]` along a dimension, as a copy."""
    require_tensor("slice_copy", input)
    places = [slice(None)] * (dim % max(input.dim(), 1)) + [slice(start, end, step)]
    return _own(input[tuple(places)])  # type: ignore[no-any-return]


@public(method=False)
def view_as_real_copy(input: Any) -> Tensor:
    """`view_as_real` as a copy."""
    return _own(FUNCTIONS["view_as_real"](input))  # type: ignore[no-any-return]


@public(method=False)
def view_as_complex_copy(input: Any) -> Tensor:
    """`view_as_complex` as a copy."""
    return _own(FUNCTIONS["view_as_complex"](input))  # type: ignore[no-any-return]
