"""What made the numbers that a loss is given."""

from __future__ import annotations

from typing import Any

from ...watch.graph_walk import node_name
from ..graph.loss_roots import before_views

CLIPPED = "Clamp", "ClampMin", "ClampMax"


def maker_of(tensor: Any) -> str:
    """The operation that made a tensor's numbers: 'Softmax', behind views and clamps."""
    node = before_views(tensor, CLIPPED)
    return "" if node is None else node_name(node)
