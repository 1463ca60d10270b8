"""`torch.onnx.symbolic_helper`: what stands above a program's own export rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .._ops.declare.python_surface import speak

__all__: list[str] = []

_Rule = TypeVar("_Rule", bound=Callable[..., Any])


def parse_args(*arg_descriptors: str) -> Callable[[_Rule], _Rule]:
    """Say which of a rule's arguments are values of the graph ("v") and which are plain Python values.

    An exporter converts them when it calls the rule; the rule itself stays as it is.
    """

    def described(rule: _Rule) -> _Rule:
        rule._arg_descriptors = arg_descriptors  # type: ignore[attr-defined]
        return rule

    return described


speak(globals(), ("parse_args",))
