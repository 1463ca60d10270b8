"""Convolutions as modules, and transposed ones, over one, two or three dimensions."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from .. import functional as F
from ._shared.constructors import own_constructor
from ._shared.weight_and_bias import WeightAndBias
from .utils import _ntuple, _reverse_repeat_tuple

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(WeightAndBias):
    """What all convolutions share: a weight, a bias, and the parameters of the windows."""

    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: str | tuple[int, ...]
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: str

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_groups(in_channels, out_channels, groups)
        _check_padding(padding, stride, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._sides()
        outer, inner = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        shape = (outer, inner // groups, *kernel_size)
        self._make_parameters(shape, out_channels, bias, device, dtype)

    def _sides(self) -> Any:
        """The padding before and after each dimension, last dimension first, in the format of `pad`."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        sides = [0, 0] * len(self.kernel_size)
        if self.padding == "same":
            pairs = zip(reversed(self.dilation), reversed(self.kernel_size), strict=True)
            for place, (dilation, kernel) in enumerate(pairs):
                total = dilation * (kernel - 1)
                sides[2 * place : 2 * place + 2] = [total // 2, total - total // 2]
        return sides

    def extra_repr(self) -> str:
        rank = len(self.kernel_size)
        said = [f"{self.in_channels}, {self.out_channels}"]
        said += [f"kernel_size={self.kernel_size}", f"stride={self.stride}"]
        if self.padding != (0,) * len(self.padding):
            said.append(f"padding={self.padding}")
        if self.dilation != (1,) * rank:
            said.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * rank:
            said.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            said.append(f"groups={self.groups}")
        if self.bias is None:
            said.append("bias=False")
        if self.padding_mode != "zeros":
            said.append(f"padding_mode={self.padding_mode}")
        return ", ".join(said)

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


def _check_groups(in_channels: int, out_channels: int, groups: int) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
        if channels % groups:
            raise ValueError(f"{name} must be divisible by groups")


def _check_padding(padding: Any, stride: tuple[int, ...], padding_mode: str) -> None:
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(
                f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}"
            )
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in frozenset(_PADDING_MODES):  # unhashable values raise TypeError
        raise ValueError(
            f"padding_mode must be one of {set(_PADDING_MODES)}, but got "
            f"padding_mode='{padding_mode}'"
        )


class _Conv(_ConvNd):
    """A convolution over `_rank` dimensions."""

    _rank: int
    _convolve: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        each = _ntuple(self._rank)
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size),
            each(stride),
            padding if isinstance(padding, str) else each(padding),
            each(dilation),
            False,
            each(0),
            groups,
            bias,
            padding_mode,
            device=device,
            dtype=dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self._rank
        out: Tensor = self._convolve(
            input, weight, bias, self.stride, padding, self.dilation, self.groups
        )
        return out

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


@own_constructor
class Conv1d(_Conv):
    """A convolution over one dimension: `(batch, channels, length)`."""

    _rank: int = 1
    _convolve = staticmethod(F.conv1d)


@own_constructor
class Conv2d(_Conv):
    """A convolution over two dimensions: `(batch, channels, height, width)`."""

    _rank: int = 2
    _convolve = staticmethod(F.conv2d)


@own_constructor
class Conv3d(_Conv):
    """A convolution over three dimensions: `(batch, channels, depth, height, width)`."""

    _rank: int = 3
    _convolve = staticmethod(F.conv3d)


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution over `_rank` dimensions."""

    _rank: int
    _convolve: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        each = _ntuple(self._rank)
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size),
            each(stride),
            each(padding),
            each(dilation),
            True,
            each(output_padding),
            groups,
            bias,
            padding_mode,
            device=device,
            dtype=dtype,
        )

    def _extra(self, input: Tensor, output_size: Any) -> Any:
        """What to add at the end of each dimension to get the requested output size."""
        if output_size is None:
            return self.output_padding
        rank = self._rank
        shape = tuple(input.shape)
        lead = 2 if len(shape) == rank + 2 else 1
        padding: Any = self.padding  # never a name here
        asked = output_size[lead:] if len(output_size) == lead + rank else output_size
        wanted = list(asked)
        if len(wanted) != rank:
            raise ValueError(
                f"ConvTranspose{rank}D: for {len(shape)}D input, output_size must have {rank} or "
                f"{lead + rank} elements (got {len(wanted)})"
            )
        if (
            not len(shape[lead:])
            == len(self.stride)
            == len(padding)
            == len(self.kernel_size)
            == rank
        ):
            raise RuntimeError(
                f"expected {rank + 1}D or {rank + 2}D input and {rank} numbers each for kernel_size, stride "
                f"and padding, but got an input of shape {list(shape)} and kernel_size={self.kernel_size}"
            )
        least = [
            (n - 1) * s - 2 * p + d * (k - 1) + 1
            for n, s, p, d, k in zip(
                shape[lead:],
                self.stride,
                padding,
                self.dilation,
                self.kernel_size,
                strict=True,
            )
        ]
        most = [n + s - 1 for n, s in zip(least, self.stride, strict=True)]
        if any(not a <= n <= b for n, a, b in zip(wanted, least, most, strict=True)):
            raise ValueError(
                f"requested an output size of {asked}, but valid sizes range from {least} to "
                f"{most} (for an input of {input.shape[2:]})"
            )
        return [n - a for n, a in zip(wanted, least, strict=True)]

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        out: Tensor = self._convolve(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._extra(input, output_size),
            self.groups,
            self.dilation,
        )
        return out


@own_constructor
class ConvTranspose1d(_ConvTransposeNd):
    """The adjoint of `Conv1d` in its input, with a bias."""

    _rank: int = 1
    _convolve = staticmethod(F.conv_transpose1d)


@own_constructor
class ConvTranspose2d(_ConvTransposeNd):
    """The adjoint of `Conv2d` in its input, with a bias."""

    _rank: int = 2
    _convolve = staticmethod(F.conv_transpose2d)


@own_constructor
class ConvTranspose3d(_ConvTransposeNd):
    """The adjoint of `Conv3d` in its input, with a bias."""

    _rank: int = 3
    _convolve = staticmethod(F.conv_transpose3d)


from ._shared.lazy_conv import (  # noqa: E402  (they are made of the classes above)
    LazyConv1d,
    LazyConv2d,
    LazyConv3d,
    LazyConvTranspose1d,
    LazyConvTranspose2d,
    LazyConvTranspose3d,
)
