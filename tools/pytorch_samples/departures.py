"""Known differences on PyTorch's samples, each with its reason, as data."""

from __future__ import annotations

import re
from typing import NamedTuple


class Departure(NamedTuple):
    """What differs in the operations of these names, and why that is correct."""

    operations: str  # a regular expression for the whole name
    said: str  # a regular expression searched in the finding
    reason: str


DEPARTURES: tuple[Departure, ...] = (
    Departure(
        r"(new_)?empty(_like|_strided|_permuted)?", "values:",
        "memory that is not initialised holds anything",
    ),
    Departure(
        r"_.*|torch\.ops\..*|.*_backward(_data)?|slice", "missing|there is no",
        "an operator of PyTorch's inside, which no documentation names",
    ),
    Departure(
        "as_strided_scatter", "gradients:",
        "PyTorch's gradient of what is written over fails its own gradcheck (docs/pytorch_findings.md)",
    ),
    Departure(
        "float_power", "values:",
        "powers of complex numbers in double precision are NumPy's, off by tens of units in the last place",
    ),
    Departure(
        "native_group_norm", "gradients:",
        "PyTorch takes gradients of the means and deviations it gives, and propagates wrong ones",
    ),
    Departure(
        r"(linalg\.)?(svd|eigh|eig)|(svd|pca)_lowrank", "values:",
        "the sign, or phase, of singular vectors and eigenvectors is free",
    ),
    Departure(
        "topk|kthvalue|mode|sort|argsort", r"values:.*(number 1|differ: at \(\d+,\) \d+, PyTorch \d+$)",
        "which of equal elements is named is free",
    ),
    Departure(
        r"nn\.functional\.fractional_max_pool2d", "values:|gradients:",
        "a sample whose random numbers lie outside of [0, 1), where there is no window",
    ),
    Departure(
        r"nn\.functional\.(layer_norm|scaled_dot_product_attention)|native_layer_norm", "gradients:.*e-0[67]",
        "zero but for rounding: what cancels was rounded in another order",
    ),
)  # fmt: skip


def reason_for(operation: str, dtype: str, said: str) -> str:
    """The reason for a known difference, or an empty string."""
    for departure in DEPARTURES:
        if re.fullmatch(departure.operations, operation) and re.search(departure.said, said):
            return departure.reason
    return ""
