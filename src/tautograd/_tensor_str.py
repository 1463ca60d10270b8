"""`torch._tensor_str`: how tensors are printed, by the private names that libraries import."""

from __future__ import annotations

from typing import Any

from ._tensor.printing import (
    _here,
    _options,
    format_values,
    get_printoptions,
    printoptions,
    set_printoptions,
    tensor_repr,
)

__all__ = ["PRINT_OPTS", "get_printoptions", "printoptions", "set_printoptions"]

PRINT_OPTS = _options


def _tensor_str(self: Any, indent: int) -> str:
    """The numbers of a tensor in brackets; lines after the first begin below column `indent`."""
    return format_values(_here(self.detach()._data), indent)


def _str(self: Any, *, tensor_contents: str | None = None) -> str:
    """The text of a tensor, with `tensor_contents` for its numbers if given."""
    return tensor_repr(self, tensor_contents)
