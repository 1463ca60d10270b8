"""`torch.distributed.tensor`: the class of tensors spread over processes, of which there are none."""

from __future__ import annotations

from typing import Any

__all__ = ["DTensor"]


class DTensor:
    """A tensor spread over a group of processes; libraries ask whether a parameter is one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            "a DTensor needs a group of processes, and torch.distributed.is_available() is False here"
        )
