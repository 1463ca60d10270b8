"""DLPack: passing memory between libraries without a copy."""

from .._ops.declare.public import FUNCTIONS as _FUNCTIONS

from_dlpack = _FUNCTIONS["from_dlpack"]
to_dlpack = _FUNCTIONS["to_dlpack"]

__all__ = ["from_dlpack", "to_dlpack"]
