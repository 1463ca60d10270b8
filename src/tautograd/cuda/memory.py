"""The GPU's memory: how much tensors take, how much is held for them, and giving it back."""

from __future__ import annotations

import weakref
from typing import Any

from .._arrays.devices import cuda_backend
from ._backend import index_of, needed, on

__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
]


memory_of_graphs: weakref.WeakSet[Any] = (
    weakref.WeakSet()
)  # the pools of CUDA graphs, all of them in use


def _pool() -> Any:
    return needed().cupy.get_default_memory_pool()


def _held_by_graphs() -> int:
    return sum(int(pool.memory.total_bytes()) for pool in memory_of_graphs)


def _used() -> int:
    """Bytes that tensors take, and those that graphs hold for themselves."""
    return int(_pool().used_bytes()) + _held_by_graphs()


class _Peak:
    """The most that was in use since it was last asked to watch; CuPy itself does not remember."""

    hook: Any = None
    bytes = 0


def _watch() -> None:
    """From now on, look at each piece of memory that is handed out."""
    if _Peak.hook is not None:
        return
    cupy = needed().cupy

    class Watching(cupy.cuda.MemoryHook):  # type: ignore[misc,name-defined]
        name = "peak"

        def malloc_postprocess(self, **given: Any) -> None:
            used = _used()
            if used > _Peak.bytes:
                _Peak.bytes = used

    _Peak.hook = Watching()
    _Peak.hook.__enter__()


def stop_watching() -> None:
    """Look for the most bytes no more, until it is asked for again: it takes time at each allocation."""
    if _Peak.hook is not None:
        _Peak.hook.__exit__(None, None, None)
        _Peak.hook = None


def empty_cache() -> None:
    """Give memory back that is held for tensors to come."""
    if cuda_backend() is not None:
        _pool().free_all_blocks()


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors take."""
    if cuda_backend() is None:
        return 0
    with on(device):
        return _used()


def memory_reserved(device: Any = None) -> int:
    """Bytes that are held for tensors, in use or not."""
    if cuda_backend() is None:
        return 0
    with on(device):
        return int(_pool().total_bytes()) + _held_by_graphs()


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors took, since this or `reset_peak_memory_stats` was first called."""
    if cuda_backend() is None:
        return 0
    _watch()
    _Peak.bytes = max(_Peak.bytes, memory_allocated(device))
    return _Peak.bytes


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that were held: as many as now, since none are given back unasked."""
    return memory_reserved(device)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Begin to look for the most bytes anew."""
    if cuda_backend() is not None:
        _watch()
        _Peak.bytes = memory_allocated(device)


reset_max_memory_allocated = reset_peak_memory_stats


def memory_stats(device: Any = None) -> dict[str, int]:
    """What is known of the memory, under PyTorch's names."""
    return {
        "allocated_bytes.all.current": memory_allocated(device),
        "allocated_bytes.all.peak": max_memory_allocated(device),
        "reserved_bytes.all.current": memory_reserved(device),
    }


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The same as text."""
    return "\n".join(f"{name}: {value:,}" for name, value in memory_stats(device).items())


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Bytes of the GPU that are free, and all of them."""
    free, total = needed().cupy.cuda.Device(index_of(device)).mem_info
    return int(free), int(total)


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Refuse to take more than this share of the GPU's memory."""
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    with on(device):
        _pool().set_limit(fraction=fraction)
