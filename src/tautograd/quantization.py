"""`torch.quantization`: the older name of `torch.ao.quantization`."""

from .ao.quantization import DeQuantStub, QuantStub, QuantWrapper

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]
