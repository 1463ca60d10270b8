"""Continuous distributions: a formula applied to uniform or normal numbers.

Apart from the uniform and the normal, PyTorch evaluates each formula in double precision for every
element type and casts the result.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from . import arithmetic, names
from .box_muller import BLOCK, block_normals, serial_normals
from .engine import Generator, unit_doubles, unit_floats
from .shapes import Shape, as_shape, count

if TYPE_CHECKING:
    import numpy.typing as npt

Array: TypeAlias = "npt.NDArray[Any]"

_REAL_PART: dict[np.dtype, np.dtype] = {
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.float64),
}


def _checked_range(low: float, high: float, dtype: np.dtype) -> None:
    limits = names.float_limits(dtype)
    for label, bound in (("from", low), ("to", high)):
        if not limits[0] <= bound <= limits[1]:
            raise RuntimeError(f"{label} is out of bounds for {names.cpp_name(dtype)}")
    if not low <= high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
    if high - low > limits[1]:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{names.torch_name(dtype)}>::max(), "
            f"but found to={high:g} and from={low:g} which result in to-from to exceed the limit"
        )


def uniform(
    generator: Generator,
    shape: Shape,
    low: float = 0.0,
    high: float = 1.0,
    dtype: npt.DTypeLike = np.float32,
) -> Array:
    """Uniform in [low, high): `torch.rand` and `Tensor.uniform_`.

    A complex type takes one number for each real and imaginary part.
    """
    sizes, kind = as_shape(shape), names.known(dtype)
    if kind in _REAL_PART:
        return uniform(generator, (*sizes, 2), low, high, _REAL_PART[kind]).view(kind)[..., 0]
    names.require_floating("check_uniform_bounds", kind)
    _checked_range(low, high, kind)
    total = count(sizes)
    if kind == np.float64:
        values: Array = arithmetic.fma64(unit_doubles(generator, total), high - low, low)
    else:
        # The 16-bit types are computed in single precision, too.
        start, width = np.float32(low), np.float32(high) - np.float32(low)
        values = unit_floats(generator, total)
        if start != 0 or width != 1:
            values = arithmetic.fma32(values, width, start)
        values = arithmetic.narrow(values, kind)
    # The interval is open above; what rounding lifted onto the bound starts over at the bottom.
    bottom, top = arithmetic.narrow(np.array([low, high]), kind)
    values[values == top] = bottom
    return values.reshape(sizes)


def normal(
    generator: Generator,
    shape: Shape,
    mean: float = 0.0,
    std: float = 1.0,
    dtype: npt.DTypeLike = np.float32,
    *,
    contiguous: bool = True,
) -> Array:
    """Normal numbers: `torch.randn` and `Tensor.normal_`.

    `contiguous` says whether the tensor to fill is: if not, PyTorch takes the one-at-a-time path
    at any size, in memory order (see `shapes.lay_out`). A complex type is filled as twice as many
    real numbers with half the variance.
    """
    sizes, kind = as_shape(shape), names.known(dtype)
    if not std >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if kind in _REAL_PART:
        parts = normal(
            generator,
            (*sizes, 2),
            mean,
            std / math.sqrt(2),
            _REAL_PART[kind],
            contiguous=contiguous,
        )
        return parts.view(kind)[..., 0]
    total = count(sizes)
    if not total:  # PyTorch comes to no kernel, so any dtype will do
        return np.empty(0, kind).reshape(sizes)
    names.require_floating("normal_kernel_cpu", kind)
    if contiguous and total >= BLOCK:
        return block_normals(generator, total, mean, std, kind).reshape(sizes)
    return arithmetic.narrow(serial_normals(generator, total, mean, std), kind).reshape(sizes)


def log_normal(
    generator: Generator,
    shape: Shape,
    mean: float = 1.0,
    std: float = 2.0,
    dtype: npt.DTypeLike = np.float32,
) -> Array:
    """exp of normal numbers of the one-at-a-time path: `Tensor.log_normal_`."""
    if not std > 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    sizes = as_shape(shape)
    if not count(sizes):
        return np.empty(0, dtype).reshape(sizes)
    kind = names.require_floating("log_normal_cpu", dtype)
    values = arithmetic.exp(serial_normals(generator, count(sizes), mean, std))
    return arithmetic.narrow(values, kind).reshape(sizes)


def _require_continuous(distribution: str, spelling: str, dtype: np.dtype) -> None:
    if dtype not in names.FLOATING:
        raise RuntimeError(
            f"{distribution} distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {spelling}"
        )


def exponential(
    generator: Generator,
    shape: Shape,
    lambd: float = 1.0,
    dtype: npt.DTypeLike = np.float32,
) -> Array:
    """Exponential with rate `lambd`: `Tensor.exponential_`."""
    sizes, kind = as_shape(shape), names.known(dtype)
    if not lambd > 0.0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    _require_continuous("Exponential", names.torch_name(kind), kind)
    uniforms = unit_doubles(generator, count(sizes))
    values = (-1.0 / lambd) * arithmetic.c_library(math.log1p, -uniforms)
    return arithmetic.narrow(values, kind).reshape(sizes)


def cauchy(
    generator: Generator,
    shape: Shape,
    median: float = 0.0,
    sigma: float = 1.0,
    dtype: npt.DTypeLike = np.float32,
) -> Array:
    """Cauchy around `median` with scale `sigma`: `Tensor.cauchy_`."""
    sizes, kind = as_shape(shape), names.known(dtype)
    if not sigma > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    _require_continuous("Cauchy", names.cpp_name(kind), kind)
    angles = math.pi * (unit_doubles(generator, count(sizes)) - 0.5)
    values = arithmetic.fma64(arithmetic.c_library(math.tan, angles), sigma, median)
    return arithmetic.narrow(values, kind).reshape(sizes)
