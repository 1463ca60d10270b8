"""`torch.ao.quantization`: marks of where a model's numbers would become whole numbers, and floats again.

Models carry them from their making on; until somebody converts the model, which cannot be done here, they
pass on what they get.
"""

from __future__ import annotations

from typing import Any

from ..nn.modules.module import Module

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class _Stub(Module):
    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        """`x` as it is."""
        return x


class QuantStub(_Stub):
    """Here a converted model's numbers become whole numbers."""


class DeQuantStub(_Stub):
    """Here a converted model's numbers become floats again."""


class QuantWrapper(Module):
    """A module between both marks."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Any) -> Any:
        """The module's result."""
        return self.dequant(self.module(self.quant(X)))
