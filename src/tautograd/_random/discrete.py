"""Discrete choices by comparison: Bernoulli, geometric and multinomial.

Each sample costs a fixed number of uniform numbers, so that whole arrays are drawn at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from . import arithmetic, names
from .continuous import exponential
from .engine import Generator, coins, unit_doubles, unit_floats
from .shapes import Shape, as_shape, count

if TYPE_CHECKING:
    import numpy.typing as npt

Array: TypeAlias = "npt.NDArray[Any]"

_MOST_CATEGORIES = 2**24
NO_PROBABILITY = "bernoulli: expected every p to be in [0, 1] (p_in >= 0 && p_in <= 1)"


def bernoulli(
    generator: Generator,
    shape: Shape,
    p: float = 0.5,
    dtype: npt.DTypeLike = np.float32,
) -> Array:
    """One with probability `p`, else zero: `Tensor.bernoulli_(p)`, and the mask of dropout.

    (Older PyTorch drew these from a vendor library on some processors; 2.13 never does.)
    """
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    sizes, kind = as_shape(shape), names.known(dtype)
    if kind.kind == "c" or kind in names.BAREBONES_UNSIGNED:
        raise names.not_implemented("bernoulli_scalar_cpu_", kind)
    found = coins(generator, count(sizes), p, kind)
    if found is None:
        found = (unit_doubles(generator, count(sizes)) < p).astype(kind)
    return found.reshape(sizes)


def bernoulli_from(
    generator: Generator, p: Array, dtype: npt.DTypeLike | None = None, shape: Shape | None = None
) -> Array:
    """One with the probability at its place in `p`: `torch.bernoulli(p)`, `bernoulli_(p)`.

    The result has `p`'s type and shape unless others are given; `p` then broadcasts to the shape.
    Only double-precision probabilities are compared with double-precision uniforms.
    """
    kind = check_coins(p, dtype)
    sizes = p.shape if shape is None else as_shape(shape)
    total = count(sizes)
    uniforms: Array
    if p.dtype == np.float64:
        probability, uniforms = p, unit_doubles(generator, total)
    else:
        probability, uniforms = p.astype(np.float32), unit_floats(generator, total)
    if total and not ((probability >= 0) & (probability <= 1)).all():
        raise RuntimeError(NO_PROBABILITY)
    return (uniforms.reshape(sizes) < probability).astype(kind)


def check_coins(p: Any, dtype: npt.DTypeLike | None) -> np.dtype:
    """The element type of coins with probabilities `p`, if there can be such."""
    kind: np.dtype = p.dtype if dtype is None else names.known(dtype)
    if kind.kind == "c" or kind in names.BAREBONES_UNSIGNED or kind in names.FLOAT8:
        raise names.not_implemented("bernoulli_tensor_cpu_self_", kind)
    names.require_floating("bernoulli_tensor_cpu_p_", p.dtype)
    return kind


def dropout_mask(
    generator: Generator, shape: Shape, keep: float, dtype: npt.DTypeLike, alignment: int = 16
) -> Array:
    """Ones where dropout keeps an element: on a CPU the coins of `bernoulli`.

    On a GPU neighbours share a call, as many as the memory's alignment in bytes lets be loaded at once.
    """
    return bernoulli(generator, shape, keep, dtype)


def geometric(
    generator: Generator, shape: Shape, p: float, dtype: npt.DTypeLike = np.float32
) -> Array:
    """Trials up to the first success of probability `p`: `Tensor.geometric_`."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    sizes, kind = as_shape(shape), names.known(dtype)
    if kind.kind in "cb" or kind in names.BAREBONES_UNSIGNED:
        raise names.not_implemented("geometric_cpu", kind)
    uniforms = unit_doubles(generator, count(sizes))
    trials = np.ceil(arithmetic.log(uniforms) / math.log1p(-p))
    if kind.kind in "iu":
        # Through int64, so that a count beyond a small integer type wraps as it does in C.
        trials = np.minimum(trials, 2.0**62).astype(np.int64)
    return arithmetic.narrow(trials, kind).reshape(sizes)


def multinomial(
    generator: Generator,
    probs: Array,
    num_samples: int,
    replacement: bool = False,
    exponentials: Callable[..., Any] = exponential,
) -> npt.NDArray[np.int64]:
    """Indices drawn with the weights in each row of `probs`: `torch.multinomial`."""
    kind = names.known(probs.dtype)
    if not 1 <= probs.ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if kind not in names.FLOATING:
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: "
            f"{names.torch_name(kind)}"
        )
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    categories = probs.shape[-1]
    if not replacement and num_samples > categories:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if categories > _MOST_CATEGORIES:
        raise RuntimeError("number of categories cannot exceed 2^24")
    rows = probs.reshape(-1, categories)
    if len(rows) == 0:
        return np.empty((0, num_samples), np.int64)
    if not replacement or num_samples == 1:
        chosen = _race(generator, rows, num_samples, exponentials)
    else:
        chosen = _inverted_sums(generator, rows, num_samples)
    return chosen if probs.ndim == 2 else chosen[0]


def _race(
    generator: Generator, rows: Array, num_samples: int, exponentials: Callable[..., Any]
) -> npt.NDArray[np.int64]:
    """The categories with the largest weight over an exponential number, best first.

    A single sample is drawn this way even with replacement. Equal scores (weights of zero) come
    in index order, for which PyTorch gives no rule.
    """
    weights = rows.astype(np.float64)
    if not ((weights >= 0) & (weights < np.inf)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(axis=1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    rivals = exponentials(generator, rows.shape, 1.0, rows.dtype)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scores = (rows / rivals).astype(np.float64)
    best: npt.NDArray[np.int64] = np.argmax(scores, axis=1, keepdims=True)
    if num_samples == 1:
        return best
    return np.argsort(-scores, axis=1, kind="stable")[:, :num_samples]


def _inverted_sums(generator: Generator, rows: Array, num_samples: int) -> npt.NDArray[np.int64]:
    """The first category whose normalised running sum reaches a uniform number."""
    wide = rows if rows.dtype == np.float64 else rows.astype(np.float32)
    if not (wide >= 0).all():
        raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
    if not np.isfinite(wide).all():
        raise RuntimeError(
            "invalid multinomial distribution (encountering probability entry = infinity or NaN)"
        )
    # cumsum adds from left to right in the type of the weights, as the kernel does.
    sums = np.cumsum(wide, axis=1, dtype=wide.dtype)
    if not (sums[:, -1] > 0).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    sums /= sums[:, -1:].copy()
    sums[:, -1] = 1
    uniforms = unit_doubles(generator, len(rows) * num_samples).reshape(len(rows), num_samples)
    ladder = sums.astype(np.float64)
    return np.stack([np.searchsorted(*pair) for pair in zip(ladder, uniforms, strict=True)])
