"""`torch.fft`: transforms in one dimension, two or more, of complex, real and Hermitian data."""

from __future__ import annotations

import math
from typing import Any

import tautograd as torch

from ..._arrays.dtypes import LEGACY_NAMES
from ..._autograd.apply import apply
from ..._tensor.tensor import Tensor
from ..declare.dims import wrap_dims
from ..declare.public import Namespace, public
from .arguments import (
    check_points,
    factor,
    one_dim,
    promoted,
    require_real,
    resized,
    sizes_and_dims,
)
from .transforms import fft_c2c_op, fft_c2r_op, fft_r2c_op

FFT = Namespace("fft_")


def complex_transform(input: Tensor, dims: tuple[int, ...], scale: float, forward: bool) -> Tensor:
    """A complex tensor's transform."""
    parameters = {"dims": dims, "scale": scale, "forward": forward}
    result: Tensor = apply(fft_c2c_op, (input,), parameters)
    return result


def real_transform(input: Tensor, dims: tuple[int, ...], scale: float, onesided: bool) -> Tensor:
    """A real tensor's transform, all of it or the half that says everything."""
    parameters = {"dims": dims, "scale": scale, "onesided": onesided}
    result: Tensor = apply(fft_r2c_op, (input,), parameters)
    return result


def inverse_real(input: Tensor, dims: tuple[int, ...], scale: float, last: int) -> Tensor:
    """The real tensor whose half of a transform this is."""
    parameters = {"dims": dims, "scale": scale, "last": last}
    result: Tensor = apply(fft_c2r_op, (input,), parameters)
    return result


# ---- one dimension -------------------------------------------------------------------------------


def _complex(input: Tensor, n: Any, dim: Any, norm: Any, forward: bool) -> Tensor:
    input = promoted(input)
    place = (one_dim(input, dim),)
    count = input.shape[place[0]] if n is None else n
    check_points(count)
    scale = factor(norm, count, forward)
    input = resized(input, (count,), place)
    if input.is_complex():
        return complex_transform(input, place, scale, forward)
    found = real_transform(input, place, scale, onesided=False)
    return found if forward else found.conj().resolve_conj()


def _real(name: str, input: Tensor, n: Any, dim: Any, norm: Any, forward: bool) -> Tensor:
    require_real(name, input)
    input = promoted(input)
    place = (one_dim(input, dim),)
    count = input.shape[place[0]] if n is None else n
    check_points(count)
    found = real_transform(
        resized(input, (count,), place), place, factor(norm, count, forward), onesided=True
    )
    return found if forward else found.conj().resolve_conj()


def _to_real(input: Tensor, n: Any, dim: Any, norm: Any, forward: bool) -> Tensor:
    input = promoted(input, to_complex=True)
    place = (one_dim(input, dim),)
    count = 2 * (input.shape[place[0]] - 1) if n is None else n
    check_points(count)
    input = resized(input, (count // 2 + 1,), place)
    return inverse_real(
        input.conj().resolve_conj() if forward else input,
        place,
        factor(norm, count, forward),
        count,
    )


@public(namespace=FFT)
def fft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform: Σₜ x[t] e^{-2πi k t / n}."""
    return _complex(input, n, dim, norm, True)


@public(namespace=FFT)
def ifft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`."""
    return _complex(input, n, dim, norm, False)


@public(namespace=FFT)
def rfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform of real numbers: the frequencies from zero up, as the others mirror them."""
    return _real("rfft", input, n, dim, norm, True)


@public(namespace=FFT)
def irfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`, of `n` real numbers."""
    return _to_real(input, n, dim, norm, False)


@public(namespace=FFT)
def hfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real transform of what is Hermitian in time, of which one half is given."""
    return _to_real(input, n, dim, norm, True)


@public(namespace=FFT)
def ihfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`."""
    return _real("ihfft", input, n, dim, norm, False)


# ---- several -------------------------------------------------------------------------------------


def _complex_n(input: Tensor, s: Any, dim: Any, norm: Any, forward: bool) -> Tensor:
    input = promoted(input, to_complex=True)
    sizes, dims = sizes_and_dims(input, s, dim)
    scale = factor(norm, math.prod(sizes), forward)
    if not dims:
        return input.clone()
    return complex_transform(resized(input, sizes, dims), dims, scale, forward)


def _real_n(name: str, input: Tensor, s: Any, dim: Any, norm: Any, forward: bool) -> Tensor:
    if not forward and input.is_complex():
        kind = LEGACY_NAMES[input.dtype]
        raise RuntimeError(f"Only supports floating-point dtypes, but found: {kind}")
    if input.is_complex():
        kind = LEGACY_NAMES[input.dtype]
        raise RuntimeError(f"rfftn expects a real-valued input tensor, but got {kind}")
    input = promoted(input)
    sizes, dims = sizes_and_dims(input, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    scale = factor(norm, math.prod(sizes), forward)
    input = resized(input, sizes, dims)
    if forward:
        return real_transform(input, dims, scale, onesided=True)
    # The half of the last dimension first, then the others as they are.
    found = real_transform(input, dims[-1:], scale, onesided=True).conj().resolve_conj()
    return complex_transform(found, dims[:-1], 1.0, False) if dims[:-1] else found


def _to_real_n(name: str, input: Tensor, s: Any, dim: Any, norm: Any, forward: bool) -> Tensor:
    input = promoted(input, to_complex=True)
    sizes, dims = sizes_and_dims(input, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    given = None if s is None else (s[-1] if not isinstance(s, int) else s)
    last = 2 * (input.shape[dims[-1]] - 1) if given in (None, -1) else int(given)
    check_points(last)
    input = resized(input, (*sizes[:-1], last // 2 + 1), dims)
    scale = factor(norm, math.prod(sizes[:-1]) * last, forward)
    if not forward:
        return inverse_real(input, dims, scale, last)
    if dims[:-1]:
        input = complex_transform(input, dims[:-1], 1.0, True)
    return inverse_real(input.conj().resolve_conj(), dims[-1:], scale, last)


@public(namespace=FFT)
def fftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`fft` along several dimensions; all of them, if none is named."""
    return _complex_n(input, s, dim, norm, True)


@public(namespace=FFT)
def ifftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `fftn`."""
    return _complex_n(input, s, dim, norm, False)


@public(namespace=FFT)
def rfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`fftn` of real numbers: of the last dimension, the frequencies from zero up."""
    return _real_n("rfftn", input, s, dim, norm, True)


@public(namespace=FFT)
def irfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `rfftn`."""
    return _to_real_n("irfftn", input, s, dim, norm, False)


@public(namespace=FFT)
def hfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`hfft` along several dimensions, of which the last is given by half."""
    return _to_real_n("hfftn", input, s, dim, norm, True)


@public(namespace=FFT)
def ihfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `hfftn`."""
    return _real_n("ihfftn", input, s, dim, norm, False)


@public(namespace=FFT)
def fft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`fft` along two dimensions."""
    return _complex_n(input, s, dim, norm, True)


@public(namespace=FFT)
def ifft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `fft2`."""
    return _complex_n(input, s, dim, norm, False)


@public(namespace=FFT)
def rfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`fft2` of real numbers."""
    return _real_n("rfft2", input, s, dim, norm, True)


@public(namespace=FFT)
def irfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `rfft2`."""
    return _to_real_n("irfft2", input, s, dim, norm, False)


@public(namespace=FFT)
def hfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`hfft` along two dimensions."""
    return _to_real_n("hfft2", input, s, dim, norm, True)


@public(namespace=FFT)
def ihfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `hfft2`."""
    return _real_n("ihfft2", input, s, dim, norm, False)


# ---- frequencies ---------------------------------------------------------------------------------


@public(namespace=FFT, out=False)
def fftshift(input: Any, dim: Any = None) -> Tensor:
    """The frequency zero in the middle."""
    dims = wrap_dims(dim, input.dim())
    return torch.roll(input, [input.shape[d] // 2 for d in dims], dims) if dims else input.clone()


@public(namespace=FFT, out=False)
def ifftshift(input: Any, dim: Any = None) -> Tensor:
    """The frequency zero in front again."""
    dims = wrap_dims(dim, input.dim())
    shifts = [(input.shape[d] + 1) // 2 for d in dims]
    return torch.roll(input, shifts, dims) if dims else input.clone()


def _frequencies(name: str, count: int, n: int, d: float, out: Any, options: Any) -> Tensor:
    dtype = options.get("dtype") or torch.get_default_dtype()
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    found = torch.arange(count, **{**options, "requires_grad": False, "dtype": dtype})
    if name == "fftfreq" and n:
        found[(n + 1) // 2 :] -= n
    found.mul_(1.0 / (n * d) if n * d else math.copysign(math.inf, n * d))
    if out is not None:
        if out.numel() != found.numel():  # as `arange` has it: as many elements may lie as they do
            out.resize_(found.shape)
        return out.copy_(found.reshape(out.shape))  # type: ignore[no-any-return]
    return found.requires_grad_(options.get("requires_grad", False))


def fftfreq(n: int, d: float = 1.0, *, out: Any = None, **options: Any) -> Tensor:
    """The frequencies of `fft`'s results, for points at distance `d`."""
    return _frequencies("fftfreq", n, n, d, out, options)


def rfftfreq(n: int, d: float = 1.0, *, out: Any = None, **options: Any) -> Tensor:
    """The frequencies of `rfft`'s results."""
    return _frequencies("rfftfreq", int(n / 2) + 1, n, d, out, options)


FFT["fftfreq"], FFT["rfftfreq"] = fftfreq, rfftfreq
