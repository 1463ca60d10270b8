"""The packages that ONNX files are written and run with, which are loaded when they are needed."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

NEEDED = 'ONNX files need the package onnx: pip install "tautograd[onnx]"'


def onnx() -> Any:
    """The package `onnx`; an error that says how to get it."""
    try:
        package = importlib.import_module("onnx")
        importlib.import_module("onnx.helper")
        importlib.import_module("onnx.checker")
    except ImportError as error:
        raise ModuleNotFoundError(f"{NEEDED} ({error})", name="onnx") from None
    return package


def has_runtime() -> bool:
    """Whether models can be run by onnxruntime."""
    return importlib.util.find_spec("onnxruntime") is not None
