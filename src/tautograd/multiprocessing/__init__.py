"""Python's `multiprocessing`, by which tensors reach other processes without being copied.

A tensor that is sent (to a process that starts, or through a queue or a pipe) is moved to memory that
both processes see, as PyTorch does: what one writes there, the other reads. `reductions` says how.
"""

import multiprocessing
import sys
from multiprocessing import *  # noqa: F403

from .reductions import init_reductions
from .spawn import (
    ENV_VAR_PARALLEL_START as ENV_VAR_PARALLEL_START,
)
from .spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = ["get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy"]
__all__ += [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]
__all__ += multiprocessing.__all__

_one_way = sys.platform in ("darwin", "win32")
_all_sharing_strategies = {"file_system"} if _one_way else {"file_descriptor", "file_system"}
_sharing_strategy = "file_system" if _one_way else "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Note how memory is to be shared: a file descriptor is what is handed over in either case."""
    global _sharing_strategy
    if new_strategy not in _all_sharing_strategies:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {_all_sharing_strategies}"
        )
    _sharing_strategy = new_strategy


def get_sharing_strategy() -> str:
    """What `set_sharing_strategy` noted."""
    return _sharing_strategy


def get_all_sharing_strategies() -> set[str]:
    """What `set_sharing_strategy` takes."""
    return _all_sharing_strategies


init_reductions()
