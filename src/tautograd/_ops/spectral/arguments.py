"""What Fourier transforms are asked for: dtypes, sizes, dimensions and factors, checked."""

from __future__ import annotations

import math
from typing import Any

import tautograd as torch

from ..._arrays.dtypes import LEGACY_NAMES
from ..._tensor.tensor import Tensor
from ..declare.dims import wrap_dim


def promoted(input: Tensor, *, to_complex: bool = False) -> Tensor:
    """A tensor that can be transformed: integers become the default float."""
    if not input.is_floating_point() and not input.is_complex():
        input = input.to(torch.get_default_dtype())
    if LEGACY_NAMES[input.dtype] in ("Half", "BFloat16"):
        raise RuntimeError(f"Unsupported dtype {LEGACY_NAMES[input.dtype]}")
    if to_complex and not input.is_complex():
        input = input.to(torch.complex64 if input.dtype == torch.float32 else torch.complex128)
    return input


def require_real(name: str, input: Tensor) -> None:
    """Some transforms are of real numbers only."""
    if input.is_complex():
        raise RuntimeError(
            f"{name} expects a real input tensor, but got {LEGACY_NAMES[input.dtype]}"
        )


def factor(norm: str | None, count: int, forward: bool) -> float:
    """What a transform of so many points is multiplied by."""
    if norm == "ortho":
        return 1.0 / math.sqrt(count)
    if norm not in (None, "forward", "backward"):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    scaled_way = norm == "forward"  # the direction that is divided
    return 1.0 / count if forward is scaled_way else 1.0


def one_dim(input: Tensor, dim: Any) -> int:
    """The dimension of a one-dimensional transform."""
    if not input.dim():
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, input.dim())


def check_points(count: int) -> None:
    """A transform is of at least one point."""
    if count < 1:
        raise RuntimeError(f"Invalid number of data points ({count}) specified")


def sizes_and_dims(input: Tensor, s: Any, dim: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The size and the number of each dimension of a transform of several."""
    ndim = input.dim()
    s = (s,) if isinstance(s, int) else s
    dim = (dim,) if isinstance(dim, int) else dim
    if dim is not None:
        dims = tuple(wrap_dim(d, ndim) for d in dim)
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    elif s is not None:
        if len(s) > ndim:
            raise RuntimeError(
                f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions."
            )
        dims = tuple(range(ndim - len(s), ndim))
    else:
        dims = tuple(range(ndim))
    given = [-1] * len(dims) if s is None else list(s)
    sizes = tuple(input.shape[d] if n == -1 else n for d, n in zip(dims, given, strict=True))
    for size in sizes:
        check_points(size)
    return sizes, dims


def resized(input: Tensor, sizes: tuple[int, ...], dims: tuple[int, ...]) -> Tensor:
    """Cut off, or filled up with zeros, to these sizes."""
    pad = [0] * (2 * input.dim())
    for dim, size in zip(dims, sizes, strict=True):
        have = input.shape[dim]
        if have > size:
            input = input.narrow(dim, 0, size)
        elif have < size:
            pad[2 * (input.dim() - 1 - dim) + 1] = size - have
    return torch.nn.functional.pad(input, pad) if any(pad) else input
