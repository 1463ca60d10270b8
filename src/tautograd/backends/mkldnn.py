"""oneDNN, which this engine does not use; its switches can be set."""

from __future__ import annotations

from ._switches import Precision, switches
from ._verbose import Verbose

__all__ = [
    "allow_tf32",
    "deterministic",
    "enabled",
    "flags",
    "is_acl_available",
    "is_available",
    "set_flags",
    "verbose",
]

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2

enabled = True
deterministic = False
allow_tf32: bool | None = None
fp32_precision = "none"
matmul, conv, rnn = Precision(), Precision(), Precision()

set_flags, flags = switches(
    __name__, enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none"
)


class verbose(Verbose):  # noqa: N801  (PyTorch's name)
    """A `with` block in which oneDNN would print what it runs: it runs nothing."""

    def __init__(self, level: int) -> None:
        self.level = level


def is_available() -> bool:
    """Whether oneDNN can be used: no."""
    return False


def is_acl_available() -> bool:
    """Whether the Arm Compute Library can be used: no."""
    return False
