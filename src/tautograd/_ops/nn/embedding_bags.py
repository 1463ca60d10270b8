"""Sums, means and maxima of bags of rows: `embedding_bag`.

A bag is a run of the input; `bag` says for each element which one it is in. Sums are those of
`embedding`'s gradient, the other way round; of a maximum, the first row that has it counts.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..._arrays.checks import require_all, require_range
from ..._arrays.dtypes import LEGACY_NAMES
from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor, make
from ..._user_code.sites import warning_level
from ..declare.record import Op
from ..declare.samples import Sample, T
from ..indexing.gathering import scatter_add_op
from ..indexing.index_arguments import own_copy, taken
from .embedding import check_indices, renormalise, rows_at, sum_rows, wants_sparse
from .losses.reduction import functional

# --- sums and means ------------------------------------------------------------------------------


def _factors(like: Any, index: Any, bag: Any, bags: int, mean: bool, padding_idx: int) -> Any:
    """What each element counts in its bag, as a column; None: one."""
    if padding_idx < 0 and not mean:
        return None
    kept = np.expand_dims(np.astype(index != padding_idx, like.dtype), -1)
    if not mean:
        return kept
    total = rows_at(sum_rows(kept, bag, bags), bag)
    return kept / np.maximum(total, 1)


def _shares(
    weight: Any, samples: Any, index: Any, bag: Any, bags: int, mean: bool, pad: int
) -> Any:
    rows = rows_at(weight, index)
    factors = _factors(rows, index, bag, bags, mean, pad)
    rows = rows if factors is None else rows * factors
    return rows if samples is None else rows * np.expand_dims(samples, -1)


def _sum(
    weight: Any, samples: Any, index: Any, bag: Any, bags: int, mean: bool, padding_idx: int
) -> Any:
    return sum_rows(_shares(weight, samples, index, bag, bags, mean, padding_idx), bag, bags)


def _weight_vjp(
    g: Any,
    samples: Any,
    index: Any,
    bag: Any,
    weight_shape: tuple[int, ...],
    bags: int,
    mean: bool,
    padding_idx: int,
    scale: bool,
) -> Any:
    rows = rows_of_bags(g, samples, index, bag, bags, mean, padding_idx)
    return sum_rows(rows, index, weight_shape[0], -1, scale)


def rows_of_bags(
    g: Any, samples: Any, index: Any, bag: Any, bags: int, mean: bool, padding_idx: int
) -> Any:
    """The gradient of each row that went into a bag."""
    rows = rows_at(g, bag)
    factors = _factors(rows, index, bag, bags, mean, padding_idx)
    rows = rows if factors is None else rows * factors
    return rows if samples is None else rows * np.expand_dims(samples, -1)


def _samples_vjp(
    g: Any, weight: Any, index: Any, bag: Any, bags: int, mean: bool, padding_idx: int
) -> Any:
    rows = _shares(weight, None, index, bag, bags, mean, padding_idx)
    return np.sum(rows_at(g, bag) * rows, axis=-1)


bag_sum_op = Op(
    "embedding_bag",
    lambda weight, samples, index, bag, bags, mean, padding_idx, scale: _sum(
        weight, samples, index, bag, bags, mean, padding_idx
    ),
    ("weight", "samples", "index", "bag"),
    vjp={"weight": _weight_vjp, "samples": _samples_vjp},
    jvp={
        "weight": lambda t, samples, index, bag, bags, mean, padding_idx: _sum(
            t, samples, index, bag, bags, mean, padding_idx
        ),
        "samples": lambda t, weight, index, bag, bags, mean, padding_idx: _sum(
            weight, t, index, bag, bags, mean, padding_idx
        ),
    },
    public="nn.functional.embedding_bag",
    samples=lambda: [
        Sample(_index(2, 3, high=4), T(4, 3)),
        Sample(_index(2, 3, high=4), T(4, 3), mode="sum", padding_idx=1),
        Sample(_index(2, 3, high=4), T(4, 3), mode="mean", padding_idx=-4),
        Sample(_index(2, 3, high=4), T(4, 3), mode="sum", per_sample_weights=T(2, 3)),
        Sample(_index(5, high=4), T(4, 3), _index(1, high=1), mode="sum"),
        Sample(_index(5, high=4), T(4, 3), _index(1, high=1), per_sample_weights=T(5), mode="sum"),
    ],
)

# --- maxima --------------------------------------------------------------------------------------


def _winners(weight: Any, index: Any, bag: Any, bags: int, padding_idx: int) -> Any:
    """The row of the table that has the maximum, for each bag and column; -1: an empty bag."""
    count = index.shape[0]
    if not count:
        return np.full_like(index, -1, shape=(bags, weight.shape[1]))
    rows = rows_at(weight, index)
    kept = np.expand_dims(index != padding_idx, -1)
    rows = np.where(kept, rows, -np.inf)
    best = own_copy(np.full_like(rows, -np.inf, shape=(bags, weight.shape[1])), index, bag, weight)
    np.maximum.at(best, bag, rows)
    places = np.expand_dims(np.arange(count, like=index), -1)
    hit = np.where(np.logical_and(rows == rows_at(best, bag), kept), places, count)
    first = own_copy(np.full_like(hit, count, shape=best.shape), index, bag, weight)
    np.minimum.at(first, bag, hit)
    return np.where(first < count, taken(index, np.minimum(first, count - 1)), -1)


winners_op = Op("embedding_bag_winners", _winners, ("weight", "index", "bag"), opmath=False)


def _picked(table: Any, winners: Any) -> Any:
    found = np.take_along_axis(table, np.maximum(winners, 0), 0)
    return np.where(winners >= 0, found, 0)


def _max_vjp(g: Any, weight: Any, index: Any, bag: Any, bags: int, padding_idx: int) -> Any:
    winners = winners_op(weight, index, bag, bags=bags, padding_idx=padding_idx)
    zeros = np.zeros_like(g, shape=weight.shape)
    return scatter_add_op(zeros, np.maximum(winners, 0), np.where(winners >= 0, g, 0), dim=0)


bag_max_op = Op(
    "embedding_bag_max",
    lambda weight, index, bag, bags, padding_idx: _picked(
        weight, winners_op(weight, index, bag, bags=bags, padding_idx=padding_idx)
    ),
    ("weight", "index", "bag"),
    vjp={"weight": _max_vjp},
    jvp={
        "weight": lambda t, weight, index, bag, bags, padding_idx: _picked(
            t, winners_op(weight, index, bag, bags=bags, padding_idx=padding_idx)
        )
    },
    opmath=False,
    node="EmbeddingBagBackward0",
    public="nn.functional.embedding_bag",
    samples=lambda: [
        Sample(_index(2, 3, high=4), T(4, 3), mode="max"),
        Sample(_index(2, 3, high=4), T(4, 3), mode="max", padding_idx=2),
        Sample(_index(5, high=4), T(4, 3), _index(1, high=1), mode="max"),
    ],
)


def _index(*shape: int, high: int) -> T:
    return T(*shape, low=0, high=high, dtype="int64")


# --- the public function -------------------------------------------------------------------------


def _bag_of_each(count: int, offsets: Any) -> Any:
    """Which bag each of `count` elements is in."""
    if type(offsets) is np.ndarray:
        return np.searchsorted(offsets, np.arange(count), side="right") - 1
    later = np.arange(count, like=offsets)[:, None] >= offsets[1:]
    return np.sum(np.astype(later, np.int64), axis=1)


def _check_offsets(offsets: Any, count: int) -> None:
    if not offsets.shape[0]:
        return
    require_all(
        offsets[:1],
        lambda x: x == 0,
        lambda first: RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
            f"position 0. However, got {first}"
        ),
    )
    require_all(
        offsets[-1:],
        lambda x: x <= count,
        lambda last: RuntimeError(
            f"offsets[-1] can not be greater than input's length {count} but got offsets[-1] of {last}"
        ),
    )


def _check_weight(weight: Tensor, samples: Tensor | None) -> None:
    if weight._data.dtype.kind not in "fV":
        kind = LEGACY_NAMES[weight.dtype]
        found = f"CPU{kind}Type" if kind.startswith(("Complex", "Bool")) else f"torch.{kind}Tensor"
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: "
            f"Half, BFloat16, Float, Double; but got {found} instead (while checking arguments for "
            "embedding_bag)"
        )
    if samples is not None and samples.dtype is not weight.dtype:
        names = [f"torch.{LEGACY_NAMES[v.dtype]}Tensor" for v in (weight, samples)]
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument "
            f"#1 'per_sample_weights'; but type {names[0]} does not equal {names[1]} (while checking "
            "arguments for embedding_bag)"
        )


@functional
def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of rows of `weight`, for each bag of `input`."""
    if weight._data.dtype == np.int64 and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage "
            "`embedding_bag(weight, input, ...)` is deprecated, and should now be "
            "`embedding_bag(input, weight, ...)`.",
            stacklevel=warning_level(),
        )
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.size()}) is not None, then it "
            f"must have the same shape as the input ({input.size()})"
        )
    index, bag, bags = _bags(input, offsets, include_last_offset)
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )
    check_indices("embedding_bag", input)
    _check_weight(weight, per_sample_weights)
    if max_norm is not None:  # which writes, so after all that can be refused
        renormalise(weight, input, max_norm, norm_type)
    count = weight._data.shape[0]
    if padding_idx is not None and not -count <= padding_idx < count:
        raise RuntimeError(
            "padding_idx must be within the number of embeddings, "
            f"{-count} through {count - 1}, but got {padding_idx}"
        )
    require_range(
        index._data,
        0,
        count,
        lambda found: RuntimeError(
            f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {found}"
            if mode == "max" or padding_idx is not None
            else f"Index {found.place} of input takes value {found} which is not in the valid range "
            f"[0, {count})"
        ),
    )
    parameters: dict[str, Any] = {
        "bags": bags,
        "padding_idx": -1 if padding_idx is None else padding_idx % count,
    }
    if mode == "max":
        return apply(bag_max_op, (weight, index, bag), parameters)  # type: ignore[no-any-return]
    if per_sample_weights is not None:
        per_sample_weights = per_sample_weights.reshape(-1)
    parameters.update(mean=mode == "mean", scale=scale_grad_by_freq)
    op = bag_sum_op
    if wants_sparse(sparse, weight):
        from ..sparse.embeddings import sparse_bag_op as op
    return apply(op, (weight, per_sample_weights, index, bag), parameters)  # type: ignore[no-any-return]


def _bags(input: Any, offsets: Any, include_last_offset: bool) -> tuple[Tensor, Tensor, int]:
    """The elements in one row, the bag of each, and how many bags there are."""
    shape = tuple(input._data.shape)
    if len(shape) == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
                f"fixed length sequences. However, found offsets of type {type(offsets)}"
            )
        bag = np.repeat(np.arange(shape[0]), shape[1])
        return input.reshape(-1), make(bag), shape[0]
    if len(shape) != 1:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {len(shape)}"
        )
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    starts = offsets._data
    _check_offsets(starts, shape[0])
    if include_last_offset:
        starts = starts[:-1]
    return input, make(_bag_of_each(shape[0], starts)), starts.shape[0]
