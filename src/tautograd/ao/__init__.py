"""`torch.ao`: of it, what a model of floating-point numbers carries to be quantized later."""

from . import quantization

__all__ = ["quantization"]
