"""`grid_sample`: images looked up at given points, between their elements, and beyond their edges.

A point is a combination of the few elements round it, with weights that depend on where it lies. For
each dimension there is a list of taps: an element's position, its weight, and the weight's slope.
Taps multiply over dimensions. Positions are whole numbers and carry no gradient; weights are
written with NumPy functions alone, so that the rules can be differentiated.
"""

from __future__ import annotations

import functools
import itertools
import operator
from typing import Any

import numpy as np

from ..._arrays.dtypes import LEGACY_NAMES
from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor
from ..declare.elementwise_calls import refuse, require_tensor
from ..declare.public import NN_FUNCTIONAL, public
from ..declare.record import Op
from ..declare.samples import Sample, T
from ..declare.signature_line import declared
from ..declare.signatures.kinds import is_int
from ..declare.undefined_dtypes import no_kernel
from ..declare.wrong_argument import WrongArgument
from .affine_grids import aligned
from .convolution.windows import Ints
from .pooling.flat_positions import picked_rows, placed_rows

_CUBIC = -0.75
_MODES = ("bilinear", "nearest", "bicubic")  # in the order of their numbers
_PADDINGS = ("zeros", "border", "reflection")
Tap = tuple[Any, Any, Any, Any]  # position, whether it is inside, weight, slope of the weight


def _unnormalized(x: Any, size: int, align_corners: bool) -> tuple[Any, float]:
    """A coordinate of [-1, 1] as a position among elements, and its slope."""
    if align_corners:
        return (x + 1) / 2 * (size - 1), (size - 1) / 2
    return ((x + 1) * size - 1) / 2, size / 2


def _reflected(x: Any, twice_low: int, twice_high: int) -> tuple[Any, Any]:
    """A position reflected at both ends until it lies between, and which way it then goes."""
    if twice_low == twice_high:
        return x * 0, x * 0
    low, span = twice_low / 2, (twice_high - twice_low) / 2
    away = np.abs(x - low)
    direction = np.where(np.less(x, low), -1.0, 1.0)
    flips = np.floor(away / span)
    extra = np.fmod(away, span)
    even = np.equal(np.remainder(flips, 2), 0)
    position = np.where(even, extra + low, span - extra + low)
    return position, np.where(even, direction, -direction)


def _clipped(x: Any, size: int) -> tuple[Any, Any]:
    """A position moved to the nearest element if it is outside; its slope is then 0."""
    inside = np.logical_and(np.greater(x, 0), np.less(x, size - 1))
    return np.minimum(np.maximum(x, 0), size - 1), np.where(inside, 1.0, 0.0)


def _bounded(x: Any, size: int, padding_mode: str, align_corners: bool) -> tuple[Any, Any]:
    """A position brought inside as the padding mode wants it, and its slope."""
    if padding_mode == "border":
        return _clipped(x, size)
    if padding_mode == "reflection":
        ends = (0, 2 * (size - 1)) if align_corners else (-1, 2 * size - 1)
        mirrored, way = _reflected(x, *ends)
        position, slope = _clipped(mirrored, size)
        return position, slope * way
    return x, 1.0


def _whole(position: Any, size: int) -> tuple[Any, Any]:
    """A position as an index that is safe to look up, and whether it was inside."""
    inside = np.logical_and(np.greater_equal(position, 0), np.less(position, size))
    safe = np.where(inside, position, np.zeros_like(position, shape=()))
    return np.astype(safe, np.int64), inside


def _taps(x: Any, size: int, mode: str, padding_mode: str, align_corners: bool) -> list[Tap]:
    """The elements that a coordinate is made of in one dimension."""
    position, scale = _unnormalized(x, size, align_corners)
    if mode == "bicubic":
        return _cubic_taps(position, scale, size, padding_mode, align_corners)
    position, slope = _bounded(position, size, padding_mode, align_corners)
    if mode == "nearest":
        index, inside = _whole(np.rint(position), size)
        return [(index, inside, None, None)]
    low = np.floor(position)
    part = position - low
    index, inside = _whole(low, size)
    after, inside_after = _whole(low + 1, size)
    return [(index, inside, 1 - part, -slope * scale), (after, inside_after, part, slope * scale)]


def _near(x: Any) -> tuple[Any, Any]:
    """The cubic and its slope for distances up to 1."""
    a = _CUBIC
    return ((a + 2) * x - (a + 3)) * x * x + 1, (3 * (a + 2) * x - 2 * (a + 3)) * x


def _far(x: Any) -> tuple[Any, Any]:
    """The cubic and its slope for distances from 1 to 2."""
    a = _CUBIC
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a, (3 * a * x - 10 * a) * x + 8 * a


def _cubic_taps(
    position: Any, scale: float, size: int, padding_mode: str, align_corners: bool
) -> list[Tap]:
    low = np.floor(position)
    t = position - low
    found: list[Tap] = []
    for step, (shape, distance, sign) in enumerate(
        ((_far, t + 1, 1.0), (_near, t, 1.0), (_near, 1 - t, -1.0), (_far, 2 - t, -1.0))
    ):
        place, _ = _bounded(low + (step - 1), size, padding_mode, align_corners)
        index, inside = _whole(place, size)
        weight, slope = shape(distance)
        found.append((index, inside, weight, slope * (sign * scale)))
    return found


def _terms(grid: Any, size: Ints, mode: str, padding_mode: str, align_corners: bool) -> Any:
    """Every element round the points: `(flat position, is inside, taps by dimension)`."""
    rank = len(size)
    lines = [  # the last coordinate belongs to the first dimension
        _taps(grid[..., rank - 1 - d], size[d], mode, padding_mode, align_corners)
        for d in range(rank)
    ]
    for taps in itertools.product(*lines):
        position, inside = taps[0][0], taps[0][1]
        for extent, (index, within, _, _) in zip(size[1:], taps[1:], strict=True):
            position = position * extent + index
            inside = np.logical_and(inside, within)
        yield position, inside, taps


def _product(factors: list[Any]) -> Any:
    known = [f for f in factors if f is not None]
    return functools.reduce(operator.mul, known) if known else None


def _weight(inside: Any, taps: Any, like: Any) -> Any:
    """The weight of an element, nothing where it is outside; with room for channels."""
    weight = _product([tap[2] for tap in taps])
    zero = np.zeros_like(like, shape=())
    found = np.where(inside, zero + 1 if weight is None else weight, zero)
    return np.expand_dims(found, 1)


def _sample(x: Any, grid: Any, mode: str, padding_mode: str, align_corners: bool) -> Any:
    size = tuple(x.shape)[2:]
    total = None
    for position, inside, taps in _terms(grid, size, mode, padding_mode, align_corners):
        term = picked_rows(x, position) * _weight(inside, taps, grid)
        total = term if total is None else total + term
    return total


def _x_gradient(
    g: Any, grid: Any, x_shape: Any, mode: str, padding_mode: str, align_corners: bool
) -> Any:
    size = tuple(x_shape)[2:]
    total = None
    for position, inside, taps in _terms(grid, size, mode, padding_mode, align_corners):
        term = placed_rows(g * _weight(inside, taps, grid), position, size)
        total = term if total is None else total + term
    return total


def _slopes(inside: Any, taps: Any, like: Any) -> list[Any]:
    """How an element's weight grows with each coordinate of the grid, the last dimension first."""
    zero = np.zeros_like(like, shape=())
    found: list[Any] = []
    for d in reversed(range(len(taps))):
        if taps[d][3] is None:
            found.append(None)
            continue
        slope = _product([tap[3] if e == d else tap[2] for e, tap in enumerate(taps)])
        found.append(np.where(inside, slope, zero))
    return found


def _grid_gradient(
    g: Any, x: Any, grid: Any, mode: str, padding_mode: str, align_corners: bool
) -> Any:
    size = tuple(x.shape)[2:]
    totals: list[Any] = [None] * len(size)
    for position, inside, taps in _terms(grid, size, mode, padding_mode, align_corners):
        reached = np.sum(picked_rows(x, position) * g, axis=1)
        for d, slope in enumerate(_slopes(inside, taps, grid)):
            term = reached * 0 if slope is None else reached * slope
            totals[d] = term if totals[d] is None else totals[d] + term
    return np.stack(totals, axis=-1)


def _grid_tangent(
    t: Any, x: Any, grid: Any, mode: str, padding_mode: str, align_corners: bool
) -> Any:
    size = tuple(x.shape)[2:]
    total = None
    for position, inside, taps in _terms(grid, size, mode, padding_mode, align_corners):
        element = picked_rows(x, position)
        for d, slope in enumerate(_slopes(inside, taps, grid)):
            term = element * np.expand_dims(t[..., d] * (0 if slope is None else slope), 1)
            total = term if total is None else total + term
    return total


def _samples(rank: int) -> list[Sample]:
    image, points = {
        2: ((2, 2, 4, 3), (2, 3, 2, 2)),
        3: ((1, 2, 3, 2, 3), (1, 2, 2, 2, 3)),
    }[rank]
    modes = ("bilinear", "nearest", "bicubic") if rank == 2 else ("bilinear", "nearest")

    def grid() -> T:
        return T(*points, low=-1.4, high=1.4, seed=3)

    made = [
        Sample(T(*image), grid(), mode, padding, corners)
        for mode in modes
        for padding in ("zeros", "border", "reflection")
        for corners in (False, True)
    ]
    return [*made, Sample(T(0, *image[1:]), T(0, *points[1:]), align_corners=False)]


def _record(rank: int) -> Op:
    kernel = "grid_sampler_2d_cpu_kernel_impl" if rank == 2 else "grid_sampler3d_cpu"
    return Op(
        f"grid_sampler_{rank}d",
        _sample,
        ("x", "grid"),
        node=f"GridSampler{rank}DBackward0",
        vjp={"x": _x_gradient, "grid": _grid_gradient},
        jvp={
            "x": lambda t, grid, mode, padding_mode, align_corners: _sample(
                t, grid, mode, padding_mode, align_corners
            ),
            "grid": _grid_tangent,
        },
        public="nn.functional.grid_sample",
        refuses=no_kernel(kernel, "bic"),
        samples=lambda: _samples(rank),
    )


SAMPLERS = {rank: _record(rank) for rank in (2, 3)}


def _check(x: Any, grid: Any, mode: str) -> None:
    shape, points = list(x.shape), list(grid.shape)
    rank = x.ndim - 2
    if shape[0] != points[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with "
            f"sizes {shape} and grid with sizes {points}"
        )
    if points[-1] != rank:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {rank} in last dimension, but got grid "
            f"with sizes {points}"
        )
    for d in range(2, x.ndim):
        if not shape[d]:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                f"has sizes {shape} with dimension {d} being empty"
            )
    if rank not in (2, 3) or grid.ndim != x.ndim:
        raise RuntimeError(
            f"grid_sampler(): expected {x.ndim if rank in (2, 3) else '4D or 5'}D input and grid "
            f"with same number of dimensions, but got input with sizes {shape} and grid with sizes "
            f"{points}"
        )
    if rank == 3 and mode == "bicubic":
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def grid_sample(
    input: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The images at the points of a grid, whose coordinates run from -1 to 1."""
    if mode not in _MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in _PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    return _sampled(None, input, grid, mode, padding_mode, aligned(align_corners))


def _sampled(
    rank: int | None, input: Any, grid: Any, mode: str, padding_mode: str, align_corners: bool
) -> Tensor:
    """The images at the points of a grid; `rank`, if given, is the only one that is taken."""
    require_tensor("grid_sampler", input)
    require_tensor("grid_sampler", grid, "grid", 2)
    _check(input._data, grid._data, mode)
    if rank is not None and rank != input._data.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected {rank + 2}D input and grid with same number of dimensions, but "
            f"got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input._data.dtype != grid._data.dtype:
        one, other = (LEGACY_NAMES[t.dtype] for t in (input, grid))
        raise RuntimeError(f"expected scalar type {one} but found {other}")
    op = SAMPLERS[input._data.ndim - 2]
    shape, points = input._data.shape, grid._data.shape
    if not input._data.size and input._data.dtype.kind in "iub" and len(shape) == 4:
        return input.new_empty((*shape[:2], *points[1:-1]))  # type: ignore[no-any-return]
    refuse(op, input._data.dtype)
    parameters = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
    result: Tensor = apply(op, (input, grid), parameters)
    return result


def _by_number(
    rank: int | None, input: Any, grid: Any, mode: int, padding: int, align_corners: bool
) -> Tensor:
    """`grid_sample` as PyTorch's operators have it: modes are numbers, and all must be given."""
    if not (is_int(mode) and is_int(padding) and isinstance(align_corners, bool)):
        raise WrongArgument("grid_sampler(): modes are int, and align_corners is bool")
    for word, number in (("interpolation_mode", mode), ("padding_mode", padding)):
        if number not in (0, 1, 2):
            raise RuntimeError(f"grid_sampler(): expected {word} to be 0, 1 or 2, but got {number}")
    return _sampled(rank, input, grid, _MODES[mode], _PADDINGS[padding], align_corners)


for _name, _rank in (("grid_sampler", None), ("grid_sampler_2d", 2), ("grid_sampler_3d", 3)):
    public(method=False, out=False)(
        declared(
            f"{_name}(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
            "bool align_corners) -> Tensor",
            _by_number,
            _rank,
            doc="The images at the points of a grid, with modes as numbers.",
        )
    )
