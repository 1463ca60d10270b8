"""`affine_grid`: the points of a grid, each moved by an affine map."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor
from ..._user_code.sites import warning_level
from ..declare.elementwise_calls import require_tensor
from ..declare.public import NN_FUNCTIONAL, public
from ..declare.record import LINEAR, Op
from ..declare.samples import Sample, T
from ..declare.shapes import ints
from .convolution.windows import Ints
from .line_maps import constant


def _points(size: Ints, align_corners: bool, dtype: Any) -> Any:
    """Every point of a grid from -1 to 1 as a row (x, y, …, 1)."""
    rank = len(size)
    rows = np.ones((*size, rank + 1), dtype)
    for d, extent in enumerate(size):
        line = np.linspace(-1, 1, extent, dtype=dtype) if extent > 1 else np.zeros(extent, dtype)
        if not align_corners:
            line = line * dtype.type((extent - 1) / extent)
        rows[..., rank - 1 - d] = line.reshape(-1, *(1,) * (rank - 1 - d))
    return rows.reshape(-1, rank + 1)


def _grid(theta: Any, size: Ints, align_corners: bool) -> Any:
    points = constant(_points(size, align_corners, theta.dtype), theta)
    moved = np.matmul(points, np.swapaxes(theta, -1, -2))
    return np.reshape(moved, (theta.shape[0], *size, len(size)))


def _grid_adjoint(g: Any, size: Ints, align_corners: bool) -> Any:
    points = constant(_points(size, align_corners, g.dtype), g)
    flat = np.reshape(g, (g.shape[0], points.shape[0], len(size)))
    return np.matmul(np.swapaxes(flat, -1, -2), points)


affine_grid_adjoint_op: Op = Op(
    "affine_grid_adjoint",
    _grid_adjoint,
    ("g",),
    vjp={
        "g": lambda g, size, align_corners: affine_grid_op(
            g, size=size, align_corners=align_corners
        )
    },
    jvp=LINEAR,
)
affine_grid_op: Op = Op(
    "affine_grid_generator",
    _grid,
    ("theta",),
    vjp={
        "theta": lambda g, size, align_corners: affine_grid_adjoint_op(
            g, size=size, align_corners=align_corners
        )
    },
    jvp=LINEAR,
    public="nn.functional.affine_grid",
    samples=lambda: [
        Sample(T(2, 2, 3), (2, 1, 3, 4), align_corners=False),
        Sample(T(2, 2, 3), (2, 1, 3, 2), align_corners=True),
        Sample(T(1, 3, 4), (1, 2, 2, 3, 2), align_corners=False),
        Sample(T(1, 3, 4), (1, 2, 2, 3, 2), align_corners=True),
    ],
)


def _check(theta: Tensor, size: Ints, given: Any) -> None:
    if theta._data.dtype.kind not in "fV":
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    rank = len(size) - 2
    if rank not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    if tuple(theta._data.shape)[1:] != (rank, rank + 1):
        raise ValueError(
            f"Expected a batch of {rank}D affine matrices of shape Nx{rank}x{rank + 1} for size "
            f"{given}. Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")


def aligned(align_corners: bool | None) -> bool:
    """Whether -1 and 1 are the centres of the outermost pixels; no, with PyTorch's warning, if nobody says."""
    if align_corners is not None:
        return align_corners
    import warnings

    warnings.warn(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
        "1.3.0. Please specify align_corners=True if the old behavior is desired. See the "
        "documentation of grid_sample for details.",
        stacklevel=warning_level(),
    )
    return False


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Tensor:
    """Grids of points for `grid_sample`, moved by a batch of affine matrices."""
    require_tensor("affine_grid", theta, "theta")
    align_corners = aligned(align_corners)
    given, size = size, ints("affine_grid", "size", (tuple(size),), {}, 2)
    _check(theta, size, given)
    if align_corners and min(size[2:]) == 1:
        import warnings

        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details.",
            stacklevel=warning_level(),
        )
    parameters = {"size": size[2:], "align_corners": align_corners}
    result: Tensor = apply(affine_grid_op, (theta,), parameters)
    return result
