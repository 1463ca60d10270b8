"""Vectors that are defined up to a phase: which cotangents make sense for them.

The eigenvectors and singular vectors of a complex matrix may each be multiplied by a phase, so only
functions that do not notice it have a gradient; of others PyTorch refuses the gradient. A cotangent
G of vectors V makes sense if it has no part along that freedom: Im diag(V^H G) = 0 (for singular
vectors, of U and V together). `fixed` takes that part out of a random cotangent; `invariants` are
functions of the outputs that do not notice a phase, for both engines.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def fixed(name: str, out: Any, g: list[Any]) -> list[Any]:
    """Cotangents of a record's outputs without the part that no function has."""
    if name in _FIXED and any(np.iscomplexobj(o) for o in out):
        return _FIXED[name](out, g)
    return g


def is_free(name: str, out: Any) -> bool:
    """Whether outputs are defined only up to phases."""
    return name in _FIXED and any(np.iscomplexobj(o) for o in out)


def _phase(v: Any, g: Any) -> Any:
    """Im diag(V^H G), one number per column."""
    return np.imag(np.sum(np.conjugate(v) * g, axis=-2, keepdims=True))


def _eigenvectors(out: Any, g: list[Any]) -> list[Any]:
    _, vectors = out
    if not vectors.size:
        return g
    squares = np.sum(np.abs(vectors) ** 2, axis=-2, keepdims=True)
    return [g[0], g[1] - 1j * vectors * _phase(vectors, g[1]) / squares]


def _singular_vectors(out: Any, g: list[Any]) -> list[Any]:
    u, s, vh = out
    if not vh.size:
        return g
    k = s.shape[-1]
    v = np.conjugate(np.swapaxes(vh, -1, -2))
    gv = np.conjugate(np.swapaxes(g[2], -1, -2))
    excess = _phase(u[..., :k], g[0][..., :k]) + _phase(v[..., :k], gv[..., :k])
    gu = np.copy(g[0])
    gu[..., :k] = gu[..., :k] - 1j * u[..., :k] * excess
    return [gu, g[1], g[2]]


_FIXED = {
    "linalg_eig": _eigenvectors,
    "linalg_eigh": _eigenvectors,
    "linalg_svd": _singular_vectors,
}


# --- functions that do not notice a phase --------------------------------------------------------


def invariants(name: str, outs: Any, module: Any) -> list[Any]:
    """The values, and a matrix that the vectors make up (tensors of either engine)."""
    return _INVARIANTS[name](outs, module)


def _weights(values: Any, module: Any) -> Any:
    return module.arange(1.0, values.shape[-1] + 1.0).to(values.dtype)


def _of_hermitian(outs: Any, module: Any) -> list[Any]:
    values, v = outs
    return [values, (v * _weights(values, module)) @ v.mH]


def _of_square(outs: Any, module: Any) -> list[Any]:
    values, v = outs
    return [values, (v * _weights(values, module)) @ module.linalg.inv(v)]


def _of_singular(outs: Any, module: Any) -> list[Any]:
    u, s, vh = outs
    k = s.shape[-1]
    return [s, (u[..., :k] * _weights(s, module)) @ vh[..., :k, :]]


_INVARIANTS = {
    "linalg_eig": _of_square,
    "linalg_eigh": _of_hermitian,
    "linalg_svd": _of_singular,
}
