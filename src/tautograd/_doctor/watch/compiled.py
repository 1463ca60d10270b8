"""Models that `torch.compile` made: how they are known, what they are called, what is not seen."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

NOTE = (
    "A model was compiled: what its layers and losses are given is not seen. Run a few steps without "
    "torch.compile to have that looked at as well."
)
_PREFIX = "_orig_mod."


def is_compiled(module: Any) -> bool:
    """Whether this is a wrapper that `torch.compile` made, or was compiled in place."""
    if "_orig_mod" in getattr(module, "_modules", ()):
        return True
    return getattr(module, "_compiled_call_impl", None) is not None


def plain_path(path: str) -> str:
    """A parameter's path without the wrapper's part of it."""
    return path.replace(_PREFIX, "")


class WithoutWarning:
    """PyTorch warns when a compiled model meets a hook for all modules, as the doctor's is one.

    The warning would be the only trace of the doctor in a script's output. `remove` ends it.
    """

    def __init__(self) -> None:
        before = list(warnings.filters)
        warnings.filterwarnings("ignore", r"Using `torch\.compile\(module\)` when there are global")
        self._added = [entry for entry in warnings.filters if entry not in before]

    def remove(self) -> None:
        for entry in self._added:
            with contextlib.suppress(ValueError, AttributeError):
                warnings.filters.remove(entry)  # type: ignore[attr-defined]
