"""Convolutions that learn the number of input channels from their first input."""

from __future__ import annotations

from typing import Any

from ...._tensor.tensor import Tensor
from ...parameter import UninitializedParameter
from ..conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    _Conv,
    _ConvNd,
    _ConvTransposeNd,
)
from ..lazy import LazyModuleMixin
from .constructors import own_constructor


class _Lazy(LazyModuleMixin, _ConvNd):
    """What a lazy convolution adds to the convolution it becomes."""

    _rank: int

    def _wait(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        """Create parameters without a shape, until the first input arrives."""
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Reinitialise weights and bias, once they have a shape."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Give the parameters the shapes that this input requires."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        outer, inner = self.out_channels, self.in_channels
        if self.transposed:
            outer, inner = inner, outer
        weight, bias = self.weight, self.bias
        assert isinstance(weight, UninitializedParameter)
        weight.materialize((outer, inner // self.groups, *self.kernel_size))
        if bias is not None:
            assert isinstance(bias, UninitializedParameter)
            bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input: Tensor) -> int:
        rank = self._rank
        ndim = len(input.shape)
        if ndim not in (rank + 1, rank + 2):
            raise RuntimeError(
                f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return int(input.shape[ndim - rank - 1])


class _LazyConv(_Lazy, _Conv):
    def __init__(
        self,
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
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype
        )
        self._wait(out_channels, bias, device, dtype)


class _LazyConvTranspose(_Lazy, _ConvTransposeNd):
    def __init__(
        self,
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
        super().__init__(
            0,
            0,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            False,
            dilation,
            padding_mode,
            device,
            dtype,
        )
        self._wait(out_channels, bias, device, dtype)


@own_constructor
class LazyConv1d(_LazyConv, Conv1d):
    """A `Conv1d` that infers its input channels."""

    cls_to_become = Conv1d


@own_constructor
class LazyConv2d(_LazyConv, Conv2d):
    """A `Conv2d` that infers its input channels."""

    cls_to_become = Conv2d


@own_constructor
class LazyConv3d(_LazyConv, Conv3d):
    """A `Conv3d` that infers its input channels."""

    cls_to_become = Conv3d


@own_constructor
class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A `ConvTranspose1d` that infers its input channels."""

    cls_to_become = ConvTranspose1d


@own_constructor
class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A `ConvTranspose2d` that infers its input channels."""

    cls_to_become = ConvTranspose2d


@own_constructor
class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A `ConvTranspose3d` that infers its input channels."""

    cls_to_become = ConvTranspose3d


for _class in (
    LazyConv1d,
    LazyConv2d,
    LazyConv3d,
    LazyConvTranspose1d,
    LazyConvTranspose2d,
    LazyConvTranspose3d,
):
    _class.__module__ = Conv1d.__module__  # where PyTorch has them
