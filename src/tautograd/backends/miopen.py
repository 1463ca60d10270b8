"""MIOpen, which there is none of; its switch can be set."""

from __future__ import annotations

from ._switches import switches

__all__ = ["flags", "immediate", "set_flags"]

immediate = False

set_flags, flags = switches(__name__, immediate=False)
