"""Converts the memory format of convolution weights throughout a model."""

from __future__ import annotations

from typing import Any, TypeVar

from ..modules import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

Given = TypeVar("Given", bound=Module)


def _convert(model: Given, kinds: tuple[type[Any], ...], memory_format: Any) -> Given:
    for module in model.modules():
        if isinstance(module, kinds):
            found: Any = module
            found.weight.data = found.weight.detach().clone(memory_format=memory_format)
    return model


def convert_conv2d_weight_memory_format(module: Given, memory_format: Any) -> Given:
    """Convert the weights of all two-dimensional convolutions in a module to this memory format."""
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Given, memory_format: Any) -> Given:
    """Convert the weights of all three-dimensional convolutions in a module to this memory format."""
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
