"""Tensors as pictures: small heat maps for boxes and the panel, and the distribution of their entries.

The last two dimensions are a picture; those before them make a grid of pictures, like a convolution's
filters or attention heads. A large one is downsampled: a cell then shows the entry of its block with
the largest magnitude, so that nothing large, and nothing non-finite, is lost.
"""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from ..record.values import Value, plain_number
from .graph import Graph

BUDGET = 48_000  # characters for all tiles of a page
CELLS = (1024, 576, 256, 144, 64)  # cells per tile; the largest that the budget allows
MOST_PICTURES = 16  # per tile
BARS = 24
STRANGE = -128  # marks a non-finite cell
Tile = list[Any]  # rows, columns, pictures shown, pictures in all, the largest magnitude, base64


def cells_for(graph: Graph) -> int:
    """How many cells a tile may have so that all of them together stay small; 0 if there is no room."""
    values = [v for n in graph.nodes for v in (n.value, n.gradient) if v is not None]
    sizes = [v.array.size for v in values if _has_picture(v)]
    for cells in CELLS:
        if sum(min(size, cells) for size in sizes) * 4 // 3 <= BUDGET:
            return cells
    return 0


def tile(value: Value | None, cells: int) -> Tile | None:
    """A tensor as a heat map with at most this many cells."""
    if value is None or not cells or not _has_picture(value):
        return None
    pictures = _pictures(value.array)
    count = min(len(pictures), MOST_PICTURES)
    rows, columns = pictures.shape[1:]
    while count > 1 and rows * columns > cells // count and cells // count < 36:
        count -= 1
    rows, columns = _fit(rows, columns, cells // count)
    shown = np.stack([_shrunk(picture, rows, columns) for picture in pictures[:count]])
    finite = np.isfinite(shown)
    largest = float(np.max(np.abs(shown[finite]), initial=0.0))
    scaled = np.where(finite, shown, 0.0) / (largest or 1.0)
    codes = np.where(finite, np.rint(127 * scaled), STRANGE).astype(np.int8)
    text = base64.b64encode(codes.tobytes()).decode()
    return [rows, columns, count, len(pictures), plain_number(largest), text]


def histogram(value: Value | None) -> list[Any] | None:
    """Entries by the logarithm of their magnitude: from, to, count per bin, zeros, non-finite."""
    if value is None or not _has_picture(value) or value.is_few:
        return None
    sizes = np.abs(np.asarray(value.array, np.float64))
    sizes = sizes[np.isfinite(sizes)]
    logs = np.log10(sizes[sizes > 0])
    if not logs.size:
        return None
    low, high = math.floor(float(logs.min())), math.ceil(float(logs.max()))
    high = max(high, low + 1)
    counts, _ = np.histogram(logs, BARS, (low, high))
    return [low, high, counts.tolist(), int(sizes.size - logs.size), value.strange]


def _has_picture(value: Value) -> bool:
    array = value.array
    return array is not None and array.size > 1 and array.dtype.kind in "fiub"


def _pictures(array: Any) -> Any:
    """Pictures, one after the other; dimensions of size one are dropped."""
    shape = [n for n in array.shape if n > 1]
    plain = np.asarray(array, np.float64).reshape(shape)
    if plain.ndim == 1:
        return plain.reshape(1, 1, -1)
    return plain.reshape(-1, *shape[-2:])


def _fit(rows: int, columns: int, cells: int) -> tuple[int, int]:
    if rows * columns <= cells:
        return rows, columns
    shrink = math.sqrt(rows * columns / cells)
    fewer = max(1, min(rows, int(rows / shrink)))
    return fewer, max(1, min(columns, cells // fewer))


def _shrunk(picture: Any, rows: int, columns: int) -> Any:
    """The entry of each block that is largest in magnitude."""
    if picture.shape == (rows, columns):
        return picture
    down = np.arange(rows) * picture.shape[0] // rows
    across = np.arange(columns) * picture.shape[1] // columns
    high = np.maximum.reduceat(np.maximum.reduceat(picture, down, 0), across, 1)
    low = np.minimum.reduceat(np.minimum.reduceat(picture, down, 0), across, 1)
    return np.where(-low > high, low, high)
