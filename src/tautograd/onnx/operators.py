"""`torch.onnx.operators`: shapes as tensors, so that an exporter can follow them."""

from __future__ import annotations

from .._arrays.dtypes import int64
from .._ops.declare.elementwise_calls import require_tensor
from .._ops.declare.python_surface import speak
from .._tensor.creation import tensor
from .._tensor.tensor import Tensor

__all__: list[str] = []


def shape_as_tensor(x: Tensor) -> Tensor:
    """The shape, as an integer tensor."""
    require_tensor("_shape_as_tensor", x, "input")
    return tensor(list(x.shape), dtype=int64)


def reshape_from_tensor_shape(x: Tensor, shape: Tensor) -> Tensor:
    """`x` in the shape given by an integer tensor."""
    require_tensor("_reshape_from_tensor", x, "input")
    require_tensor("_reshape_from_tensor", shape, "shape", 2)
    return x.reshape(shape.tolist())


speak(globals(), ("shape_as_tensor", "reshape_from_tensor_shape"))
