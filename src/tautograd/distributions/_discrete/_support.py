"""Lists the values of a discrete distribution along a first dimension."""

from __future__ import annotations

from typing import Any

from tautograd import Tensor


def enumerated(values: Tensor, batch_shape: Any, expand: bool) -> Tensor:
    """Values as (n, 1, …, 1), or as (n, *batch_shape)."""
    values = values.view((-1,) + (1,) * len(batch_shape))
    return values.expand((-1, *batch_shape)) if expand else values
