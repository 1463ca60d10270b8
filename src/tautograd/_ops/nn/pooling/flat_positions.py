"""Elements of images picked and placed by flat position: what pools with indices are made of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...indexing.gathering import gather_op, scatter_add_op
from ..convolution.windows import Ints


def flattened(x: Any, rank: int) -> Any:
    """The last dimensions as one."""
    lead = tuple(x.shape)[: x.ndim - rank]
    return np.reshape(x, (*lead, math.prod(tuple(x.shape)[x.ndim - rank :])))


def picked(x: Any, indices: Any, rank: int) -> Any:
    """The elements of each image at flat positions."""
    flat = gather_op(flattened(x, rank), flattened(indices, rank), dim=x.ndim - rank)
    return np.reshape(flat, tuple(indices.shape))


def placed(g: Any, indices: Any, size: Ints) -> Any:
    """Images of zeros with elements added at flat positions: the adjoint of `picked`."""
    rank = len(size)
    lead = tuple(g.shape)[: g.ndim - rank]
    zeros = np.zeros_like(g, shape=(*lead, math.prod(size)))
    flat = scatter_add_op(zeros, flattened(indices, rank), flattened(g, rank), dim=len(lead))
    return np.reshape(flat, (*lead, *size))


def picked_rows(x: Any, position: Any) -> Any:
    """The elements at flat positions that all channels share: `(batch, channels, *points)`."""
    batch, channels, *size = x.shape
    points = tuple(position.shape)[1:]
    index = np.broadcast_to(
        np.expand_dims(np.reshape(position, (batch, math.prod(points))), 1),
        (batch, channels, math.prod(points)),
    )
    flat = gather_op(np.reshape(x, (batch, channels, math.prod(size))), index, dim=2)
    return np.reshape(flat, (batch, channels, *points))


def placed_rows(g: Any, position: Any, size: Ints) -> Any:
    """The adjoint of `picked_rows`: images with elements added at flat positions."""
    batch, channels, *points = g.shape
    count = math.prod(points)
    index = np.broadcast_to(
        np.expand_dims(np.reshape(position, (batch, count)), 1), (batch, channels, count)
    )
    zeros = np.zeros_like(g, shape=(batch, channels, math.prod(size)))
    flat = scatter_add_op(zeros, index, np.reshape(g, (batch, channels, count)), dim=2)
    return np.reshape(flat, (batch, channels, *size))
