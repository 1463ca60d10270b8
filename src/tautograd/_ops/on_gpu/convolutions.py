"""Convolutions by cuDNN: forward, and the gradients of images and of weights, each one call.

The three records of the trilinear form (`nn/convolution/trilinear.py`) are cuDNN's three operations. Lines (one
dimension) are images of one row. Where cuDNN refuses, the record's own formula runs: patches and a product.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.cuda.cuda_array import CudaArray, new
from ..._arrays.cuda.cudnn import Cudnn, cudnn, strides_of, switch
from ..._arrays.cuda.views import transposed
from ..declare.record import REGISTRY, TWINS
from ..nn.convolution.windows import steps
from .launch import dense, kernel, sums_dtype
from .specialise import forward_of, rule_of, takes_half

_CODES = frozenset("fdeE")
_X, _W, _Y = 1, 2, 3  # numbers of a graph's tensors

# A number for each channel added to all of an image's places.
ADD_CHANNELS = kernel(
    "add_channels",
    r"""(S* y, const S* b, Int n, Int channels, Int apart) {
  Int i = (Int)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = y[i] + b[i / apart % channels];
}""",
)


def _suits(*arrays: Any) -> Any:
    """cuDNN, if it can be asked for these; else None."""
    first = arrays[0]
    for x in arrays:
        if type(x) is not CudaArray or x.dtype != first.dtype or not x.size:
            return None
    if first.dtype.char not in _CODES or not 3 <= len(first.shape) <= 5:
        return None
    return cudnn()


def _lain(x: Any) -> Any:
    """An array whose elements lie one after the other, in C order or with channels last."""
    return x if x.dense or _comes_last(x) else dense(x)


def _comes_last(x: Any) -> bool:
    """Whether the channels of images come last in memory, and there is more than one."""
    rank = len(x.shape)
    return rank > 3 and x.shape[1] > 1 and transposed(x, (0, *range(2, rank), 1)).dense


def _room(shape: tuple[int, ...], dtype: Any, last: bool) -> Any:
    """Room for images, with channels last if asked to."""
    if not last:
        return new(shape, dtype)
    rank = len(shape)
    found = new((shape[0], *shape[2:], shape[1]), dtype)
    return transposed(found, (0, rank - 1, *range(1, rank - 1)))


def _as_images(shape: Any, strides: Any) -> tuple[list[int], list[int]]:
    """Shape and strides of lines as those of images of one row."""
    shape, strides = list(shape), list(strides)
    if len(shape) == 3:
        shape.insert(2, 1)
        strides.insert(2, strides[2] * shape[3])
    return shape, strides


class _Form:
    """One of the three operations: its tensors, and the geometry of the windows."""

    __slots__ = ("arrays", "geometry")

    def __init__(self, x: Any, w: Any, y: Any, stride: Any, padding: Any, dilation: Any) -> None:
        self.arrays = {_X: x, _W: w, _Y: y}
        self.geometry = stride, padding, dilation

    def run(self, library: Cudnn, name: str, given: tuple[int, int], out: int) -> bool:
        """Run one of cuDNN's operations; False where it has no kernel for it."""
        x, w, y = self.arrays.values()
        key = (name, x.shape, x.strides, w.shape, w.strides, y.shape, y.strides, *self.geometry)
        built = library.built(
            key,
            lambda graph: self._describe(graph, name, given, out),
            x.dtype.char,
            switch("allow_tf32"),
        )
        if built is None or (x.ptr | w.ptr | y.ptr) % 16:
            return False
        library.run(built, {_X: x.ptr, _W: w.ptr, _Y: y.ptr})
        return True

    def _describe(self, graph: Any, name: str, given: tuple[int, int], out: int) -> None:
        stride, padding, dilation = (list(g) for g in self.geometry)
        if len(stride) == 1:
            stride, padding, dilation = [1, *stride], [0, *padding], [1, *dilation]
        layouts = {n: _as_images(a.shape, strides_of(a)) for n, a in self.arrays.items()}
        names = {_X: "image", _W: "weight" if name == "conv_fprop" else "filter", _Y: "loss"}
        tensors = {}
        for n in given:
            shape, strides = layouts[n]
            tensors[names[n]] = graph.tensor(name=names[n], dim=shape, stride=strides, uid=n)
        found = getattr(graph, name)(**tensors, padding=padding, stride=stride, dilation=dilation)
        shape, strides = layouts[out]
        found.set_output(True).set_dim(shape).set_stride(strides).set_uid(out)


def _convolve(x: Any, w: Any, b: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    library = _suits(x, w)
    if library is None or (b is not None and (type(b) is not CudaArray or b.dtype != x.dtype)):
        return None
    x, w = _lain(x), _lain(w)
    count = steps(x.shape[2:], w.shape[2:], stride, padding, dilation)
    shape = (x.shape[0], w.shape[0], *count)
    if not all(shape):
        return None
    y = _room(shape, x.dtype, _comes_last(x) or _comes_last(w))
    if not _Form(x, w, y, stride, padding, dilation).run(library, "conv_fprop", (_X, _W), _Y):
        return None
    return y if b is None else _with_bias(y, b)


def _with_bias(y: Any, b: Any) -> Any:
    """Images with a number for each channel added, in place."""
    channels = y.shape[1]
    apart = y.size // (y.shape[0] * channels) if y.dense else 1
    b = dense(b)
    size = y.size
    ADD_CHANNELS(y.dtype.char, (size + 255) // 256, 256, y.ptr, b.ptr, size, channels, apart)
    return y


def _transpose(
    x: Any, w: Any, b: Any, size: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """The gradient of images; x is that of the results."""
    library = _suits(x, w)
    if library is None or (b is not None and (type(b) is not CudaArray or b.dtype != x.dtype)):
        return None
    x, w = _lain(x), _lain(w)
    shape = (x.shape[0], w.shape[1] * groups, *size)
    if not all(shape) or steps(size, w.shape[2:], stride, padding, dilation) != tuple(x.shape[2:]):
        return None
    images = _room(shape, x.dtype, _comes_last(x) or _comes_last(w))
    form = _Form(images, w, x, stride, padding, dilation)
    if not form.run(library, "conv_dgrad", (_Y, _W), _X):
        return None
    return images if b is None else _with_bias(images, b)


def _weigh(
    x: Any, y: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """The gradient of weights."""
    library = _suits(x, y)
    if library is None:
        return None
    x, y = _lain(x), _lain(y)
    shape = (y.shape[1], x.shape[1] // groups, *kernel)
    if not all(shape) or steps(x.shape[2:], kernel, stride, padding, dilation) != tuple(
        y.shape[2:]
    ):
        return None
    w = _room(shape, x.dtype, _comes_last(x))
    form = _Form(x, w, y, stride, padding, dilation)
    return w if form.run(library, "conv_wgrad", (_X, _Y), _W) else None


# The sum over all but the channels: a block has a part of the places of one channel in one image.
CHANNEL_SUMS = kernel(
    "channel_sums",
    r"""(const S* g, T* sums, Int channels, Int apart, Int images, Int each) {
  Int channel = (Int)blockIdx.x % channels, part = (Int)blockIdx.x / channels;
  Int end = (part + 1) * each < images ? (part + 1) * each : images;
  T total = 0;
  for (Int n = part * each; n < end; ++n) {
    const S* from = g + (n * channels + channel) * apart;
    for (Int i = threadIdx.x; i < apart; i += blockDim.x) total += from[i];
  }
  total = block_sum(total);
  if (threadIdx.x == 0) sums[part * channels + channel] = total;
}""",
)


def channel_sums(g: Any) -> Any:
    """The sum of images over all but their channels, in float32 for half precision."""
    images, channels = g.shape[:2]
    apart = g.size // (images * channels)
    parts = max(1, min(images, 1024 // channels))
    each = (images + parts - 1) // parts
    parts = (images + each - 1) // each
    sums = new((parts, channels), sums_dtype(g.dtype))
    CHANNEL_SUMS(
        g.dtype.char, channels * parts, 256, g.ptr, sums.ptr, channels, apart, images, each
    )
    return np.sum(sums, axis=0) if parts > 1 else sums[0]


def _bias_gradient(g: Any) -> Any:
    if type(g) is not CudaArray or g.dtype.char not in _CODES or not g.dense or not g.size:
        return None
    return channel_sums(g)


def install() -> None:
    """Put these in place."""
    forward_of("convolution", half=True)(_convolve)
    forward_of("transposed_convolution", half=True)(_transpose)
    forward_of("weight_correlation", half=True)(_weigh)
    for name in ("convolution", "transposed_convolution"):
        rule_of(name, "b")(lambda g: _bias_gradient(g))
        _directly(name, "x", "w")
        takes_half(name)
    _directly("weight_correlation", "x", "y")
    takes_half("weight_correlation")


def _directly(name: str, *inputs: str) -> None:
    """Rules that are other records: those see to half precision themselves."""
    for op in (REGISTRY[name], *TWINS.get(name, ())):
        for input in inputs:
            rule = op.vjp[op.position[input]]
            rule.source.on_gpu = True
