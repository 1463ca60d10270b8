"""What an operation's `out=` may be: whether it has one at all, and into which dtypes it casts.

Most operations cast their result to the dtype of `out` if the category allows. Those that keep their
input's dtype, that answer yes or no, or that give indices want an `out` of just that dtype.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from ..._arrays.dtypes import LEGACY_NAMES, dtype

_SPARSE = "tautograd._arrays.sparse.base"  # a program without sparse tensors does not have it
_SAME_AS_INPUT = frozenset(
    [
        "neg",
        "negative",
        "floor",
        "ceil",
        "round",
        "trunc",
        "fix",
        "frac",
        "sign",
        "sgn",
        "bitwise_not",
        "conj_physical",
    ]
)
_YES_OR_NO = frozenset(("isposinf", "isneginf", "signbit"))


def check_out(name: str, result: dtype, out: dtype) -> None:
    """Refuse an `out` whose dtype this operation will not write."""
    if result is out:
        return
    if name in _SAME_AS_INPUT:
        raise RuntimeError(f"Found dtype {LEGACY_NAMES[out]} but expected {LEGACY_NAMES[result]}")
    if name in _YES_OR_NO:
        raise RuntimeError(f"{name} does not support non-boolean outputs.")
    if name == "nonzero":
        raise RuntimeError(
            "nonzero: Expected out tensor to have scalar type Long but got scalar type"
            f"{LEGACY_NAMES[out]}"
        )


def refuse_cast(name: str, result: dtype, out: dtype) -> Exception:
    """The error for a result whose category `out` cannot hold."""
    if name == "cat":
        return TypeError(
            f"torch.cat(): input types can't be cast to the desired output type {LEGACY_NAMES[out]}"
        )
    return RuntimeError(
        f"result type {LEGACY_NAMES[result]} can't be cast to the desired output type "
        f"{LEGACY_NAMES[out]}"
    )


def check_layout(name: str, out: Any, result: Any = None) -> None:
    """Refuse an `out` that has no memory for all elements, where the result is a dense one."""
    sparse = sys.modules.get(_SPARSE)
    if sparse is not None and sparse.is_sparse(out) and not sparse.is_sparse(result):
        raise NotImplementedError(
            f"Could not run 'aten::{name}.out' with arguments from the '{out.backend}' backend: a dense "
            "result is not written into a sparse tensor."
        )


@functools.cache
def check_takes_out(name: str) -> None:
    """Refuse `out=` where PyTorch's function has none, though ours could fill it."""
    from .signatures import signatures_of

    known = signatures_of(name)
    if known and not any(p.name == "out" for form in known for p in form.parameters):
        last = name.rpartition(".")[2]
        raise TypeError(f"{last}() got an unexpected keyword argument 'out'")
