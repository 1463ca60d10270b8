"""A program's export rules for its own operations, stored by name and operator set."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

from .errors import OnnxExporterError

_NAME = re.compile(r"[a-zA-Z0-9-_]+::[a-zA-Z-_]+[a-zA-Z0-9-_]*$")
_registered: dict[str, dict[int, Callable[..., Any]]] = {}


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int
) -> None:
    """Register what an operation becomes, from an operator set on."""
    _registered.setdefault(_checked(symbolic_name), {})[opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Undo `register_custom_op_symbolic`."""
    known = _registered.get(_checked(symbolic_name), {})
    if known.pop(opset_version, None) is None and known:
        warnings.warn(
            f"No custom function registered for '{symbolic_name}' opset {opset_version}",
            stacklevel=2,
        )


def _checked(name: str) -> str:
    """A name with its domain; one without is PyTorch's own."""
    name = f"aten{name}" if name.startswith("::") else name
    if not _NAME.match(name):
        raise OnnxExporterError(
            f"Failed to register operator {name}. The symbolic name must match the format "
            "domain::name, and should start with a letter and contain only alphanumeric characters"
        )
    if name.startswith("onnx::"):
        raise ValueError(f"Failed to register operator {name}. onnx domain cannot be modified.")
    return name
