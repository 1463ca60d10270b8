"""Intel's MKL, which this engine does not use."""

from __future__ import annotations

from ._verbose import Verbose

__all__ = ["is_available", "verbose"]

VERBOSE_OFF, VERBOSE_ON = 0, 1


class verbose(Verbose):  # noqa: N801  (PyTorch's name)
    """A `with` block in which MKL would print what it runs: it runs nothing."""

    def __init__(self, enable: int) -> None:
        self.enable = enable


def is_available() -> bool:
    """Whether Intel's MKL can be used: no."""
    return False
