"""Resizing images, and padding them with their own values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import V
from ..lowering import lower, number, unsupported
from ..sizes import Size
from .pooling import times_matrix

_MODES = {"nearest": "nearest", "nearest-exact": "nearest", "bicubic": "cubic"}


@lower(
    *(f"upsample_{mode}{r}d" for mode in ("nearest", "nearest_exact") for r in (1, 2, 3)),
    *("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d"),
    *("upsample_bilinear2d_aa", "upsample_bicubic2d_aa", "upsample_lanczos2d_aa"),
)
def _upsample(g: Any, s: Any, x: V, maps: Any) -> Any:
    there = [m for m in maps if m is not None]
    if x.dtype.kind != "f" and "nearest" not in s.name:
        raise unsupported(s, f"of {x.dtype} numbers")
    origins: list[Any] = [getattr(m, "origin", None) for m in there]
    plain = all(o is not None and _is_resize(o) for o in origins) and len(there) == len(maps)
    if not plain:
        return _mapped(g, s, x, maps)
    mode, align, scales = origins[0][0], origins[0][3], [o[4] for o in origins]
    kind = _MODES.get(mode, "linear")
    coordinates = {"nearest": "asymmetric", "nearest-exact": "half_pixel"}.get(
        mode, "align_corners" if align else "half_pixel"
    )
    nearest = {"nearest": "floor", "nearest-exact": "round_prefer_ceil"}.get(mode)
    attributes: dict[str, Any] = {"mode": kind, "coordinate_transformation_mode": coordinates}
    if nearest:
        attributes["nearest_mode"] = nearest
    if kind == "cubic":
        attributes["cubic_coeff_a"] = -0.75
    axes = list(range(x.rank - len(maps), x.rank))
    if align or any(scale is None for scale in scales):
        sizes = g.ints(s.out.shape[a] for a in axes)
        return g.op("Resize", x, None, None, sizes, axes=axes, **attributes)
    return g.op("Resize", x, None, np.array(scales, np.float32), axes=axes, **attributes)


def _is_resize(origin: Any) -> bool:
    """Whether ONNX's Resize computes the same coordinates as this map."""
    _, size, count, align, scale, antialias = origin
    if antialias:
        return False
    if scale is None or align:
        return True
    # If a scale is given, a remainder of the last element must not matter.
    if isinstance(size, Size) or isinstance(count, Size):
        return not isinstance(scale, Size) and float(scale).is_integer()
    return float(scale).is_integer()


def _mapped(g: Any, s: Any, x: V, maps: Any) -> Any:
    """Apply any map of a fixed size: by a matrix for each dimension, or by picking elements."""
    out: Any = x
    first = x.rank - len(maps)
    for i, line in enumerate(maps):
        if line is None:
            continue
        if not hasattr(line, "index"):
            raise unsupported(
                s, "over a dimension that is dynamic, by a factor that is not a whole number"
            )
        if line.taps == 1 and line.weights is None:
            out = g.op("Gather", out, np.asarray(line.index, np.int64), axis=first + i)
            continue
        matrix = np.zeros((line.size, line.count))
        weights = np.ones(len(line.index)) if line.weights is None else line.weights
        outputs = np.repeat(np.arange(line.count), np.diff(line.starts))
        np.add.at(matrix, (line.index, outputs), weights)
        out = times_matrix(g, out, matrix.astype(x.dtype), first + i, x.rank)
    return out if out is not x else g.op("Identity", x)


@lower(
    *(f"{mode}_pad{r}d" for mode in ("reflection", "replication", "circular") for r in (1, 2, 3))
)
def _pad(g: Any, s: Any, x: V, maps: Any) -> Any:
    first = x.rank - len(maps)
    amounts: list[Any] = [(0, 0)] * first
    for line in maps:
        origin = (None, 0, 0, 0) if line is None else getattr(line, "origin", None)
        if origin is None or any(isinstance(n, Size) or n < 0 for n in origin[2:]):
            return _mapped(g, s, x, maps)
        amounts.append(tuple(origin[2:]))
    mode = {"refl": "reflect", "repl": "edge", "circ": "wrap"}[s.name[:4]]
    if mode == "wrap" and g.opset < 19:
        return _mapped(g, s, x, maps)
    room = g.ints([*(a for a, _ in amounts), *(b for _, b in amounts)])
    return g.op("Pad", x, room, None, mode=mode)


@lower("grid_sampler_2d", "grid_sampler_3d")
def _grid_sample(
    g: Any, s: Any, x: V, grid: V, mode: str, padding_mode: str, align_corners: bool
) -> Any:
    if x.rank == 5 and g.opset < 20:
        raise unsupported(s, "of volumes before opset 20")
    names = {"bilinear": "linear", "bicubic": "cubic"} if g.opset >= 20 else {}
    return g.op(
        "GridSample", x, grid, mode=names.get(mode, mode), padding_mode=padding_mode,
        align_corners=int(align_corners),
    )  # fmt: skip


@lower("affine_grid_generator")
def _affine_grid(g: Any, s: Any, theta: V, size: Any, align_corners: bool) -> Any:
    if g.opset < 20:
        raise unsupported(s, "before opset 20")
    whole = (theta.shape[0], 1, *size)
    return g.op("AffineGrid", theta, g.ints(whole), align_corners=int(align_corners))


@lower("line_maps")
def _line_maps(g: Any, s: Any, x: V, maps: Any) -> Any:
    return _mapped(g, s, x, maps)


__all__ = ["number"]
