"""Kernels made for the job: what some records do on a GPU instead of a chain of array functions."""

from __future__ import annotations


def install() -> None:
    """Put all of them in place; called once, when CUDA is first used."""
    from .. import nn_families  # noqa: F401  (declares records that only networks use)
    from . import (
        activations,
        arithmetic,
        attention,
        batch_norms,
        casts,
        convolutions,
        losses,
        lstm,
        products,
        rows,
        shapes,
    )

    for part in (
        arithmetic, casts, activations, rows, losses, products, attention, convolutions, batch_norms,
        lstm, shapes,
    ):  # fmt: skip
        part.install()
