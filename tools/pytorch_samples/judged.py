"""Whether tautograd's numbers are as accurate as PyTorch's, by a bound derived for each sample.

The truth is PyTorch's result in double precision, for the same inputs. An evaluation may be off by a
few roundings of each result, by as much as PyTorch's own is, and by as much as rounding the inputs once
would move the result (what a backward-stable algorithm gives): elementwise

    |ours - PyTorch's| <= 8 eps |PyTorch's| + 4 (max |PyTorch's - truth| + max |truth of rounded inputs - truth|)

or the same with the truth in place of PyTorch's. NaNs and infinities must be in the same places. Integers
and booleans must be equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .carried import CarriedTensor

EPS = {
    "float32": 2.0**-23, "complex64": 2.0**-23, "bfloat16": 2.0**-7, "float16": 2.0**-10,
    "float64": 2.0**-52, "complex128": 2.0**-52,
}  # fmt: skip


def difference(ours: Any, theirs: Any, truth: Any, moved: Any) -> str:
    """What is wrong with a list of serialised tensors; empty if nothing is."""
    if ours is None or theirs is None:
        return "" if ours is theirs else f"{_named(ours)} where PyTorch has {_named(theirs)}"
    if len(ours) != len(theirs):
        return f"{len(ours)} tensors where PyTorch has {len(theirs)}"
    for number, (a, p) in enumerate(zip(ours, theirs, strict=True)):
        said = _one(a, p, _at(truth, number), _at(moved, number))
        if said:
            return f"{said} (number {number})" if len(ours) > 1 else said
    return ""


def _named(value: Any) -> str:
    return "none" if value is None else "tensors"


def _at(nest: Any, number: int) -> Any:
    return nest[number] if nest is not None and number < len(nest) else None


def _one(a: Any, p: Any, truth: Any, moved: Any) -> str:
    if a is None or p is None:
        if a is p or _is_zero(a if p is None else p):
            return ""
        return f"{_named(a)} where PyTorch has {_named(p)}"
    if a.dtype != p.dtype:
        return f"dtype {a.dtype} where PyTorch has {p.dtype}"
    if a.array.shape != p.array.shape:
        return f"shape {a.array.shape} where PyTorch has {p.array.shape}"
    ours, theirs = a.wide(), p.wide()
    if p.dtype not in EPS:
        wrong = ours != theirs
        return _said(wrong, ours, theirs, None)
    bound = 8 * EPS[p.dtype] * np.abs(np.nan_to_num(theirs))
    exact = truth.wide() if isinstance(truth, CarriedTensor) else None
    if exact is not None and exact.shape == theirs.shape:
        bound = bound + 4 * _largest(theirs, exact)
        if isinstance(moved, CarriedTensor) and moved.array.shape == theirs.shape:
            bound = bound + 4 * _largest(moved.wide(), exact)
    with np.errstate(all="ignore"):
        right = _same(ours, theirs) | (np.abs(ours - theirs) <= bound)
        if exact is not None and exact.shape == theirs.shape:
            right |= np.abs(ours - exact) <= bound
    return _said(~right, ours, theirs, exact)


def _is_zero(carried: CarriedTensor) -> bool:
    """No gradient and a gradient of zeros say the same."""
    return not carried.wide().any()


def _same(a: Any, b: Any) -> Any:
    return (a == b) | (np.isnan(a) & np.isnan(b))


def _largest(a: Any, b: Any) -> float:
    with np.errstate(all="ignore"):
        apart = np.abs(a - b)
    finite = apart[np.isfinite(apart)]
    return float(finite.max()) if finite.size else 0.0


def _said(wrong: Any, ours: Any, theirs: Any, exact: Any) -> str:
    wrong = np.asarray(wrong)
    count = int(wrong.sum())
    if not count:
        return ""
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    true = (
        f", in double precision {exact[first]!s}"
        if exact is not None and exact.shape == ours.shape
        else ""
    )
    return f"{count} of {wrong.size} differ: at {first} {ours[first]!s}, PyTorch {theirs[first]!s}{true}"
