"""`torch.onnx`, as far as models and libraries touch it while they are imported and run.

No file is written: `export` is not here, and says so. What a program asks on its way is answered: nothing
is being exported, and what it says of its own operations is kept for an exporter to find.
"""

from __future__ import annotations

import functools
import sys
import types

from . import errors, operators, symbolic_helper
from .errors import OnnxExporterError
from .symbolics import register_custom_op_symbolic as register_custom_op_symbolic
from .symbolics import unregister_custom_op_symbolic as unregister_custom_op_symbolic

__all__ = ["OnnxExporterError", "errors", "is_in_onnx_export"]

producer_name = "pytorch"


def is_in_onnx_export() -> bool:
    """Whether a model is being exported: never."""
    return False


def _operator_set(version: int) -> types.ModuleType:
    """The module that holds an operator set's rules for PyTorch's operations: none, without an exporter."""
    path = f"onnx.symbolic_opset{version}"
    about = f"`torch.{path}`: rules of an exporter that is not here."
    module = types.ModuleType(f"{__name__.partition('.')[0]}.{path}", about)
    module.__getattr__ = functools.partial(_missing, f"torch.{path}")  # type: ignore[method-assign]
    return sys.modules.setdefault(module.__name__, module)


def _missing(path: str, name: str) -> object:
    from .._nearest import missing_name

    raise AttributeError(missing_name(path, name, ()), name=name)


globals().update({f"symbolic_opset{version}": _operator_set(version) for version in range(7, 21)})
__getattr__ = functools.partial(_missing, "torch.onnx")


_ = operators, symbolic_helper  # parts that PyTorch loads with the package
