"""Transforms: functions with an inverse and the logarithm of their Jacobian's determinant."""

from __future__ import annotations

from ._combining import ComposeTransform, IndependentTransform, ReshapeTransform
from ._elementwise import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from ._joining import CatTransform, StackTransform
from ._structured import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)
from ._transform import Transform, _InverseTransform

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]

identity_transform: Transform = ComposeTransform([])

_PUBLIC = [Transform, _InverseTransform, ComposeTransform, IndependentTransform, ReshapeTransform]
for _kind in (*_PUBLIC, *(globals()[name] for name in __all__)):
    if isinstance(_kind, type):
        _kind.__module__ = __name__  # where PyTorch has it, and pickles look for it
