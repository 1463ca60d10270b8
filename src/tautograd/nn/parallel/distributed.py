"""`DistributedDataParallel`, which needs a group of processes: there is none to join here."""

from __future__ import annotations

from typing import Any

from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A name that programs import whether or not they run on several processes.

    To make one is the error that PyTorch gives where no process group has been started.
    """

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group. (tautograd has no process groups: train in one process, with the "
            "module itself.)"
        )
