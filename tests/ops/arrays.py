"""Arrays for samples: the values, layouts and dtypes that a `T` stands for.

One seeded draw per `T`: the same numbers reach both engines, and a failing case can be made again
from its name alone.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import torch

import tautograd
from tautograd._ops.declare.samples import T
from tautograd._tensor.tensor import make

DTYPES = (
    "float32", "float64", "float16", "bfloat16", "complex64", "complex128",
    "int64", "int32", "int16", "int8", "uint8", "bool",
)  # fmt: skip
FLOATS = ("float32", "float64", "float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
DIFFERENTIABLE = FLOATS + COMPLEX


def numpy_dtype(name: str) -> Any:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def array_for(t: T, dtype: str, position: int = 0) -> np.ndarray:
    """The array a `T` stands for, in its layout; `position` keeps two alike `T`s apart."""
    key = t.shape, t.low, t.high, t.kind, t.seed
    return laid_out(_drawn(key, t.dtype or dtype, position), t.layout)


@lru_cache(maxsize=2000)  # both engines ask for the same, then each test of a record does
def _drawn(key: tuple[Any, ...], dtype: str, position: int) -> np.ndarray:
    shape, low, high, kind, seed = key
    rng = np.random.default_rng([7, seed, position, *shape])
    with np.errstate(all="ignore"):
        values = _values(T(*shape, low=low, high=high, kind=kind), dtype, rng)
        values = np.asarray(values).astype(numpy_dtype(dtype), copy=False)
    values.flags.writeable = False  # `laid_out` copies it
    return values


def laid_out(values: np.ndarray, layout: str) -> np.ndarray:
    """The same values in memory of their own, ordered another way."""
    shape = values.shape
    if layout == "transposed" and len(shape) > 1:
        return np.copy(np.swapaxes(values, -1, -2), order="C").swapaxes(-1, -2)
    if layout == "strided" and shape:
        room = np.zeros((*shape[:-1], 2 * shape[-1]), values.dtype)
        room[..., ::2] = values
        return room[..., ::2]
    if layout == "offset" and shape:
        room = np.zeros(tuple(n + 1 for n in shape), values.dtype)
        part = room[(slice(1, None),) * len(shape)]
        part[...] = values
        return part
    if layout.startswith("expanded") and shape and values.size:
        dim = len(shape) - 1 if layout == "expanded last" else 0
        first = np.copy(np.take(values, [0], dim), order="C")
        strides = tuple(0 if d == dim else step for d, step in enumerate(first.strides))
        return np.lib.stride_tricks.as_strided(first, shape, strides, writeable=True)
    if layout == "channels last" and len(shape) > 2:
        return np.moveaxis(np.copy(np.moveaxis(values, 1, -1), order="C"), -1, 1)
    if layout == "reversed" and len(shape) > 1:
        return np.copy(values.T, order="C").T
    if layout == "reversed offset" and shape:
        return laid_out(values.T, "offset").T
    return np.copy(values, order="C")


# --- values --------------------------------------------------------------------------------------


def _values(t: T, dtype: str, rng: Any) -> np.ndarray:
    if t.kind.startswith("extremes"):
        some = extremes(dtype)
        if "but the smallest" in t.kind and dtype not in DIFFERENTIABLE:
            some = some[some > np.min(some)]
        if "no zero" in t.kind:
            some = some[some != 0]
        return np.resize(some, t.shape)
    draw = _KINDS[t.kind](t, dtype, rng)
    if dtype == "bool":
        return draw > (t.low + t.high) / 2 if draw.dtype != bool else draw
    return draw


def _uniform(t: T, dtype: str, rng: Any) -> np.ndarray:
    if dtype in COMPLEX:
        return rng.uniform(t.low, t.high, t.shape) + 1j * rng.uniform(t.low, t.high, t.shape)
    if dtype in FLOATS or dtype == "bool":
        return rng.uniform(t.low, t.high, t.shape)
    low, high = integer_range(t, dtype)
    return rng.integers(low, high + 1, t.shape)


def integer_range(t: T, dtype: str) -> tuple[int, int]:
    """The integers inside [low, high); around it where there is none."""
    low, high = int(np.ceil(t.low)), int(np.ceil(t.high)) - 1
    if low > high:
        low, high = int(np.floor(t.low)), int(np.ceil(t.high))
    if dtype == "uint8":
        low, high = max(low, 0), max(high, 0)
    return low, high


def _distinct(t: T, dtype: str, rng: Any) -> np.ndarray:
    count = int(np.prod(t.shape))
    if dtype in FLOATS or dtype in COMPLEX:
        values = np.linspace(t.low, t.high, count + 2)[1:-1]
    else:
        values = np.arange(count) - (count // 2 if dtype not in ("uint8", "bool") else 0)
    values = rng.permutation(values).reshape(t.shape)
    return (
        values + 1j * rng.permutation(values.ravel()).reshape(t.shape)
        if dtype in COMPLEX
        else values
    )


def _distinct_index(t: T, dtype: str, rng: Any) -> np.ndarray:
    """Integers of [low, high), no two alike: places to write to, where an order would matter."""
    choices = np.arange(int(t.low), int(t.high))
    return rng.permutation(choices)[: int(np.prod(t.shape))].reshape(t.shape)


def _ties(t: T, dtype: str, rng: Any) -> np.ndarray:
    low, high = integer_range(t, dtype)
    draw = rng.integers(low, high + 1, t.shape)
    return draw + 1j * rng.integers(low, high + 1, t.shape) if dtype in COMPLEX else draw


def _matrix(change: Any) -> Any:
    def make_matrix(t: T, dtype: str, rng: Any) -> np.ndarray:
        return change(_uniform(t, dtype, rng), t.shape[-1])

    return make_matrix


def _adjoint(a: np.ndarray) -> np.ndarray:
    return np.conjugate(np.swapaxes(a, -1, -2))


def _one_hot(t: T, dtype: str, rng: Any) -> np.ndarray:
    picks = rng.integers(0, max(t.shape[-1], 1), t.shape[:-1])
    return np.eye(t.shape[-1])[picks]


_KINDS: dict[str, Any] = {
    "uniform": _uniform,
    "distinct": _distinct,
    "distinct_index": _distinct_index,
    "ties": _ties,
    "ascending": lambda t, dtype, rng: np.sort(_distinct(t, dtype, rng), axis=-1),
    "spd": _matrix(lambda a, n: a @ _adjoint(a) + n * np.eye(n)),
    "symmetric": _matrix(lambda a, n: (a + _adjoint(a)) / 2 + np.diag(np.arange(n)) * 2),
    "well_conditioned": _matrix(lambda a, n: a + 2 * n * np.eye(a.shape[-2], n)),
    "lower": _matrix(lambda a, n: np.tril(a) + 2 * np.eye(a.shape[-2], n)),
    "upper": _matrix(lambda a, n: np.triu(a) + 2 * np.eye(a.shape[-2], n)),
    "one_hot": _one_hot,
    "zeros": lambda t, dtype, rng: np.zeros(t.shape),
    "falling": lambda t, dtype, rng: np.arange(t.shape[0], 0, -1),
    "offsets": lambda t, dtype, rng: np.cumsum(np.arange(t.shape[0])),
}


def extremes(dtype: str) -> np.ndarray:
    """Where elementwise functions go wrong: signed zeros, infinities, NaN, subnormal, largest."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype not in FLOATS + COMPLEX:
        info = np.iinfo(dtype)
        some = [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1]
        return np.array(some + ([-1, -2, -3] if info.min else []), dtype)
    real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    info = ml_dtypes.finfo(numpy_dtype(real))
    some = [0.0, 1.0, 0.5, 1.5, 2.0, 3.0, 10.0, 100.0, float(info.tiny), float(info.max)]
    some += [float(info.smallest_subnormal), float(info.eps), 2.0**24 + 2, np.inf]
    signed = np.array([*some, *(-x for x in some), np.nan]).astype(numpy_dtype(real))
    if dtype in FLOATS:
        return signed
    few = np.array([0.0, -0.0, 1.0, -1.5, float(info.eps), np.inf, -np.inf, np.nan])
    grid = np.empty((len(few), len(few)), dtype)
    grid.real, grid.imag = few[:, None], few
    return grid.ravel()


# --- onto the engines ----------------------------------------------------------------------------


def to_torch(array: np.ndarray, grad: bool = False) -> torch.Tensor:
    """A PyTorch tensor on this array's memory, strides and all."""
    if not array.size:  # NumPy gives an array without elements no strides to speak of
        tensor = torch.empty(array.shape, dtype=getattr(torch, str(array.dtype)))
    elif array.dtype == ml_dtypes.bfloat16:
        tensor = torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    else:
        tensor = torch.from_numpy(array)
    return tensor.requires_grad_() if grad else tensor


def to_tautograd(array: np.ndarray, grad: bool = False) -> tautograd.Tensor:
    """A tautograd tensor on this array's memory."""
    tensor = make(array)
    return tensor.requires_grad_() if grad else tensor


def from_torch(tensor: torch.Tensor) -> np.ndarray:
    """The values of a PyTorch tensor (bfloat16 as ml_dtypes has it)."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor._is_zerotensor():  # a zero that PyTorch has not written down yet
        tensor = torch.zeros(tensor.shape, dtype=tensor.dtype)
    if tensor.dtype == torch.complex32:
        tensor = tensor.to(torch.complex64)
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()
