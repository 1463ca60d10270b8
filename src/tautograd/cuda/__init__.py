"""CUDA: whether there is a GPU, which one, its streams, memory, random numbers and graphs.

Computing on a GPU needs CuPy (`pip install 'tautograd[cuda12]'` or `[cuda13]`), which is imported when a
program first asks for a GPU. Without it, what asks has PyTorch's answers (there is none), and what
would need one is an error that says what to install.
"""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from .._arrays.cuda.cuda_backend import Found
from .._arrays.devices import cuda_backend
from . import amp, graphs, memory, nvtx, random, streams
from ._backend import index_of, needed
from ._backend import on as _on
from .graphs import (
    CUDAGraph,
    graph,
    graph_pool_handle,
    is_current_stream_capturing,
    make_graphed_step,
)
from .memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_max_memory_allocated,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from .random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .streams import (
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)

__all__ = [
    "CUDAGraph",
    "Event",
    "ExternalStream",
    "Stream",
    "StreamContext",
    "amp",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "graph",
    "graph_pool_handle",
    "graphs",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "make_graphed_step",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "nvtx",
    "random",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "streams",
    "synchronize",
]


def is_available() -> bool:
    """Whether there is a GPU to compute on, and CuPy to do so."""
    return cuda_backend() is not None


def is_initialized() -> bool:
    """Whether a GPU is in use."""
    return Found.backend is not None


def init() -> None:
    """Begin to use the GPU, which happens by itself."""
    needed()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the GPU has bfloat16."""
    return cuda_backend() is not None and (including_emulation or get_device_capability()[0] >= 8)


def device_count() -> int:
    """How many GPUs there are."""
    found = cuda_backend()
    return 0 if found is None else int(found.device_count())


def current_device() -> int:
    """The number of the GPU in use."""
    return int(needed().current_device())


def set_device(device: Any) -> None:
    """Choose a GPU."""
    index = index_of(device)
    if index >= 0:
        needed().cupy.cuda.Device(index).use()


@contextmanager
def device(device: Any) -> Any:
    """Use a GPU inside the block; a negative number changes nothing."""
    if device is None or (isinstance(device, int) and device < 0):
        yield
        return
    with _on(device):
        yield


def device_of(obj: Any) -> Any:
    """Use the GPU that a tensor is on inside the block; a tensor on the CPU changes nothing."""
    return device(obj.get_device() if obj.is_cuda else -1)


def synchronize(device: Any = None) -> None:
    """Wait until the GPU has done all that it was asked to."""
    backend = needed()
    if device is None:
        backend.synchronize()
        return
    with _on(device):
        backend.synchronize()


def get_device_properties(device: Any = None) -> Any:
    """What a GPU has: its name, memory, multiprocessors and capability."""
    index = index_of(device)
    found = needed().cupy.cuda.runtime.getDeviceProperties(index)
    name = found["name"]
    return SimpleNamespace(
        name=name.decode() if isinstance(name, bytes) else str(name),
        major=int(found["major"]),
        minor=int(found["minor"]),
        total_memory=int(found["totalGlobalMem"]),
        multi_processor_count=int(found["multiProcessorCount"]),
        L2_cache_size=int(found.get("l2CacheSize", 0)),
        warp_size=int(found.get("warpSize", 32)),
    )


def get_device_name(device: Any = None) -> str:
    """The name of a GPU."""
    return str(get_device_properties(device).name)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a GPU, as in (9, 0)."""
    found = get_device_properties(device)
    return found.major, found.minor


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether one GPU can read another's memory."""
    runtime = needed().cupy.cuda.runtime
    return bool(runtime.deviceCanAccessPeer(index_of(device), index_of(peer_device)))


def ipc_collect() -> None:
    """Collect memory shared with other processes: none is."""


def __getattr__(name: str) -> Any:
    if name == "_initialized":  # which programs read to know whether there is a state to keep
        return is_initialized()
    if name.endswith("Tensor"):
        from .._tensor.creation import CUDA_LEGACY_TYPES

        if name in CUDA_LEGACY_TYPES:
            globals()[name] = CUDA_LEGACY_TYPES[name]
            return CUDA_LEGACY_TYPES[name]
    from .._nearest import no_attribute

    raise no_attribute(__name__, name, globals())
