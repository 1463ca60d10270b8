"""Lowerings, one file per family of records."""

from . import (  # noqa: F401
    activations,
    comparing,
    elementwise,
    indexing,
    linalg,
    losses,
    moving,
    normalisation,
    pooling,
    random,
    recurrent,
    reductions,
    resizing,
    sorting,
    windows,
    writing,
)
