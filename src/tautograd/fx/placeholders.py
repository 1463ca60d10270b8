"""What stands for an input in the nested arguments that a trace is given."""

from __future__ import annotations

__all__ = ["PH", "PHBase", "PHWithMeta"]


class PHBase:
    """An input; attributes of an instance become the node's."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """An input with a name of the user's for it."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key
