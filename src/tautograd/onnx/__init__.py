"""`torch.onnx`: exporting models as ONNX graphs, through the package `onnx` (the extra `onnx`).

`export` runs a model and records the operations it applies (`_export/`). Rules that a program registers for its
own operations with PyTorch's older exporter (`register_custom_op_symbolic`) are stored but never used:
they are made for TorchScript graphs.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

from . import errors, operators, symbolic_helper
from .enums import OperatorExportTypes as OperatorExportTypes
from .enums import TensorProtoDataType as TensorProtoDataType
from .enums import TrainingMode as TrainingMode
from .errors import OnnxExporterError
from .errors import OnnxExporterWarning as OnnxExporterWarning
from .errors import UnsupportedOperatorError as UnsupportedOperatorError
from .symbolics import register_custom_op_symbolic as register_custom_op_symbolic
from .symbolics import unregister_custom_op_symbolic as unregister_custom_op_symbolic

__all__ = ["ONNXProgram", "OnnxExporterError", "errors", "export", "is_in_onnx_export"]

producer_name = "pytorch"
_LATER = {
    "export": "_export.exporting",
    "ONNXProgram": "_export.program",
    "select_model_mode_for_export": "_export.modes",
}


def is_in_onnx_export() -> bool:
    """Whether this thread is exporting a model."""
    running = sys.modules.get(f"{__name__}._export.running")
    return running is not None and running.exporting.depth > 0


def _operator_set(version: int) -> types.ModuleType:
    """`torch.onnx.symbolic_opset11` and the like, which torchvision imports: without the older exporter's rules."""
    path = f"onnx.symbolic_opset{version}"
    about = f"`torch.{path}`: rules of PyTorch's exporter of TorchScript, which is not here."
    module = types.ModuleType(f"{__name__.partition('.')[0]}.{path}", about)
    module.__getattr__ = functools.partial(_missing, f"torch.{path}")  # type: ignore[method-assign]
    return sys.modules.setdefault(module.__name__, module)


def _missing(path: str, name: str) -> object:
    from .._nearest import missing_name

    raise AttributeError(missing_name(path, name, ()), name=name)


globals().update({f"symbolic_opset{version}": _operator_set(version) for version in range(7, 21)})


def __getattr__(name: str) -> Any:
    if name in _LATER:
        import importlib

        found = getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
        globals()[name] = found
        return found
    from .._nearest import missing_name

    raise AttributeError(missing_name("torch.onnx", name, (*__all__, *_LATER)), name=name)


_ = operators, symbolic_helper  # parts that PyTorch loads with the package
