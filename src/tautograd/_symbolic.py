"""`torch.SymInt`, `SymFloat` and `SymBool`: sizes of traced programs in PyTorch. Sizes are plain numbers here.

Libraries ask `isinstance(n, (int, torch.SymInt))`; nothing is an instance.
"""

from __future__ import annotations

from typing import Any


class _Symbolic:
    def __new__(cls, *args: Any) -> Any:
        raise TypeError(f"there are no symbolic numbers here: {cls.__name__} has no instances")


class SymInt(_Symbolic):
    """A size that is not known while a program is traced."""


class SymFloat(_Symbolic):
    """A number that comes of such sizes."""


class SymBool(_Symbolic):
    """A condition on such sizes."""
