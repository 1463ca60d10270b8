"""Views of a part of a tensor: a slice, one index, a diagonal, windows; and tensors cut into views.

Backward puts the gradient back into zeros: a linear operation of its own (`embed`), whose backward
is the view again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.strided import has_memory, spelled_out, strided
from ..._autograd.lifted import counterpart
from ..._tensor.tensor import Tensor
from ..declare.dims import require_int, wrap_dim
from ..declare.elementwise_calls import require_tensor
from ..declare.public import public
from ..declare.record import LINEAR, Op
from ..declare.rule_calls import Rule, written
from ..declare.samples import Sample, T


def part(
    name: str, forward: Callable[..., Any], parameters: str, embed_by: Any = None, **record: Any
) -> Op:
    """Declare a view of a part, and the embedding into zeros that is its adjoint.

    `embed_by` embeds on array types whose part cannot be written to.
    """
    names = parameters.split()
    call = ", ".join(f"{n}={n}" for n in names)

    def embed(x: Any, shape: tuple[int, ...], **where: Any) -> Any:
        if embed_by is not None and not has_memory(x):
            return embed_by(x, shape, **where)
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
    rule = _rule(
        f"lambda g, x_shape, {', '.join(names)}: embedding(g, shape=x_shape, {call})", scope
    )
    view = Op(name, forward, ("x",), vjp={"x": rule}, jvp=LINEAR, is_view=True, **record)
    scope["view"] = view
    return view


def _rule(text: str, scope: dict[str, Any]) -> Rule:
    rule: Rule = written(text, scope)
    return rule


# --- slices ---------------------------------------------------------------------------------------

_ALL = slice(None)
_FARTHEST = 2**63 - 1


def _slice(x: Any, dim: int, start: int, end: int, step: int) -> Any:
    if start < end or not has_memory(x):
        return spelled_out(x)[(*(_ALL,) * dim, slice(start, end, step), ...)]
    # NumPy's slices without elements all begin where `x` does; PyTorch's where they were asked to.
    x = spelled_out(x)
    shape, strides = list(x.shape), list(x.strides)
    size = x.dtype.itemsize
    wide = strides[dim] // size * min(step, _FARTHEST)
    if wide > _FARTHEST:  # in 64 bits, as PyTorch's
        wide = (wide + _FARTHEST + 1) % (1 << 64) - _FARTHEST - 1
    if wide < 0:
        found = [wide if each == dim else one // size for each, one in enumerate(strides)]
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {found}"
        )
    shape[dim], strides[dim] = 0, wide * size
    return strided(x, shape, strides, start * x.strides[dim])


slice_op = part(
    "slice",
    _slice,
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
    lambda x, dim, index: spelled_out(x)[(*(_ALL,) * dim, index, ...)],
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
    result: Tensor = slice_op.apply((input,), parameters)
    return result


def select_view(input: Tensor, dim: int, index: int) -> Tensor:
    """The view at one index of a dimension, which is then gone; arguments already checked."""
    result: Tensor = select_op.apply((input,), {"dim": dim, "index": index})
    return result


@public(out=False)
def select(input: Any, dim: Any, index: Any) -> Tensor:
    """A view at one index of a dimension, without that dimension."""
    require_tensor("select", input)
    return select_view(input, *selected(input._data.shape, dim, index, "select"))


def selected(shape: tuple[int, ...], dim: Any, index: Any, name: str) -> tuple[int, int]:
    """The dimension and the index of `select(dim, index)`, both counted from the front."""
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim, index = wrap_dim(dim, len(shape), name), require_int(index, name, "index")
    if not -shape[dim] <= index < shape[dim]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(shape)} at dimension "
            f"{dim}"
        )
    return dim, index % shape[dim]


def narrow_bounds(
    input: Tensor, dim: Any, start: Any, length: Any, name: str
) -> tuple[int, int, int]:
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
            f"start out of range (expected to be in range of [{-extent}, {extent}], but got "
            f"{start})"
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
    if isinstance(start, Tensor) and (start._data.ndim or start._data.dtype.kind not in "iu"):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    dim, start, end = narrow_bounds(input, dim, start, length, "narrow")
    return slice_view(input, dim, start, end)


# --- diagonals ------------------------------------------------------------------------------------


def diagonal_of(x: Any, offset: int, dim1: int, dim2: int) -> Any:
    """NumPy's diagonal; beyond the corner, where NumPy would count past its memory, there is none."""
    if -x.shape[dim1] < offset < x.shape[dim2]:
        return np.diagonal(x, offset, dim1, dim2)
    return np.diagonal(x, 0, dim1, dim2)[..., :0]


def _diagonal(x: Any, offset: int, dim1: int, dim2: int) -> Any:
    found = diagonal_of(x, offset, dim1, dim2)
    if type(found) is np.ndarray:  # NumPy's is read-only, though it shares memory
        found.setflags(write=x.flags.writeable)
    return found


def embed_diagonal(x: Any, shape: tuple[int, ...], offset: int, dim1: int, dim2: int) -> Any:
    """Zeros with `x` on a diagonal, by slices: an array type's `diagonal` may be read-only."""
    rows, columns = shape[dim1], shape[dim2]
    rest = [n for d, n in enumerate(shape) if d not in (dim1, dim2)]
    flat = np.zeros_like(x, shape=(*rest, rows * columns), order="C")
    start = offset if offset >= 0 else -offset * columns
    count = x.shape[-1]
    if count:
        np.copyto(flat[..., start : start + (count - 1) * (columns + 1) + 1 : columns + 1], x)
    return np.moveaxis(np.reshape(flat, (*rest, rows, columns)), (-2, -1), (dim1, dim2))


diagonal_op = part(
    "diagonal",
    _diagonal,
    "offset dim1 dim2",
    embed_diagonal,
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
    first, second = (
        wrap_dim(dim1, ndim, "diagonal", "dim1"),
        wrap_dim(dim2, ndim, "diagonal", "dim2"),
    )
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    parameters = {
        "offset": require_int(offset, "diagonal", "offset"),
        "dim1": first,
        "dim2": second,
    }
    result: Tensor = diagonal_op.apply((input,), parameters)
    return result


counterpart(np.diagonal)(lambda x, offset=0, axis1=0, axis2=1: diagonal(x, offset, axis1, axis2))

# --- windows --------------------------------------------------------------------------------------


def _windows(x: Any, dimension: int, size: int, step: int) -> Any:
    if not x.ndim:
        return np.reshape(x, (1,))[:size]
    if not has_memory(x):
        windows: Any = np.lib.stride_tricks.sliding_window_view(x, size, dimension)
        return windows[(*(_ALL,) * dimension, slice(None, None, step), ...)]
    x = spelled_out(x)
    shape, strides = list(x.shape), list(x.strides)
    shape[dimension] = (shape[dimension] - size) // step + 1
    strides[dimension] *= step
    return strided(x, (*shape, size), (*strides, x.strides[dimension]))


def _add_windows(x: Any, shape: tuple[int, ...], dimension: int, size: int, step: int) -> Any:
    """The adjoint of `unfold`: every element gets the sum over the windows it is in."""
    if not shape:
        return np.sum(x)
    out = np.zeros_like(x, shape=shape, order="C")
    count = x.shape[dimension]
    index = np.add.outer(np.arange(count) * step, np.arange(size))
    rows, windows = np.moveaxis(out, dimension, 0), np.moveaxis(x, (dimension, -1), (0, 1))
    np.add.at(rows, index, windows)
    return out


unfold_backward_op = Op(
    "unfold_backward",
    _add_windows,
    ("x",),
    vjp={
        "x": lambda g, dimension, size, step: unfold_op(
            g, dimension=dimension, size=size, step=step
        )
    },
    jvp=LINEAR,
)
unfold_op: Op = Op(
    "unfold",
    _windows,
    ("x",),
    vjp={
        "x": lambda g, x_shape, dimension, size, step: unfold_backward_op(
            g, shape=x_shape, dimension=dimension, size=size, step=step
        )
    },
    jvp=LINEAR,
    is_view=True,
    public="Tensor.unfold",
    samples=lambda: [
        Sample(T(5), 0, 2, 1),
        Sample(T(2, 7), -1, 3, 2),
        Sample(T(4, 2), 0, 2, 2),
        Sample(T(), 0, 1, 1),
        Sample(T(3, 0), 0, 2, 1),
        Sample(T(3, 4, layout="transposed"), 1, 2, 1),
    ],
)


@public(function=False, out=False)
def unfold(self: Tensor, dimension: Any, size: Any, step: Any) -> Tensor:
    """A view of all windows of `size` along a dimension, `step` apart, as a new last one."""
    shape = self._data.shape
    dimension = wrap_dim(dimension, len(shape), "unfold", "dimension")
    size, step = require_int(size, "unfold", "size"), require_int(step, "unfold", "step")
    extent = shape[dimension] if shape else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > extent:
        raise RuntimeError(
            f"maximum size for tensor at dimension {dimension} is {extent} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    parameters = {"dimension": dimension, "size": size, "step": step}
    result: Tensor = unfold_op.apply((self,), parameters)
    return result
