"""`DTensor` and its functions, under the name of their first module."""

from ..tensor import DTensor, distribute_module, distribute_tensor

__all__ = ["DTensor", "distribute_module", "distribute_tensor"]
