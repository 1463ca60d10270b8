"""Rows of a table whose gradient is a sparse tensor: one row for each use (`Embedding(sparse=True)`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.sparse.coo import CooArray
from ..declare.record import Op
from ..nn.embedding import rows_at
from ..nn.embedding_bags import bag_sum_op, rows_of_bags
from . import kinds  # noqa: F401  (what a sparse tensor says of itself)


def rows_used(g: Any, index: Any, count: int, padding_idx: int) -> CooArray:
    """Gradients of rows as a sparse table of `count` rows, in the order in which they were used."""
    flat = np.reshape(index, (index.size,)).astype(np.int64)
    values = np.reshape(g, (index.size, g.shape[-1]))
    if padding_idx >= 0:
        kept = flat != padding_idx
        flat, values = flat[kept], values[kept]
    return CooArray(flat[None], values, (count, g.shape[-1]))


def _vjp(g: Any, index: Any, weight_shape: Any, padding_idx: int, scale: bool) -> Any:
    if scale:
        raise RuntimeError(
            "embedding_backward: scale_grad_by_freq not supported with sparse gradients"
        )
    return rows_used(g, index, weight_shape[0], padding_idx)


sparse_embedding_op = Op(
    "sparse_embedding",
    lambda weight, index, padding_idx, scale: rows_at(weight, index),
    ("weight", "index"),
    parameters=("padding_idx", "scale"),
    vjp={"weight": _vjp},
    node="EmbeddingBackward0",
    opmath=False,
    internal=True,
)


def _bag_vjp(
    g: Any, samples: Any, index: Any, bag: Any, weight_shape: Any, bags: int, mean: bool, padding_idx: int
) -> Any:  # fmt: skip
    rows = rows_of_bags(g, samples, index, bag, bags, mean, padding_idx)
    return rows_used(rows, index, weight_shape[0], padding_idx)


sparse_bag_op = Op(
    "sparse_embedding_bag",
    bag_sum_op.forward,
    bag_sum_op.inputs,
    vjp={
        "weight": _bag_vjp,
        "samples": bag_sum_op.vjp[1].rule,
    },
    node="EmbeddingBagBackward0",
    internal=True,
)
