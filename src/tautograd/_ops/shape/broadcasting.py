"""Views with elements repeated without a copy: expand, and tensors brought to one shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.dtypes import LEGACY_NAMES
from ..._arrays.strided import has_memory, spelled_out, strided
from ..._autograd.lifted import counterpart
from ..._tensor.tensor import Size, Tensor
from ..declare.elementwise_calls import check_broadcast, require_tensor
from ..declare.guarding import explain, marked
from ..declare.public import FUNCTIONS, public
from ..declare.record import LINEAR, Op
from ..declare.samples import Sample, T
from ..declare.shapes import ints, tensor_list


def _expand(x: Any, size: tuple[int, ...]) -> Any:
    if not has_memory(x):
        return np.broadcast_to(x, size)
    x = spelled_out(x)
    steps: list[int] = []
    missing = len(size) - x.ndim
    for dim in range(len(size) - 1, -1, -1):
        if dim >= missing:
            extent, step = x.shape[dim - missing], x.strides[dim - missing]
        else:
            extent, step = 1, size[dim + 1] * steps[-1] if steps else x.dtype.itemsize
        steps.append(step if extent == size[dim] else 0)
    return strided(x, size, steps[::-1])


expand_op = Op(
    "expand",
    _expand,
    ("x",),
    vjp={"x": lambda g: g},
    jvp=LINEAR,
    is_view=True,
    public="Tensor.expand",
    samples=lambda: [
        Sample(T(3, 1), 3, 4),
        Sample(T(3), 2, 3),
        Sample(T(), (2, 2)),
        Sample(T(1, 3), 2, -1),
        Sample(T(1), 0),
        Sample(T(3, 1, layout="transposed"), 2, 3, 1),
    ],
)


def expand_to(input: Tensor, size: tuple[int, ...]) -> Tensor:
    """`expand` to a size that has been parsed."""
    shape = input._data.shape
    if len(size) < len(shape):
        raise RuntimeError(
            f"expand(torch.{LEGACY_NAMES[input.dtype]}Tensor{{{list(shape)}}}, size={list(size)}): "
            f"the number of sizes provided ({len(size)}) must be greater or equal to the number of "
            f"dimensions in the tensor ({len(shape)})"
        )
    missing = len(size) - len(shape)
    found = list(size)
    for dim in range(len(size) - 1, -1, -1):
        wanted = size[dim]
        if dim < missing:
            if wanted < 0:
                raise RuntimeError(
                    f"The expanded size of the tensor ({wanted}) isn't allowed in a leading, "
                    f"non-existing dimension {dim}"
                )
        elif wanted == -1:
            found[dim] = shape[dim - missing]
        elif wanted != shape[dim - missing] and (shape[dim - missing] != 1 or wanted < 0):
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted}) must match the existing size "
                f"({shape[dim - missing]}) at non-singleton dimension {dim}.  Target sizes: "
                f"{list(size)}.  Tensor sizes: {list(shape)}"
            )
    result: Tensor = expand_op.apply((input,), {"size": tuple(found)})
    return result


@public(function=False, out=False)
@marked
def expand(self: Tensor, *size: Any, implicit: bool = False, **given: Any) -> Tensor:
    """A view with dimensions of size one (or new leading ones) repeated without a copy."""
    try:
        return expand_to(self, ints("expand", "size", size, given))
    except Exception as error:
        explain(error, "expand", (self, *size), {"implicit": implicit, **given}, method=True)
        raise


@public(function=False, out=False)
def expand_as(self: Tensor, other: Any) -> Tensor:
    """`expand` to the shape of another tensor."""
    require_tensor("expand_as", other, "other")
    return expand_to(self, other._data.shape)


@public("broadcast_to", function=False, out=False)
def broadcast_to_method(self: Tensor, *size: Any, **given: Any) -> Tensor:
    """`expand`, by NumPy's name."""
    return expand_to(self, ints("broadcast_to", "size", size, given))


@public(method=False, out=False)
def broadcast_to(input: Any, size: Any) -> Tensor:
    """`expand`, by NumPy's name."""
    require_tensor("broadcast_to", input)
    return expand_to(input, ints("broadcast_to", "size", (size,), {}))


@counterpart(np.broadcast_to)
def _np_broadcast_to(x: Tensor, shape: Any, subok: bool = False) -> Tensor:
    return expand_to(x, (shape,) if isinstance(shape, int) else tuple(shape))


@public(function=False, out=False)
def sum_to_size(self: Tensor, *size: Any, **given: Any) -> Tensor:
    """The sums that undo an `expand`: from this shape back to `size`, which must expand to it."""
    wanted = ints("sum_to_size", "size", size, given)
    shape = self._data.shape
    missing = len(shape) - len(wanted)
    if missing < 0 or any(n not in (1, m) for m, n in zip(shape[missing:], wanted, strict=True)):
        raise RuntimeError(f"size {{{list(wanted)}}} is not expandable to size {{{list(shape)}}}.")
    if not wanted:
        return FUNCTIONS["sum"](self)  # type: ignore[no-any-return]  # also of one number: int8 becomes int64
    dims = [
        d
        for d, extent in enumerate(shape)
        if d < missing or (wanted[d - missing] == 1 and extent != 1)
    ]
    summed: Any = FUNCTIONS["sum"](self, dims, keepdim=True) if dims else self
    found: Tensor = summed.view(wanted) if missing else summed
    return found


@public(method=False, out=False)
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Views of several tensors in the shape they broadcast to."""
    shape = _common_shape([x._data.shape for x in tensor_list("broadcast_tensors", tensors)])
    return tuple([x if x._data.shape == shape else expand_to(x, shape) for x in tensors])


def _common_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    common: tuple[int, ...] = ()
    for shape in shapes:
        check_broadcast(common, shape)
        rank = max(len(common), len(shape))
        a, b = (1,) * (rank - len(common)) + common, (1,) * (rank - len(shape)) + tuple(shape)
        common = tuple([n if m == 1 else m for m, n in zip(a, b, strict=True)])
    return common


@public(method=False, out=False)
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that shapes broadcast to."""
    for shape in shapes:
        if not isinstance(shape, (int, tuple, list)):
            raise RuntimeError(
                "Input shapes should be of type ints, a tuple of ints, or a list of ints, got "
                f"{shape}"
            )
    common: list[int] = [1] * max((1 if isinstance(s, int) else len(s) for s in shapes), default=0)
    for index, shape in enumerate(shapes):
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        for dim in range(-1, -1 - len(shape), -1):
            if shape[dim] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if shape[dim] == 1 or shape[dim] == common[dim]:
                continue
            if common[dim] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[dim]} at {dim}! "
                    f"Mismatching argument at index {index} had {shape}; but expected shape should "
                    f"be broadcastable to {common}"
                )
            common[dim] = shape[dim]
    return Size(common)
