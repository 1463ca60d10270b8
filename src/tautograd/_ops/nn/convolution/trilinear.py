"""Convolution, as one trilinear form seen from three sides.

    form(x, w, y) = sum of y[n, o, p] w[o, c, k] x[n, c, p * stride + k * dilation - padding]

is linear in the input, the weight and the output. A convolution is its derivative in `y`, a
transposed convolution that in `x`, and the gradient of a weight that in `w`: so each record's
rules are the other two, to any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.kernels import called, plain
from ...._arrays.result_layout import channels_come_last, in_c_order, in_memory_order
from ...._arrays.strided import strided
from ...declare.record import Op
from ...declare.samples import Sample, T
from .conv_kernels import convolved, correlated, pay_in_a_program, spread_back
from .windows import Ints, gathered, inside, padded, spread, steps


def _plain(*arrays: Any) -> bool:
    """Whether these are NumPy's own arrays, of one dtype, with something in them."""
    dtype = arrays[0].dtype
    return all(type(a) is np.ndarray and a.size and a.dtype == dtype for a in arrays)


def _by_kernels(
    arrays: tuple[Any, ...], shape: Ints, weight: Ints, count: Ints, stride: Ints
) -> bool:
    """Whether the functions for NumPy's own arrays do it: now, or at each replay of what is being recorded.

    `shape` is the images', `weight` the weight's, `count` how many windows there are.
    """
    if not hasattr(type(arrays[0]), "as_call"):
        return _plain(*arrays)
    arrays = tuple([plain(a) for a in arrays])
    return _plain(*arrays) and pay_in_a_program(shape, weight, count, stride, arrays[0].dtype)


def _columns(
    x: Any, kernel: Ints, count: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    """Every window as a column: `(batch, groups, rows, positions)`."""
    windows = gathered(padded(x, padding, padding), kernel, count, stride, dilation)
    batch, channels = tuple(x.shape)[:2]
    rows = channels // groups * int(np.prod(kernel))
    return np.reshape(windows, (batch, groups, rows, int(np.prod(count))))


def _per_group(w: Any, groups: int) -> Any:
    """A weight as a matrix for each group: `(groups, out channels, rows)`."""
    out, *rest = w.shape
    return np.reshape(w, (groups, out // groups, int(np.prod(rest))))


def _with_bias(y: Any, b: Any) -> Any:
    if b is None:
        return y
    return y + np.reshape(b, (*b.shape, *(1,) * (y.ndim - 2)))


def _convolve(
    x: Any, w: Any, b: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    kernel = tuple(w.shape)[2:]
    count = steps(tuple(x.shape)[2:], kernel, stride, padding, dilation)
    arrays = (x, w) if b is None else (x, w, b)
    if _by_kernels(arrays, tuple(x.shape), tuple(w.shape), count, stride):
        return called(convolved, x, w, b, count, stride, padding, dilation, groups)
    columns = _columns(x, kernel, count, stride, padding, dilation, groups)
    y = np.matmul(_per_group(w, groups), columns)
    return _with_bias(np.reshape(y, (x.shape[0], w.shape[0], *count)), b)


def _transpose(
    x: Any, w: Any, b: Any, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    image = (x.shape[0], w.shape[1] * groups, *size)
    if _by_kernels((x, w), image, tuple(w.shape), tuple(x.shape)[2:], stride):
        found = called(spread_back, x, w, size, stride, padding, dilation, groups)
        return _with_bias(found, b)
    batch, channels, *count = x.shape
    kernel = tuple(w.shape)[2:]
    flat = np.reshape(x, (batch, groups, channels // groups, int(np.prod(count))))
    columns = np.matmul(np.swapaxes(_per_group(w, groups), -1, -2), flat)
    windows = np.reshape(columns, (batch, w.shape[1] * groups, *kernel, *count))
    longer = tuple([n + 2 * p for n, p in zip(size, padding, strict=True)])
    whole = spread(windows, longer, kernel, stride, dilation)
    return _with_bias(np.copy(whole[inside(padding, size)], order="C"), b)


def _weigh(
    x: Any, y: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    weight = (y.shape[1], x.shape[1] // groups, *kernel)
    if _by_kernels((x, y), tuple(x.shape), weight, tuple(y.shape)[2:], stride):
        return called(correlated, x, y, kernel, stride, padding, dilation, groups)
    batch, out, *count = y.shape
    columns = _columns(x, kernel, tuple(count), stride, padding, dilation, groups)
    flat = np.reshape(y, (batch, groups, out // groups, int(np.prod(count))))
    total = np.sum(np.matmul(flat, np.swapaxes(columns, -1, -2)), axis=0)
    return np.reshape(total, (out, x.shape[1] // groups, *kernel))


def _bias_gradient(g: Any) -> Any:
    return np.sum(g, axis=(0, *range(2, g.ndim)))


def _bias_tangent(t: Any, shape: Any) -> Any:
    """A bias alone, in the shape of the output."""
    return np.broadcast_to(np.reshape(t, (*t.shape, *(1,) * (len(shape) - 2))), shape)


def _cut_to(shape: Any, y: Any) -> Any:
    """The positions that an output has. An output padding of a stride or more (which a dilation allows)
    leaves room for further windows, which nothing was computed from."""
    if tuple(y.shape) == tuple(shape):
        return y
    return y[(slice(None), slice(None), *(slice(n) for n in tuple(shape)[2:]))]


def _count(size: Any, w: Any, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    return steps(tuple(size)[2:], tuple(w.shape)[2:], stride, padding, dilation)


def _layout(data: Any, operands: Any) -> Any:
    """Channels last where the images or the weights have them so.

    PyTorch takes lines for images of one row once they are in C order, so of these only the weights
    count.
    """
    if type(data) is not np.ndarray or not data.size:
        return data
    x, w = operands[:2]
    if data.ndim == 3:
        (n, c, size), (a, b, step) = w.shape, w.strides
        last = channels_come_last(strided(w, (n, c, 1, size), (a, b, size * step, step)))
    else:
        last = channels_come_last(x) or channels_come_last(w)
    return in_memory_order(data, (0, *range(2, data.ndim), 1)) if last else in_c_order(data, ())


convolution_op: Op = Op(
    "convolution",
    _convolve,
    ("x", "w", "b"),
    layout=_layout,
    node="ConvolutionBackward0",
    vjp={
        "x": lambda g, w, x_shape, stride, padding, dilation, groups: transposed_convolution_op(
            g,
            w,
            None,
            size=tuple(x_shape)[2:],
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
        ),
        "w": lambda g, x, w_shape, stride, padding, dilation, groups: weight_correlation_op(
            x,
            g,
            kernel=tuple(w_shape)[2:],
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
        ),
        "b": _bias_gradient,
    },
    jvp={
        "x": lambda t, w, stride, padding, dilation, groups: convolution_op(
            t, w, None, stride=stride, padding=padding, dilation=dilation, groups=groups
        ),
        "w": lambda t, x, stride, padding, dilation, groups: convolution_op(
            x, t, None, stride=stride, padding=padding, dilation=dilation, groups=groups
        ),
        "b": lambda t, x_shape, w, stride, padding, dilation: _bias_tangent(
            t, (x_shape[0], w.shape[0], *_count(x_shape, w, stride, padding, dilation))
        ),
    },
    public="convolution",
    samples=lambda: [
        _sample((2, 2, 5, 4), (3, 2, 3, 2), 3, [1, 1], [0, 0], [1, 1], 1),
        _sample((2, 2, 5, 4), (3, 2, 3, 2), None, [2, 1], [1, 2], [1, 2], 1),
        _sample((1, 4, 6), (6, 2, 3), 6, [2], [1], [2], 2),
        _sample((1, 2, 3, 4, 3), (2, 1, 2, 2, 3), 2, [1, 2, 1], [1, 0, 1], [1, 1, 1], 2),
        _sample((2, 3, 2, 2), (2, 3, 1, 1), 2, [1, 1], [0, 0], [1, 1], 1),
        _sample((0, 2, 3, 3), (2, 2, 2, 2), 2, [1, 1], [0, 0], [1, 1], 1),
    ],
)
transposed_convolution_op: Op = Op(
    "transposed_convolution",
    _transpose,
    ("x", "w", "b"),
    layout=_layout,
    node="ConvolutionBackward0",
    vjp={
        "x": lambda g, w, x_shape, stride, padding, dilation, groups: _cut_to(
            x_shape,
            convolution_op(
                g, w, None, stride=stride, padding=padding, dilation=dilation, groups=groups
            ),
        ),
        "w": lambda g, x, w_shape, stride, padding, dilation, groups: weight_correlation_op(
            g,
            x,
            kernel=tuple(w_shape)[2:],
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
        ),
        "b": _bias_gradient,
    },
    jvp={
        "x": lambda t, w, size, stride, padding, dilation, groups: transposed_convolution_op(
            t, w, None, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups
        ),
        "w": lambda t, x, size, stride, padding, dilation, groups: transposed_convolution_op(
            x, t, None, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups
        ),
        "b": lambda t, x_shape, size: _bias_tangent(t, (x_shape[0], t.shape[0], *size)),
    },
    public="convolution",
    samples=lambda: [
        _sample((2, 3, 3, 2), (3, 2, 3, 2), 2, [1, 1], [0, 0], [1, 1], 1, [0, 0]),
        _sample((1, 4, 3), (4, 2, 3), 4, [2], [1], [2], 2, [1]),
        _sample(
            (1, 2, 2, 1, 2), (2, 1, 2, 2, 2), None, [2, 1, 1], [1, 0, 1], [1, 2, 1], 2, [1, 0, 0]
        ),
        _sample((2, 2, 3, 3), (2, 2, 2, 2), None, [2, 2], [1, 0], [1, 1], 1, [1, 0]),
        _sample((2, 2, 2, 4), (2, 1, 1, 2), None, [1, 1], [0, 1], [3, 2], 2, [2, 1]),
        _sample((0, 2, 3, 3), (2, 2, 2, 2), 2, [1, 1], [0, 0], [1, 1], 1, [0, 0]),
    ],
)
weight_correlation_op: Op = Op(
    "weight_correlation",
    _weigh,
    ("x", "y"),
    node="ConvolutionBackwardBackward0",
    vjp={
        "x": lambda g, y, x_shape, stride, padding, dilation, groups: transposed_convolution_op(
            y,
            g,
            None,
            size=tuple(x_shape)[2:],
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
        ),
        "y": lambda g, x, y_shape, stride, padding, dilation, groups: _cut_to(
            y_shape,
            convolution_op(
                x, g, None, stride=stride, padding=padding, dilation=dilation, groups=groups
            ),
        ),
    },
    jvp="multilinear",
)


def _sample(
    x: Ints,
    w: Ints,
    b: int | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    output_padding: Any = None,
) -> Sample:
    return Sample(
        T(*x),
        T(*w, seed=1),
        None if b is None else T(b, seed=2),
        stride,
        padding,
        dilation,
        output_padding is not None,
        [0] * len(stride) if output_padding is None else output_padding,
        groups,
    )
