"""What convolutions refuse, in PyTorch's words, and the sizes of what they give."""

from __future__ import annotations

import contextlib
import functools
import operator
from typing import Any

import numpy as np

from ...._arrays.dtypes import LEGACY_NAMES
from ...._autograd.modes import modes
from ...._tensor.tensor import Tensor
from ...declare.wrong_argument import WrongArgument
from ...linalg.products.product_checks import SPELLED
from .windows import Ints, covered, steps

_MOST_PADDING = (2**63 - 1) // 2


def expanded(value: Any, rank: int, name: str) -> Ints:
    """A parameter as one integer for each dimension."""
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if any(isinstance(n, np.integer) for n in given):  # whose products may overflow
        given = tuple(int(n) if isinstance(n, np.integer) else n for n in given)
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
    for d, p in enumerate(padding):
        if p > _MOST_PADDING:
            raise RuntimeError(
                f"Given padding={p} at dimension {d} , expected padding to be at most "
                f"{_MOST_PADDING}"
            )
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


def check_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
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


def check_kernel(input: Tensor, dilation: Ints, transposed: bool) -> None:
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
def checked(
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
    stride = expanded(stride, rank, "stride")
    padding = expanded(padding, rank, "padding")
    dilation = expanded(dilation, rank, "dilation")
    extra = expanded(output_padding, rank, "output_padding")
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


def fixed(value: Any) -> Any:
    """A parameter of Python's own integers, that can be looked up: 2.0 equals 2, and kernels cannot take it."""
    if type(value) is int:
        return value
    if not isinstance(value, (tuple, list)):
        return _whole(value)
    for n in value:
        if type(n) is not int:
            return tuple([_whole(n) for n in value])
    return value if type(value) is tuple else tuple(value)


def _whole(value: Any) -> int:
    if not isinstance(value, bool):
        with contextlib.suppress(TypeError):
            return operator.index(value)
    raise WrongArgument(f"a convolution takes integers, not {type(value).__name__}")
