"""`conv_tbc`: a convolution over the first dimension of `(time, batch, channels)`.

Written as a sum over the kernel's places, y[t] = b + Σₖ x[t + k - pad] w[k], it needs no transposition:
each term is one product of matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.dtypes import LEGACY_NAMES
from ...._autograd.apply import apply
from ...._autograd.modes import modes
from ...._tensor.tensor import Tensor
from ...declare.public import NN_FUNCTIONAL, public
from ...declare.record import Op
from ...declare.samples import Sample, T
from ...linalg.products.product_checks import check_not_bool


def _padded(x: Any, pad: int) -> Any:
    """Zeros before and after in time; with a negative number, so much less."""
    if pad > 0:
        zeros = np.zeros_like(x, shape=(pad, *x.shape[1:]))
        return np.concatenate([zeros, x, zeros])
    return x[-pad : max(x.shape[0] + pad, 0)] if pad < 0 else x


def _count(x: tuple[int, ...], w: tuple[int, ...], pad: int) -> int:
    """How long the result is; a kernel of no length fits between all places, and at both ends."""
    return x[0] + 2 * pad - w[0] + 1


def _convolve(x: Any, w: Any, b: Any, pad: int) -> Any:
    whole, count = _padded(x, pad), _count(x.shape, w.shape, pad)
    total = np.broadcast_to(b, (count, x.shape[1], w.shape[2]))
    for place in range(w.shape[0]):
        total = total + np.matmul(whole[place : place + count], w[place])
    return total


def _nothing(like: Any) -> Any:
    """No bias."""
    return np.zeros_like(like, shape=())


def _x_gradient(g: Any, w: Any, pad: int) -> Any:
    """x[s] meets w[k] at t = s - k + pad: the kernel the other way round."""
    turned = np.swapaxes(np.conj(np.flip(w, 0)), 1, 2)
    return _convolve(g, turned, _nothing(g), w.shape[0] - 1 - pad)


def _w_gradient(g: Any, x: Any, w_shape: Any, pad: int) -> Any:
    whole, (count, batch, out) = np.conj(_padded(x, pad)), g.shape
    rows = np.reshape(g, (count * batch, out))
    parts = []
    for place in range(w_shape[0]):
        part = np.reshape(whole[place : place + count], (count * batch, x.shape[2]))
        parts.append(np.matmul(np.swapaxes(part, 0, 1), rows))
    return np.stack(parts) if parts else np.zeros_like(g, shape=w_shape)


conv_tbc_op = Op(
    "conv_tbc",
    _convolve,
    ("x", "w", "b"),
    vjp={"x": _x_gradient, "w": _w_gradient, "b": lambda g: np.sum(g, axis=(0, 1))},
    jvp={
        "x": lambda t, w, pad: _convolve(t, w, _nothing(t), pad),
        "w": lambda t, x, pad: _convolve(x, t, _nothing(t), pad),
        "b": lambda t, x_shape, w, pad: np.broadcast_to(
            t, (_count(x_shape, w.shape, pad), x_shape[1], w.shape[2])
        ),
    },
    samples=lambda: [
        Sample(T(4, 2, 3), T(2, 3, 2), T(2), 1),
        Sample(T(5, 1, 2), T(3, 2, 3), T(3)),
        Sample(T(3, 2, 2), T(1, 2, 2), T(2), 2),
    ],
)


@public(method=False, out=False)
def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Tensor:
    """A convolution over time: `(time, batch, channels)`, weights `(kernel, channels, channels out)`."""
    _check(tuple(input.shape), tuple(weight.shape), tuple(bias.shape))
    count = _count(input.shape, weight.shape, pad)
    if count < 0:
        sizes = [count, input.shape[1], weight.shape[2]]
        raise RuntimeError(f"Trying to create tensor with negative dimension {count}: {sizes}")
    if min(input.shape[0], count, weight.shape[0]) > 0:
        input.detach().view(
            input.shape[0] * input.shape[1], input.shape[2]
        )  # refused where time and batch cannot be one row
    if input.dtype != weight.dtype:
        names = [LEGACY_NAMES[t.dtype] for t in (input, weight)]
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {names[0]} and {names[1]}"
        )
    check_not_bool("addmm_impl_cpu_", input, weight)
    wanted = modes.grad and (input.requires_grad or weight.requires_grad or bias.requires_grad)
    if wanted and input.is_complex():
        raise RuntimeError(
            "conv_tbc does not support automatic differentiation for outputs with complex dtype."
        )
    bias = bias.to(input.dtype)  # it is copied into a result of the input's dtype, whatever its own
    result: Tensor = apply(conv_tbc_op, (input, weight, bias), {"pad": pad})
    return result


NN_FUNCTIONAL["conv_tbc"] = conv_tbc


def _check(x: tuple[int, ...], w: tuple[int, ...], b: tuple[int, ...]) -> None:
    if len(x) != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if len(w) != 3:
        raise RuntimeError(
            "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."
        )
    if len(b) != 1:
        raise RuntimeError("Bias must be 1-D")
    if x[2] != w[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if b[0] != w[2]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
