"""The packages that write and run ONNX files, imported lazily."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

NEEDED = 'ONNX files need the package onnx: pip install "tautograd[onnx]"'


def onnx() -> Any:
    """The package `onnx`; raises an error that says how to install it."""
    try:
        package = importlib.import_module("onnx")
        importlib.import_module("onnx.helper")
        importlib.import_module("onnx.checker")
    except ImportError as error:
        raise ModuleNotFoundError(f"{NEEDED} ({error})", name="onnx") from None
    return package


def has_runtime() -> bool:
    """Whether onnxruntime is available to run models."""
    return importlib.util.find_spec("onnxruntime") is not None
