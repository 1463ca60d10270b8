"""`torch.onnx.operators`: shapes as tensors, so that an exporter sees where they go."""

from __future__ import annotations

from .._arrays.dtypes import int64
from .._ops.declare.python_surface import speak
from .._tensor.creation import tensor
from .._tensor.tensor import Tensor

__all__: list[str] = []


def shape_as_tensor(x: Tensor) -> Tensor:
    """The shape, as a tensor of whole numbers."""
    return tensor(list(x.shape), dtype=int64)


def reshape_from_tensor_shape(x: Tensor, shape: Tensor) -> Tensor:
    """`x` in the shape that a tensor of whole numbers gives."""
    return x.reshape(shape.tolist())


speak(globals(), ("shape_as_tensor", "reshape_from_tensor_shape"))
