"""Views of a part of a tensor: a slice, one index, a diagonal, windows; and tensors cut into views.

Backward puts the gradient back into zeros: a linear operation of its own (`embed`), whose backward is
the view again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays.strided import strided
from .._autograd.apply import apply
from .._autograd.lifted import counterpart
from .._tensor.tensor import Tensor
from .dims import require_int, wrap_dim
from .elementwise import require_tensor
from .public import public
from .record import LINEAR, Op, Rule
from .samples import Sample, T
from .shapes import ints


def part(name: str, forward: Callable[..., Any], parameters: str, **record: Any) -> Op:
    """Declare a view of a part, and the embedding into zeros that is its adjoint."""
    names = parameters.split()
    call = ", ".join(f"{n}={n}" for n in names)

    def embed(x: Any, shape: tuple[int, ...], **where: Any) -> Any:
        out = np.zeros_like(x, shape=shape, order="C")
        np.copyto(forward(out, **where), x)
        return out

    scope: dict[str, Any] = {}
    scope["embedding"] = Op(
        f"{name}_backward",
        embed,
        ("x",),
        parameters=("shape", *names),
        vjp={"x": _rule(f"lambda g, {', '.join(names)}: view(g, {call})", scope)},
        jvp=LINEAR,
        opmath=False,
    )
    rule = _rule(f"lambda g, x_shape, {', '.join(names)}: embedding(g, shape=x_shape, {call})", scope)
    view = Op(name, forward, ("x",), vjp={"x": rule}, jvp=LINEAR, is_view=True, **record)
    scope["view"] = view
    return view


def _rule(text: str, scope: dict[str, Any]) -> Rule:
    rule: Rule = eval(text, scope)  # noqa: S307 - made from the names of an operation's parameters
    return rule


# --- slices ---------------------------------------------------------------------------------------

_ALL = slice(None)

slice_op = part(
    "slice",
    lambda x, dim, start, end, step: x[(*(_ALL,) * dim, slice(start, end, step), ...)],
    "dim start end step",
    public="Tensor.__getitem__",
    samples=lambda: [
        Sample(T(5, 2), slice(1, 4, 2)),
        Sample(T(5, 2), slice(-3, None)),
        Sample(T(3), slice(2, 1)),
        Sample(T(0, 2), slice(0, 3)),
        Sample(T(4, 3, layout="transposed"), slice(None, -1)),
    ],
)
select_op = part(
    "select",
    lambda x, dim, index: x[(*(_ALL,) * dim, index, ...)],
    "dim index",
    samples=lambda: [
        Sample(T(3, 2), 0, 1),
        Sample(T(3, 2), -1, -2),
        Sample(T(3), 0, 2),
        Sample(T(2, 0), dim=0, index=1),
        Sample(T(3, 2, layout="transposed"), 1, 0),
    ],
)


def slice_view(
    input: Tensor, dim: int, start: Any = None, end: Any = None, step: int = 1
) -> Tensor:
    """The view that `x[start:end:step]` is along one dimension; positions as Python takes them."""
    start, end, step = slice(start, end, step).indices(input._data.shape[dim])
    parameters = {"dim": dim, "start": start, "end": max(start, end), "step": step}
    result: Tensor = apply(slice_op, (input,), parameters)
    return result


def select_view(input: Tensor, dim: int, index: int) -> Tensor:
    """The view at one index of a dimension, which is then gone; arguments already checked."""
    result: Tensor = apply(select_op, (input,), {"dim": dim, "index": index})
    return result


@public(out=False)
def select(input: Any, dim: Any, index: Any) -> Tensor:
    """A view at one index of a dimension, without that dimension."""
    require_tensor("select", input)
    shape = input._data.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim, index = wrap_dim(dim, len(shape), "select"), require_int(index, "select", "index")
    if not -shape[dim] <= index < shape[dim]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}"
        )
    return select_view(input, dim, index % shape[dim])


def narrow_bounds(input: Tensor, dim: Any, start: Any, length: Any, name: str) -> tuple[int, int, int]:
    """The arguments of `narrow`, checked: the dimension, where it starts and ends."""
    shape = input._data.shape
    if not shape:
        raise RuntimeError(f"{name}() cannot be applied to a 0-dim tensor.")
    length = require_int(length, name, "length")
    if length < 0:
        raise RuntimeError(f"{name}(): length must be non-negative.")
    dim = wrap_dim(dim, len(shape), name)
    start, extent = require_int(start, name, "start"), shape[dim]
    if not -extent <= start <= extent:
        raise IndexError(
            f"start out of range (expected to be in range of [{-extent}, {extent}], but got {start})"
        )
    if start < 0:
        start += extent
    if start + length > extent:
        raise RuntimeError(
            f"start ({start}) + length ({length}) exceeds dimension size ({extent})."
        )
    return dim, start, start + length


@public(out=False)
def narrow(input: Any, dim: Any, start: Any, length: Any) -> Tensor:
    """A view of `length` indices of a dimension from `start` on."""
    require_tensor("narrow", input)
    dim, start, end = narrow_bounds(input, dim, start, length, "narrow")
    return slice_view(input, dim, start, end)


# --- diagonals ------------------------------------------------------------------------------------


def _diagonal(x: Any, offset: int, dim1: int, dim2: int) -> Any:
    found = np.diagonal(x, offset, dim1, dim2)
    if type(found) is np.ndarray:  # NumPy's is read-only, though it shares memory
        found.setflags(write=x.flags.writeable)
    return found


diagonal_op = part(
    "diagonal",
    _diagonal,
    "offset dim1 dim2",
    samples=lambda: [
        Sample(T(3, 4)),
        Sample(T(3, 4), 1),
        Sample(T(3, 4), -2),
        Sample(T(3, 4), 7),
        Sample(T(2, 3, 4), offset=1, dim1=-1, dim2=0),
        Sample(T(0, 3)),
        Sample(T(3, 3, layout="transposed")),
    ],
)


@public(out=False)
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A view of the diagonals of the matrices in two dimensions; the new dimension is last."""
    require_tensor("diagonal", input)
    ndim = input._data.ndim
    first, second = wrap_dim(dim1, ndim, "diagonal", "dim1"), wrap_dim(dim2, ndim, "diagonal", "dim2")
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    parameters = {"offset": require_int(offset, "diagonal", "offset"), "dim1": first, "dim2": second}
    result: Tensor = apply(diagonal_op, (input,), parameters)
    return result


counterpart(np.diagonal)(lambda x, offset=0, axis1=0, axis2=1: diagonal(x, offset, axis1, axis2))

# --- cut into several -----------------------------------------------------------------------------


def _cut(x: Any, split_sizes: tuple[int, ...], dim: int) -> list[Any]:
    parts, start = [], 0
    for extent in split_sizes:
        parts.append(x[(*(_ALL,) * dim, slice(start, start + extent), ...)])
        start += extent
    return parts


def _equal_sizes(extent: int, size: int) -> tuple[int, ...]:
    """`extent` in pieces of `size`, the last one smaller if need be; nothing is one empty piece."""
    if not extent:
        return (0,)
    rest = extent % size
    return (size,) * (extent // size) + ((rest,) if rest else ())


def _joined(g: Any, dim: int) -> Any:
    return np.concatenate(g, dim)


split_op = Op(
    "split",
    lambda x, split_size, dim: _cut(x, _equal_sizes(x.shape[dim], split_size), dim),
    ("x",),
    vjp={"x": _joined},
    jvp=LINEAR,
    is_view=True,
    outputs=0,
    samples=lambda: [
        Sample(T(5, 2), 2),
        Sample(T(2, 4), 2, -1),
        Sample(T(0, 2), 3),
        Sample(T(3), 5),
        Sample(T(4, 3, layout="transposed"), 1, dim=1),
    ],
)
split_with_sizes_op = Op(
    "split_with_sizes",
    _cut,
    ("x",),
    vjp={"x": _joined},
    jvp=LINEAR,
    is_view=True,
    outputs=0,
    samples=lambda: [Sample(T(5, 2), [2, 3]), Sample(T(2, 4), (1, 0, 3), -1), Sample(T(0), [0])],
)
unbind_op = Op(
    "unbind",
    lambda x, dim: [x[(*(_ALL,) * dim, i, ...)] for i in range(x.shape[dim])],
    ("x",),
    vjp={"x": lambda g, dim: np.stack(g, dim)},
    jvp=LINEAR,
    is_view=True,
    outputs=0,
    samples=lambda: [Sample(T(3, 2)), Sample(T(2, 3), -1), Sample(T(2)), Sample(T(2, 0), dim=0)],
)


@public(out=False)
def unbind(input: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views at every index of a dimension, as a tuple."""
    require_tensor("unbind", input)
    if not input._data.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    dim = wrap_dim(dim, input._data.ndim, "unbind")
    parts: tuple[Tensor, ...] = apply(unbind_op, (input,), {"dim": dim})
    return parts
