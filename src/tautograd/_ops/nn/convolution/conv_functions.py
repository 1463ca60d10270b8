"""`conv1d` to `conv3d`, transposed ones, and `convolution`: PyTorch's arguments, checked in its words."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from ...._autograd.apply import apply
from ...._tensor.tensor import Tensor
from ...._user_code.sites import warning_level
from ...declare.dims import no_signature
from ...declare.public import FUNCTIONS, NN_FUNCTIONAL, public
from ...declare.record import Op
from .conv_checks import check_dtypes, check_kernel, checked, expanded, fixed
from .trilinear import convolution_op, transposed_convolution_op


def _no_change(t: Any, out: Any, count: Any) -> Any:
    return np.zeros_like(out)


# Of an image without channels PyTorch makes one without channels, whatever the weight has.
no_channels_op = Op(
    "convolution_of_no_channels",
    lambda x, w, b, count: np.zeros_like(x, shape=(x.shape[0], 0, *count)),
    ("x", "w", "b"),
    node="ConvolutionBackward0",
    vjp={
        "x": lambda g, x_shape, count: np.zeros_like(g, shape=x_shape),
        "w": lambda g, w_shape, count: np.zeros_like(g, shape=w_shape),
        "b": lambda g, b_shape, count: np.zeros_like(g, shape=b_shape),
    },
    jvp=dict.fromkeys(("x", "w", "b"), _no_change),
    internal=True,
)


def _run(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Tensor:
    x, w = input._data, weight._data
    b = None if bias is None else bias._data
    parameters, count = checked(
        tuple(x.shape),
        tuple(w.shape),
        None if b is None else tuple(b.shape),
        fixed(stride),
        fixed(padding),
        fixed(dilation),
        transposed,
        fixed(output_padding),
        groups,
    )
    if w.dtype != x.dtype or (b is not None and b.dtype != x.dtype):
        check_dtypes(input, weight, bias)
    if x.dtype.kind != "f":
        check_kernel(input, parameters["dilation"], transposed)
    if not x.shape[1]:
        return apply(no_channels_op, (input, weight, bias), {"count": count})  # type: ignore[no-any-return]
    op = transposed_convolution_op if transposed else convolution_op
    result: Tensor = apply(op, (input, weight, bias), parameters)
    return result


@public(method=False, out=False)
def convolution(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Tensor:
    """A convolution, or a transposed one, over all dimensions after the first two."""
    return _run(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def _any_dtype(input: Tensor, weight: Tensor, bias: Tensor | None, *options: Any) -> Tensor:
    """`convolution`, which for complex numbers is three real ones:

    (a + ib)(c + id) = ac - bd + i((a + b)(c + d) - ac - bd)
    """
    if input._data.dtype.kind != "c":
        return _run(input, weight, bias, *options)

    def part(x: Any, w: Any, b: Any) -> Any:
        return _run(x, w, b, *options)

    check_dtypes(input, weight, bias)
    x, w = _parts(input), _parts(weight)
    b = (None, None, None) if bias is None else _parts(bias)
    real = part(x[0], w[0], b[0])
    imaginary = part(x[1], w[1], None)
    result: Tensor = (real - imaginary) + 1j * (part(x[2], w[2], b[2]) - real - imaginary)
    return result


def _parts(tensor: Any) -> tuple[Any, Any, Any]:
    """The real part, the imaginary part, and their sum."""
    real, imaginary = tensor.real, tensor.imag
    return real, imaginary, real + imaginary


def _batched(name: str, input: Tensor, rank: int) -> tuple[Tensor, bool]:
    """The input with a batch dimension, and whether that was made for it."""
    ndim = input._data.ndim
    if ndim not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, but got "
            f"input of size: {list(input._data.shape)}"
        )
    if ndim == rank + 2:
        return input, False
    return input.unsqueeze(0), True


def _require(name: str, *given: Any) -> None:
    for value in given[:2]:
        if not isinstance(value, Tensor):
            raise no_signature(name, *given)


def _require_ints(name: str, given: tuple[Any, ...], *values: Any) -> None:
    for value in values:
        if type(value) is int:
            continue
        each = value if isinstance(value, (tuple, list)) else (value,)
        if not all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in each):
            raise no_signature(name, *given)


def _convolve(
    rank: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    name = f"conv{rank}d"
    if not isinstance(input, Tensor) or not isinstance(weight, Tensor):
        _require(name, input, weight)
    x, unbatched = _batched(name, input, rank)
    if type(stride) is not int or type(dilation) is not int:
        given = (input, weight, bias, stride, padding, dilation, groups)
        _require_ints(name, given, stride, dilation)
    if isinstance(padding, str):
        out = _by_name(x, weight, bias, stride, padding, dilation, groups)
    else:
        if weight._data.ndim != rank + 2:
            rank_found = weight._data.ndim - 2
            for value, what in ((stride, "stride"), (padding, "padding"), (dilation, "dilation")):
                spread = (value,) * rank if isinstance(value, int) else value
                expanded(spread, rank_found, what)
        out = _any_dtype(x, weight, bias, stride, padding, dilation, False, 0, groups)
    return out.squeeze(0) if unbatched else out


def _by_name(
    input: Tensor, weight: Tensor, bias: Any, stride: Any, padding: str, dilation: Any, groups: int
) -> Tensor:
    """`padding="same"` or `"valid"`."""
    rank = weight._data.ndim - 2
    if padding == "valid":
        return _any_dtype(input, weight, bias, stride, 0, dilation, False, 0, groups)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    steps_of, spacing = expanded(stride, rank, "stride"), expanded(dilation, rank, "dilation")
    if set(steps_of) != {1}:
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    kernel = tuple(weight._data.shape)[2:]
    total = [d * (k - 1) for k, d in zip(kernel, spacing, strict=True)]
    if any(n % 2 for n in total):
        from ...shape.padding import constant_pad_nd

        _warn_of_a_copy()
        more: list[int] = []  # what cannot be halved is added at the end
        for n in reversed(total):
            more += [0, n % 2]
        input = constant_pad_nd(input, more, 0)
    sides = tuple([n // 2 for n in total])
    return _any_dtype(input, weight, bias, stride, sides, dilation, False, 0, groups)


@functools.cache
def _warn_of_a_copy() -> None:
    """Said once, as PyTorch does."""
    warnings.warn(
        "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded "
        "copy of the input be created",
        UserWarning,
        stacklevel=warning_level(),
    )


def _convolve_transposed(
    rank: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    name = f"conv_transpose{rank}d"
    if not isinstance(input, Tensor) or not isinstance(weight, Tensor):
        _require(name, input, weight)
    x, unbatched = _batched(name, input, rank)
    out = _any_dtype(x, weight, bias, stride, padding, dilation, True, output_padding, groups)
    return out.squeeze(0) if unbatched else out


@public(method=False, out=False)
def conv1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """A convolution over one dimension: `(batch, channels, length)`."""
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


@public(method=False, out=False)
def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """A convolution over two dimensions: `(batch, channels, height, width)`."""
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


@public(method=False, out=False)
def conv3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """A convolution over three dimensions: `(batch, channels, depth, height, width)`."""
    return _convolve(3, input, weight, bias, stride, padding, dilation, groups)


@public(method=False, out=False)
def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The adjoint of `conv1d` in its input, with a bias."""
    return _convolve_transposed(
        1, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@public(method=False, out=False)
def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The adjoint of `conv2d` in its input, with a bias."""
    return _convolve_transposed(
        2, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@public(method=False, out=False)
def conv_transpose3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The adjoint of `conv3d` in its input, with a bias."""
    return _convolve_transposed(
        3, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


for _name in ("conv1d", "conv2d", "conv3d"):
    NN_FUNCTIONAL[_name] = FUNCTIONS[_name]
for _name in ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"):
    NN_FUNCTIONAL[_name] = FUNCTIONS[_name]
