"""Finding places in sorted boundaries, and membership."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.checks import require_range
from ..._arrays.dtypes import ALL_DTYPES, BOOL, LEGACY_NAMES
from ..._arrays.result_layout import in_c_order
from ..._autograd.apply import apply
from ..._tensor.creation import tensor
from ..._tensor.tensor import Tensor, make
from ..declare.dims import no_signature
from ..declare.elementwise_calls import refuse, require_tensor
from ..declare.promotion import compute_dtype
from ..declare.public import public
from ..declare.record import Op
from ..declare.samples import Sample, T
from ..declare.undefined_dtypes import no_kernel
from ..declare.warn_once import warn_once
from .reducing import spoken as _spoken


def _search(sequence: Any, values: Any, sorter: Any, right: bool, int32: bool) -> Any:
    """A binary search for every value at once: as many steps as halvings of the boundaries.

    Unsorted boundaries and NaN end up where PyTorch's search puts them, since each step asks the
    same question.
    """
    n = sequence.shape[-1]
    start = np.zeros_like(values, dtype=np.int64)
    end = start + n
    for _ in range(n.bit_length()):
        middle = start + (end - start) // 2
        at = np.minimum(middle, n - 1)
        if sorter is not None:
            at = _take(sorter, at)
        found = _take(sequence, at)
        beyond = np.logical_not(found > values if right else found >= values) & (start < end)
        end = np.where(beyond, end, np.minimum(middle, end))
        start = np.where(beyond, middle + 1, start)
    return np.astype(start, np.int32) if int32 else start


def _take(sequence: Any, at: Any) -> Any:
    if sequence.ndim == 1:
        return np.reshape(np.take_along_axis(sequence, np.reshape(at, (-1,)), axis=0), at.shape)
    return np.take_along_axis(sequence, at, axis=-1)


searchsorted_op = Op(
    "searchsorted",
    _search,
    ("sequence", "values", "sorter"),
    layout=in_c_order,
    refuses=no_kernel("searchsorted_out_cpu", "bc"),
    samples=lambda: [
        Sample(_sorted(5), T(3, 2)),
        Sample(_sorted(5), T(3, kind="ties"), right=True),
        Sample(_sorted(5), T(layout="contiguous")),
        Sample(_sorted(0), T(3)),
        Sample(_sorted(4), 1.5),
        Sample(_sorted(4), T(2), side="right", out_int32=True),
    ],
)


def _sorted(n: int) -> T:
    return T(n, kind="ascending")


def _index_out(name: str, args: Any, kwargs: dict[str, Any], out: Any) -> Any:
    """`out` has the dtype that `out_int32` says."""
    wanted = np.int32 if kwargs.get("out_int32") else np.int64
    if isinstance(out, Tensor) and out._data.dtype != wanted:
        raise RuntimeError(
            "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
            "Long(int64) depending on whether out_int32 flag is True, but we got output tensor's "
            f"dtype {_spoken(out)} and out_int32 flag is "
            f"{'True' if kwargs.get('out_int32') else 'False'}"
        )
    return args


@public(method=False, out=_index_out)
def searchsorted(
    sorted_sequence: Any,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """Where each value belongs in its sorted sequence: before its equals, or after (`right`)."""
    name = "torch.searchsorted()"
    require_tensor("searchsorted", sorted_sequence, "sorted_sequence")
    values = _as_tensor(input, sorted_sequence)
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"{name}: side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            f"{name}: side and right can't be set to opposites, got side of left while right was "
            "True"
        )
    boundaries, wanted = sorted_sequence._data.shape, values._data.shape
    if len(boundaries) != 1 and not wanted:
        raise RuntimeError(
            f"{name}: input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({len(boundaries)}) and input value's dim(0) numel(1)"
        )
    if not boundaries:
        raise RuntimeError(
            f"{name}: boundaries tensor should have positive dimension, but got 0 dimension"
        )
    if len(boundaries) != 1 and (len(boundaries) != len(wanted) or boundaries[:-1] != wanted[:-1]):
        raise RuntimeError(
            f"{name}: boundaries tensor should be 1 dimension or the first N-1 dimensions of "
            f"boundaries tensor and input value tensor must match, but we got boundaries tensor "
            f"{list(boundaries)} and input value tensor {list(wanted)}"
        )
    if sorter is not None:
        if sorter._data.shape != boundaries:
            raise RuntimeError(
                f"{name}: boundary and sorter must have the same size, but got boundary tensor "
                f"{list(boundaries)}and got sorter tensor {list(sorter._data.shape)}"
            )
        if sorter._data.dtype != np.int64:
            raise RuntimeError(
                f"{name}: sorter must be a tensor of long dtype but got dtype {_spoken(sorter)}"
            )
        require_range(
            sorter._data,
            0,
            boundaries[-1],
            lambda _: RuntimeError(f"{name}: sorter index out of range"),
            waits=True,
        )
    return _searched(sorted_sequence, values, sorter, right or side == "right", out_int32)


def _warn_of_copies(sequence: Tensor, values: Tensor, sorter: Any) -> None:
    for what, given in (("input value", values), ("boundary", sequence), ("sorter", sorter)):
        if given is not None and not given.is_contiguous():
            warn_once(
                f"torch.searchsorted(): {what} tensor is non-contiguous, this will lower the performance "
                "due to extra data copy when converting non-contiguous tensor to contiguous, please use "
                f"contiguous {what} tensor if possible. This message will only appear once per program."
            )


def _searched(sequence: Tensor, values: Tensor, sorter: Any, right: bool, int32: bool) -> Any:
    _warn_of_copies(sequence, values, sorter)
    if values._data.dtype != sequence._data.dtype:
        compute = compute_dtype((sequence, values), "common")
        sequence, values = (make(np.astype(t._data, compute)) for t in (sequence, values))
    refuse(searchsorted_op, sequence._data.dtype)
    return apply(searchsorted_op, (sequence, values, sorter), {"right": right, "int32": int32})


def _as_tensor(value: Any, like: Tensor) -> Any:
    """A number among boundaries takes the default dtype of its kind."""
    if isinstance(value, Tensor):
        return value
    return tensor(value)


@public(method=False, out=_index_out)
def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """The bucket between sorted 1-dim boundaries that each value falls into."""
    require_tensor("bucketize", boundaries, "boundaries", 2)
    if boundaries._data.ndim != 1:
        raise RuntimeError(
            f"boundaries tensor must be 1 dimension, but got dim({boundaries._data.ndim})"
        )
    return _searched(boundaries, _as_tensor(input, boundaries), None, right, out_int32)


isin_op = Op(
    "isin",
    lambda x, tests, invert: np.isin(x, tests, invert=invert),
    ("x", "tests"),
    refuses={
        d.numpy: (RuntimeError, f"Unsupported input type encountered for isin(): {spoken}")
        for d, spoken in LEGACY_NAMES.items()
        if d in ALL_DTYPES
        if d.is_complex or d.category == BOOL
    },
    samples=lambda: [
        Sample(T(3, 4, kind="ties"), T(3, kind="ties", seed=1)),
        Sample(T(5, kind="ties"), T(2, 2, kind="ties", seed=1), invert=True),
        Sample(T(kind="ties"), T(3, kind="ties", seed=1)),
        Sample(T(5, kind="ties"), T(0)),
        Sample(T(0, 2), T(3)),
        Sample(T(5, kind="ties"), 1),
        Sample(1, T(5, kind="ties")),
    ],
)


@public(method=False)
def isin(
    *operands: Any,
    element: Any = None,
    elements: Any = None,
    test_element: Any = None,
    test_elements: Any = None,
    assume_unique: bool = False,
    invert: bool = False,
) -> Any:
    """Whether each of `elements` is among `test_elements`; either may be one number instead."""
    given = [
        *operands,
        *(v for v in (element, elements, test_element, test_elements) if v is not None),
    ]
    if len(given) != 2:
        raise no_signature("isin", *given)
    elements, test_elements = given
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise no_signature("isin", elements, test_elements)
    pair = (_as_tensor(elements, test_elements), _as_tensor(test_elements, elements))
    compute = compute_dtype(pair, "common")
    for operand in pair:
        refuse(isin_op, operand._data.dtype)
    return apply(isin_op, pair, {"invert": invert}, compute)
