"""Attention by cuDNN, in half precision and over any length: the scores are never written to memory.

What is kept for the gradient is the result and, for each query, the logarithm of the sum of exponentials. Strides are
cuDNN's own business, so heads are not copied apart, and the gradients of queries, keys and values are written side
by side.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.cuda.cuda_array import CudaArray, new
from ..._arrays.cuda.cudnn import cudnn, strides_of
from . import flash
from .launch import dense

_FLOAT32 = np.dtype(np.float32)
_Q, _K, _V, _OUT, _STATS, _G, _DQ, _DK, _DV, _MASK = range(1, 11)  # numbers of a graph's tensors
_WIDEST = 256
_LOWEST = {"e": -3e4, "E": -1e30}  # what hides a key, as a number of the dtype


def suits(q: Any, k: Any, v: Any, mask: Any, scale: float) -> Any:
    """cuDNN, if it can be asked for these; else None."""
    for x in (q, k, v):
        if type(x) is not CudaArray or len(x.shape) != 4 or not x.size or x.dtype != q.dtype:
            return None
        if x.dtype.char not in "eE" or x.strides[-1] != 2 or x.ptr % 16:
            return None
        if x.shape[-1] % 8 or x.shape[-1] > _WIDEST or any(s % 16 for s in x.strides[:-1]):
            return None
    alike = k.shape[:-1] == v.shape[:-1] and k.shape[0] == q.shape[0] and k.shape[3] == q.shape[3]
    if not alike or q.shape[1] != k.shape[1] or not math.isfinite(scale):
        return None
    if mask is not None and (type(mask) is not CudaArray or len(mask.shape) > 4 or not mask.size):
        return None
    return cudnn()


def _tensor(graph: Any, x: Any, number: int, kind: Any = None) -> Any:
    options = {} if kind is None else {"data_type": kind}
    shape = list(x.shape)
    return graph.tensor(name=f"t{number}", dim=shape, stride=strides_of(x), uid=number, **options)


def _gives(found: Any, x: Any, number: int, kind: Any = None) -> None:
    found.set_output(True).set_dim(list(x.shape)).set_stride(strides_of(x)).set_uid(number)
    if kind is not None:
        found.set_data_type(kind)


class _Mask:
    """A mask as cuDNN adds it to scores, and which queries see any key at all.

    cuDNN takes exponentials of the difference to the largest score, which is no number where all of them are minus
    infinity. A query that sees nothing is therefore shown everything; what is found for it becomes zero, and so
    does the gradient that it gets. Elsewhere a large negative number hides a key.
    """

    def __init__(self, mask: Any, q: Any, k: Any) -> None:
        hidden = np.equal(mask, -np.inf)
        self.sees = np.logical_not(np.all(hidden, axis=-1, keepdims=True))
        low = np.asarray(_LOWEST[q.dtype.char], _FLOAT32)
        shown = np.where(hidden, low, np.astype(mask, _FLOAT32))
        shown = np.where(self.sees, shown, np.zeros((), _FLOAT32))
        shape = (1,) * (4 - len(mask.shape)) + tuple(mask.shape)
        whole = (*shape[:2], q.shape[2], k.shape[2])
        shown = np.broadcast_to(np.reshape(shown, shape), whole)
        self.added = np.astype(dense(shown), q.dtype)

    def only_seen(self, x: Any) -> Any:
        return np.where(self.sees, x, np.zeros_like(x, shape=()))


def _key(name: str, arrays: dict[int, Any], scale: float, causal: bool) -> tuple[Any, ...]:
    return (name, scale, causal, *[(x.shape, x.strides) for x in arrays.values()])


def forward(library: Any, q: Any, k: Any, v: Any, mask: Any, scale: float, causal: bool) -> Any:
    """The result, and what is kept for the gradient; None where cuDNN has no kernel for it."""
    out = flash.in_rows((*q.shape[:-1], v.shape[-1]), q.dtype)
    stats = new((*q.shape[:-1], 1), _FLOAT32)
    arrays = {_Q: q, _K: k, _V: v, _OUT: out, _STATS: stats}
    masked = None if mask is None else _Mask(mask, q, k)
    if masked is not None:
        arrays[_MASK] = masked.added

    def describe(graph: Any) -> None:
        given = [_tensor(graph, arrays[n], n) for n in (_Q, _K, _V)]
        more = {} if masked is None else {"bias": _tensor(graph, masked.added, _MASK)}
        found, kept = graph.sdpa(
            q=given[0], k=given[1], v=given[2], generate_stats=True, attn_scale=scale,
            use_causal_mask=causal, **more,
        )  # fmt: skip
        _gives(found, out, _OUT)
        _gives(kept, stats, _STATS, library.kinds["f"])

    built = library.built(_key("attention", arrays, scale, causal), describe, q.dtype.char)
    if built is None:
        return None
    library.run(built, {n: x.ptr for n, x in arrays.items()})
    if masked is not None:
        out = masked.only_seen(out)
    return out, stats, out


def are_kept(stats: Any, out: Any) -> bool:
    """Whether what was kept is this file's."""
    return type(out) is CudaArray and out.dtype.char in "eE" and stats.dtype == _FLOAT32


def backward(
    g: Any, q: Any, k: Any, v: Any, mask: Any, stats: Any, out: Any, scale: float, causal: bool
) -> Any:
    """The gradients of q, k and v; None where cuDNN has no kernel for them."""
    library = suits(q, k, v, mask, scale)
    if library is None or type(g) is not CudaArray or g.dtype != q.dtype:
        return None
    masked = None if mask is None else _Mask(mask, q, k)
    if masked is not None:
        g = masked.only_seen(g)
    g = flash.dense_rows(g)
    dq, dk, dv = flash.gradients_of(q, k, v)
    arrays = {
        _Q: q, _K: k, _V: v, _OUT: out, _STATS: stats, _G: g, _DQ: dq, _DK: dk, _DV: dv,
    }  # fmt: skip
    if masked is not None:
        arrays[_MASK] = masked.added

    def describe(graph: Any) -> None:
        kinds = {_STATS: library.kinds["f"]}
        more = {} if masked is None else {"bias": _tensor(graph, masked.added, _MASK)}
        t = {n: _tensor(graph, arrays[n], n, kinds.get(n)) for n in (_Q, _K, _V, _OUT, _STATS, _G)}
        found = graph.sdpa_backward(
            q=t[_Q], k=t[_K], v=t[_V], o=t[_OUT], dO=t[_G], stats=t[_STATS], attn_scale=scale,
            use_causal_mask=causal, **more,
        )  # fmt: skip
        for x, made, number in zip((dq, dk, dv), found, (_DQ, _DK, _DV), strict=True):
            _gives(made, x, number)

    built = library.built(_key("attention_back", arrays, scale, causal), describe, q.dtype.char)
    if built is None:
        return None
    library.run(built, {n: x.ptr for n, x in arrays.items()})
    return dq, dk, dv
