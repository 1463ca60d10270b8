"""Patches of images: `unfold` lays sliding windows out as columns, `fold` adds them up again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._autograd.apply import apply
from ...._tensor.tensor import Tensor
from ...declare.dims import require_int
from ...declare.elementwise_calls import refuse, require_tensor
from ...declare.public import NN_FUNCTIONAL, public
from ...declare.record import LINEAR, Op
from ...declare.samples import Sample, T
from ...declare.undefined_dtypes import no_kernel
from .windows import Ints, gathered, inside, padded, spread, steps, window_views


def _unfold(x: Any, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    """(…, channels, height, width) -> (…, channels * places, windows)."""
    *lead, channels, _, _ = x.shape
    count = steps(tuple(x.shape)[-2:], kernel_size, stride, padding, dilation)
    whole = padded(x, padding, padding)
    if type(x) is np.ndarray:
        windows = np.copy(window_views(whole, kernel_size, count, stride, dilation), order="C")
    else:
        windows = gathered(whole, kernel_size, count, stride, dilation)
    rows = channels * kernel_size[0] * kernel_size[1]
    return np.reshape(windows, (*lead, rows, count[0] * count[1]))


def _fold(
    x: Any, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> Any:
    """(…, channels * places, windows) -> (…, channels, height, width)."""
    *lead, rows, _ = x.shape
    count = steps(output_size, kernel_size, stride, padding, dilation)
    channels = rows // (kernel_size[0] * kernel_size[1])
    windows = np.reshape(x, (*lead, channels, *kernel_size, *count))
    longer = tuple([n + 2 * p for n, p in zip(output_size, padding, strict=True)])
    whole = spread(windows, longer, kernel_size, stride, dilation)
    return np.copy(whole[inside(padding, output_size)], order="C") if any(padding) else whole


im2col_op: Op = Op(
    "im2col",
    _unfold,
    ("x",),
    node="Im2ColBackward0",
    vjp={
        "x": lambda g, x_shape, kernel_size, dilation, padding, stride: col2im_op(
            g,
            output_size=tuple(x_shape)[-2:],
            kernel_size=kernel_size,
            dilation=dilation,
            padding=padding,
            stride=stride,
        )
    },
    jvp=LINEAR,
    public="nn.functional.unfold",
    opmath=False,
    refuses=no_kernel("im2col_out_cpu", "i"),
    samples=lambda: [
        Sample(T(2, 2, 4, 3), (2, 3)),
        Sample(T(2, 5, 4), 2, 2, 1, (2, 1)),
        Sample(T(0, 2, 3, 3), 2),
        Sample(T(1, 1, 3, 3), 3, padding=1, stride=2),
    ],
)
col2im_op: Op = Op(
    "col2im",
    _fold,
    ("x",),
    node="Col2ImBackward0",
    vjp={
        "x": lambda g, kernel_size, dilation, padding, stride: im2col_op(
            g, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
        )
    },
    jvp=LINEAR,
    public="nn.functional.fold",
    refuses=no_kernel("col2im_out_cpu", "i"),
    samples=lambda: [
        Sample(T(2, 12, 2), (4, 3), (2, 3), stride=(2, 1)),
        Sample(T(8, 9), (4, 4), 2),
        Sample(T(1, 4, 9), 4, 2),
        Sample(T(2, 9, 4), (3, 3), 3, padding=1, stride=2),
    ],
)


def _pair(name: str, value: Any) -> Ints:
    if isinstance(value, (tuple, list)):
        if len(value) == 1:
            value = (*value, *value)
        if len(value) != 2:
            raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(value)}")
        return tuple([require_int(v, None, name) for v in value])
    return (require_int(value, None, name),) * 2


def _check(kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> None:
    for what, values, label in (
        ("kernel size", kernel, "kernel"),
        ("stride", stride, "stride"),
        ("dilation", dilation, "dilation"),
    ):
        if min(values) <= 0:
            raise RuntimeError(
                f"{what} should be greater than zero, but got {label}_height: {values[0]} "
                f"{label}_width: {values[1]}"
            )
    if min(padding) < 0:
        raise RuntimeError(
            f"padding should be non-negative, but got pad_height: {padding[0]} pad_width: "
            f"{padding[1]}"
        )


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def unfold(
    input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Every sliding window of an image as a column."""
    require_tensor("im2col", input)
    kernel, spacing = _pair("kernel_size", kernel_size), _pair("dilation", dilation)
    sides, step = _pair("padding", padding), _pair("stride", stride)
    _check(kernel, spacing, sides, step)
    shape = tuple(input._data.shape)
    if len(shape) < 3:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [-{len(shape)}, "
            f"{len(shape) - 1}], but got 2)"
        )
    if len(shape) not in (3, 4) or 0 in shape[len(shape) - 3 :]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(shape)}"
        )
    count = steps(shape[-2:], kernel, step, sides, spacing)
    if min(count) < 1:
        raise RuntimeError(
            f"Given input with spatial size {shape[-2:]}, kernel_size={kernel}, "
            f"dilation={spacing}, padding={sides}, calculated shape of the array of sliding blocks "
            f"as {count}, but its components must be at least one."
        )
    refuse(im2col_op, input._data.dtype)
    parameters = {"kernel_size": kernel, "dilation": spacing, "padding": sides, "stride": step}
    result: Tensor = apply(im2col_op, (input,), parameters)
    return result


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def fold(
    input: Any,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Images from the columns of their sliding windows; what overlaps is added."""
    require_tensor("col2im", input)
    size = _pair("output_size", output_size)
    kernel, spacing = _pair("kernel_size", kernel_size), _pair("dilation", dilation)
    sides, step = _pair("padding", padding), _pair("stride", stride)
    _check(kernel, spacing, sides, step)
    shape = tuple(input._data.shape)
    if len(shape) not in (2, 3) or 0 in shape[len(shape) - 2 :]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(shape)}"
        )
    if kernel[0] * kernel[1] >= 2**63:
        raise RuntimeError(
            f"Given kernel_width = {kernel[1]} and kernel_height = {kernel[0]} the product of "
            "kernel_width and kernel_height overflowed."
        )
    if shape[-2] % (kernel[0] * kernel[1]):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={shape[-2]} and kernel_size={kernel}."
        )
    count = steps(size, kernel, step, sides, spacing)
    if shape[-1] != count[0] * count[1]:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={spacing}, "
            f"padding={sides}, stride={step}, expected size of input's dimension 2 to match the "
            f"calculated number of sliding blocks {count[0]} * {count[1]} = "
            f"{count[0] * count[1]}, but got input.size(2)={shape[-1]}."
        )
    if min(count) < 1:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={spacing}, "
            f"padding={sides}, stride={step}, calculated shape of the array of sliding blocks as "
            f"{count}, which is too small (non-positive)"
        )
    refuse(col2im_op, input._data.dtype)
    parameters = {
        "output_size": size,
        "kernel_size": kernel,
        "dilation": spacing,
        "padding": sides,
        "stride": step,
    }
    result: Tensor = apply(col2im_op, (input,), parameters)
    return result
