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
from ...declare.public import NN_FUNCTIONAL, public
from ...declare.record import Op
from ...declare.signature_line import declared
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
        fixed(groups),
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


_EXTENTS = {1: "length", 2: "height, width", 3: "depth, height, width"}

for _rank, _extents in _EXTENTS.items():
    _ints = f"int[{_rank}]"
    _forward = declared(
        f"conv{_rank}d(Tensor input, Tensor weight, Tensor? bias=None, {_ints} stride=1, "
        f"{_ints}|str padding=0, {_ints} dilation=1, int groups=1) -> Tensor",
        _convolve,
        _rank,
        doc=f"A convolution over `(batch, channels, {_extents})`.",
    )
    _adjoint = declared(
        f"conv_transpose{_rank}d(Tensor input, Tensor weight, Tensor? bias=None, {_ints} stride=1, "
        f"{_ints} padding=0, {_ints} output_padding=0, int groups=1, {_ints} dilation=1) -> Tensor",
        _convolve_transposed,
        _rank,
        doc=f"The adjoint of `conv{_rank}d` in its input, with a bias.",
    )
    for _fn in (_forward, _adjoint):
        NN_FUNCTIONAL[_fn.__name__] = public(method=False, out=False)(_fn)
