"""`torch.onnx.symbolic_helper`: decorators for a program's own export rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .._ops.declare.python_surface import speak

__all__: list[str] = []

_Rule = TypeVar("_Rule", bound=Callable[..., Any])


def parse_args(*arg_descriptors: str) -> Callable[[_Rule], _Rule]:
    """Declare which of a rule's arguments are graph values ("v") and which are plain Python values.

    An exporter converts them when it calls the rule; the rule itself is unchanged.
    """

    def described(rule: _Rule) -> _Rule:
        rule._arg_descriptors = arg_descriptors  # type: ignore[attr-defined]
        return rule

    return described


speak(globals(), ("parse_args",))
