"""`conv1d` to `conv3d`, transposed ones, and `convolution`: PyTorch's arguments, checked in its words."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from .._arrays.dtypes import LEGACY_NAMES
from .._autograd.apply import apply
from .._autograd.modes import modes
from .._tensor.tensor import Tensor, make
from .convolution import convolution_op, transposed_convolution_op
from .dims import no_signature
from .product_checks import SPELLED
from .public import FUNCTIONS, NN_FUNCTIONAL, public
from .windows import Ints, covered, steps


def _expanded(value: Any, rank: int, name: str) -> Ints:
    """A parameter as one integer for each dimension."""
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(given) == 1:
        return given * rank
    if len(given) != rank:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {rank} values to match "
            f"the convolution dimensions, but got {name}={list(given)}"
        )
    return given


def _check_numbers(stride: Ints, padding: Ints, dilation: Ints, extra: Ints, groups: int) -> None:
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(p < 0 for p in extra):
        raise RuntimeError("negative output_padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def _check_weight(x: Ints, w: Ints, b: Ints | None, transposed: bool, groups: int) -> None:
    shape, size = list(w), list(x)
    if len(w) != len(x):
        raise RuntimeError(
            f"Expected {len(w)}-dimensional input for {len(w)}-dimensional weight {shape}, but got "
            f"{len(x)}-dimensional input of size {size} instead"
        )
    if shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but "
            f"got weight of size {shape} instead"
        )
    if shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{shape}] instead"
        )
    wanted = shape[0] if transposed else shape[1] * groups
    given = "transposed=1" if transposed else f"groups={groups}"
    if size[1] != wanted:
        raise RuntimeError(
            f"Given {given}, weight of size {shape}, expected input{size} to have {wanted} "
            f"channels, but got {size[1]} channels instead"
        )
    out = shape[1] * groups if transposed else shape[0]
    if b is not None and b != (out,):
        start = "Given transposed=1, weight" if transposed else "Given weight"
        raise RuntimeError(
            f"{start} of size {shape}, expected bias to be 1-dimensional with {out} elements, but "
            f"got bias of size {list(b)} instead"
        )
    _check_extents(tuple(shape[2:]))


def _by(sizes: Any) -> str:
    return " x ".join(map(str, sizes))


def _check_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    name = LEGACY_NAMES[input.dtype]
    if bias is not None and bias._data.dtype != input._data.dtype:
        one, other = (SPELLED[LEGACY_NAMES[t.dtype]] for t in (input, bias))
        raise RuntimeError(f"Input type ({one}) and bias type ({other}) should be the same")
    if weight._data.dtype != input._data.dtype:
        if name != "BFloat16" and "Complex" not in name:
            raise RuntimeError(
                f"expected scalar type {name} but found {LEGACY_NAMES[weight.dtype]}"
            )
        dense = " or input should be a MKLDNN tensor and weight is a dense tensor"
        raise RuntimeError(
            f"Input type ({_type_name(input)}) and weight type ({_type_name(weight)}) should be the "
            f"same{dense if name == 'BFloat16' else ''}"
        )


def _type_name(tensor: Tensor) -> str:
    """The name of a tensor type of old."""
    name = LEGACY_NAMES[tensor.dtype]
    return f"CPU{name}Type" if name == "BFloat16" or "Complex" in name else f"torch.{name}Tensor"


def _check_extents(kernel: Ints) -> None:
    if 0 in kernel:
        height, width = (1, *kernel)[-2:]
        said = f" kernel_height: {height} kernel_width: {width}"
        raise RuntimeError(
            "kernel size should be greater than zero, but got"
            + (f": {_by(kernel)} (TxHxW)" if len(kernel) == 3 else said)
        )


def _check_kernel(input: Tensor, dilation: Ints, transposed: bool) -> None:
    """PyTorch has kernels for some dtypes only."""
    dtype, rank = input._data.dtype, len(dilation)
    if dtype.kind == "c" and 0 in input._data.shape and input.requires_grad and modes.grad:
        raise RuntimeError(
            "convolution does not support automatic differentiation for outputs with complex dtype."
        )
    if dtype.kind in "fV" or dtype == np.int64 or 0 in input._data.shape:
        return
    if transposed:
        kernel = f"slow_conv_transpose{max(rank, 2)}d_out_cpu"
    elif set(dilation) != {1}:
        kernel = "slow_conv_dilated<>"
    elif dtype.kind not in "bc":
        return
    else:
        kernel = "compute_columns3d" if rank == 3 else "slow_conv2d_cpu"
    raise NotImplementedError(f"\"{kernel}\" not implemented for '{LEGACY_NAMES[input.dtype]}'")


def _check_size(size: Ints, kernel: Ints, padding: Ints, dilation: Ints) -> None:
    longer = [n + 2 * p for n, p in zip(size, padding, strict=True)]
    reach = [covered(k, d) for k, d in zip(kernel, dilation, strict=True)]
    if any(k > n for k, n in zip(reach, longer, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({_by(longer)}). Kernel size: "
            f"({_by(reach)}). Kernel size can't be greater than actual input size"
        )


def _transposed_size(
    size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, extra: Ints
) -> Ints:
    """The size of a transposed convolution's output, if it can have one."""
    if any(e >= s and e >= d for e, s, d in zip(extra, stride, dilation, strict=True)):
        axes = ("depth", "height", "width")[-len(size) :]
        values = (("output_padding", extra), ("stride", stride), ("dilation", dilation))
        shown = " ".join(
            f"{name}_{axis}: {v}"
            for name, each in values
            for axis, v in zip(axes, each, strict=True)
        )
        raise RuntimeError(
            f"output padding must be smaller than either stride or dilation, but got {shown}"
        )
    found = tuple(
        [
            (n - 1) * s - 2 * p + covered(k, d) + e
            for n, k, s, p, d, e in zip(size, kernel, stride, padding, dilation, extra, strict=True)
        ]
    )
    if any(n < 1 for n in found):
        raise RuntimeError(
            f"Given input size per channel: ({_by(size)}). Calculated output size per channel: "
            f"({_by(found)}). Output size is too small"
        )
    return found


@functools.lru_cache(maxsize=1024)
def _checked(
    shape: Ints,
    weight: Ints,
    bias: Ints | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> tuple[dict[str, Any], Ints]:
    """The record's parameters and the size of its output, once everything has been found to fit."""
    rank = len(weight) - 2
    if rank <= 0:
        raise RuntimeError("weight should have at least three dimensions")
    stride = _expanded(stride, rank, "stride")
    padding = _expanded(padding, rank, "padding")
    dilation = _expanded(dilation, rank, "dilation")
    extra = _expanded(output_padding, rank, "output_padding")
    _check_numbers(stride, padding, dilation, extra, groups)
    _check_weight(shape, weight, bias, transposed, groups)
    size, kernel = shape[2:], weight[2:]
    if transposed:
        count = _transposed_size(size, kernel, stride, padding, dilation, extra)
    else:
        _check_size(size, kernel, padding, dilation)
        count = steps(size, kernel, stride, padding, dilation)
    if 0 in shape and shape[0] and shape[1]:
        raise RuntimeError(
            "Only zero batch or zero channel inputs are supported, but got input shape: "
            f"{list(shape)}"
        )
    parameters = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return ({"size": count, **parameters} if transposed else parameters), count


def _fixed(value: Any) -> Any:
    """A parameter that can be looked up."""
    return tuple(value) if isinstance(value, list) else value


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
    parameters, count = _checked(
        tuple(x.shape),
        tuple(w.shape),
        None if b is None else tuple(b.shape),
        _fixed(stride),
        _fixed(padding),
        _fixed(dilation),
        transposed,
        _fixed(output_padding),
        groups,
    )
    if w.dtype != x.dtype or (b is not None and b.dtype != x.dtype):
        _check_dtypes(input, weight, bias)
    if x.dtype.kind != "f":
        _check_kernel(input, parameters["dilation"], transposed)
    if not x.shape[1]:
        return make(np.zeros_like(x, shape=(x.shape[0], 0, *count)))
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

    _check_dtypes(input, weight, bias)
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
                _expanded(spread, rank_found, what)
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
    steps_of, spacing = _expanded(stride, rank, "stride"), _expanded(dilation, rank, "dilation")
    if set(steps_of) != {1}:
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    kernel = tuple(weight._data.shape)[2:]
    total = [d * (k - 1) for k, d in zip(kernel, spacing, strict=True)]
    if any(n % 2 for n in total):
        from .padding import constant_pad_nd

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
        stacklevel=6,
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
