"""The three Fourier transforms that all others are made of, as records.

Complex to complex, real to complex and complex to real, each along `dims` and times `scale`. They are
linear, and each is the adjoint of another: that of e^{-iωt} is e^{+iωt}.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.kernels import are_callable
from ..declare.record import LINEAR, Op

Dims = tuple[int, ...]


def _laid_out(data: Any, x: Any, dims: Dims) -> Any:
    """As PyTorch lays it out: transformed dimensions innermost, each group by its strides."""
    if type(data) is not np.ndarray or type(x) is not np.ndarray or data.ndim < 2:
        return data
    by_stride = sorted(range(x.ndim), key=lambda d: -x.strides[d])
    outer = [d for d in by_stride if d not in dims]
    # The last dimension of a real transform stays last: it is the one that is halved.
    order = [*outer, *(d for d in by_stride if d in dims[:-1]), dims[-1]]
    if data.shape == x.shape:
        order = [*outer, *(d for d in by_stride if d in dims)]
    back = np.argsort(order)
    return np.transpose(np.ascontiguousarray(np.transpose(data, order)), back)


_LARGE = (
    1 << 14
)  # elements: half the time is worth the last digit of smaller ones' double precision


def _transformed(
    run: Any, inverse: bool, x: Any, dims: Dims, scale: float, count: int, **sizes: Any
) -> Any:
    """What NumPy's transform gives, times `scale`; `count` is the number of elements it goes over.

    NumPy computes in single precision only where it is given a factor of that dtype, and it makes one only to divide
    by `count`. Without a factor it computes in double precision, and takes twice as long.
    """
    single = x.dtype.char in "fF" and x.size >= _LARGE and are_callable(x)
    given = x.astype(np.complex64) if single and run is np.fft.fftn else x
    found = run(given, axes=dims, norm="backward" if single == inverse else "forward", **sizes)
    if single:
        scale *= count
    # A Python number takes the array's dtype.
    return _laid_out(found if scale == 1.0 else found * scale, x, dims)


def _count(x: Any, dims: Dims) -> int:
    return math.prod(x.shape[d] for d in dims)


def _c2c(x: Any, dims: Dims, scale: float, forward: bool) -> Any:
    run = np.fft.fftn if forward else np.fft.ifftn
    return _transformed(run, not forward, x, dims, scale, _count(x, dims))


def _r2c(x: Any, dims: Dims, scale: float, onesided: bool) -> Any:
    run = np.fft.rfftn if onesided else np.fft.fftn
    return _transformed(run, False, x, dims, scale, _count(x, dims))


def _c2r(x: Any, dims: Dims, scale: float, last: int) -> Any:
    sizes = [x.shape[d] for d in dims[:-1]] + [last]
    return _transformed(np.fft.irfftn, True, x, dims, scale, math.prod(sizes), s=sizes)


def _part(data: Any, dim: int, start: int, stop: int) -> Any:
    place: list[Any] = [slice(None)] * data.ndim
    place[dim] = slice(start, stop)
    return data[tuple(place)]


def _r2c_back(g: Any, x_shape: Any, dims: Dims, scale: float, onesided: bool) -> Any:
    """What is not given of a spectrum counts as zero."""
    if onesided:
        last = dims[-1]
        shape = list(g.shape)
        shape[last] = x_shape[last] - shape[last]
        g = np.concatenate([g, np.zeros_like(g, shape=tuple(shape))], axis=last)
    return np.real(fft_c2c_op(g, dims=dims, scale=scale, forward=False))


def _c2r_back(g: Any, dims: Dims, scale: float, last: int) -> Any:
    """Each frequency but the first (and, of an even count, the last) stands for its mirror image, too."""
    found = fft_r2c_op(g, dims=dims, scale=scale, onesided=True)
    dim = dims[-1]
    twice = last - found.shape[dim]
    return np.concatenate(
        [
            _part(found, dim, 0, 1),
            _part(found, dim, 1, 1 + twice) * 2,
            _part(found, dim, 1 + twice, found.shape[dim]),
        ],
        axis=dim,
    )


fft_c2c_op: Op = Op(
    "fft_c2c",
    _c2c,
    ("x",),
    node="FftC2CBackward0",
    vjp={
        "x": lambda g, dims, scale, forward: fft_c2c_op(
            g, dims=dims, scale=scale, forward=not forward
        )
    },
    jvp=LINEAR,
)
fft_r2c_op: Op = Op(
    "fft_r2c", _r2c, ("x",), node="FftR2CBackward0", vjp={"x": _r2c_back}, jvp=LINEAR
)
fft_c2r_op: Op = Op(
    "fft_c2r", _c2r, ("x",), node="FftC2RBackward0", vjp={"x": _c2r_back}, jvp=LINEAR
)
