"""What a computation ran on: Python, packages, BLAS, processor, threads."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import os
import platform
import sys
from typing import Any

import numpy as np

from tautograd._evidence.canonical import sha256, sha256_of, sha256_of_file
from tautograd._verify.subject.engines import name_of

_THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def runtime_of(engine: Any) -> dict[str, Any]:
    """Versions, platform and threads, as a section of evidence."""
    packages = installed()
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "processor": _processor(),
        "engine": engine_version(engine),
        "numpy": np.__version__,
        "blas": blas(),
        "threads": threads(engine),
        "default_dtype": str(engine.get_default_dtype()).rpartition(".")[2],
        "distributed": topology_of(engine),
        "installed": packages,
        "installed_sha256": sha256_of(packages),
    }


def topology_of(engine: Any) -> dict[str, Any] | None:
    """The number of ranks and machines, and the backend; None without a process group."""
    module = sys.modules.get(f"{engine.__name__}.distributed")
    if module is None or not module.is_available() or not module.is_initialized():
        return None
    size, board = module.get_world_size(), getattr(module.group.WORLD, "board", None)
    if board is not None:
        machines = [board.hosts.count(host) for host in dict.fromkeys(board.hosts)]
    else:  # as the launcher said
        here = int(os.environ.get("LOCAL_WORLD_SIZE", size))
        machines = [here] * (size // here) if here and size % here == 0 else [size]
    backend = "mpi" if name_of(engine) == "tautograd" else str(module.get_backend())
    if "nccl" in str(module.get_backend()):
        backend = str(module.get_backend())
    return {"world_size": size, "machines": machines, "backend": backend}


def installed() -> dict[str, str]:
    """Every installed distribution and its version."""
    found: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            # The first on the search path is the one that gets imported.
            found.setdefault(name.lower().replace("_", "-"), distribution.version)
    return dict(sorted(found.items()))


def engine_version(engine: Any) -> dict[str, Any]:
    """Name and version of an engine, and what distinguishes two builds of one version."""
    name = name_of(engine)
    if name == "tautograd":
        build = _package_hash(os.path.dirname(os.path.abspath(engine.__file__)))
    else:
        build = str(getattr(engine.version, "git_version", None))
    return {"name": name, "version": str(engine.__version__), "build": build}


@functools.cache
def _package_hash(folder: str) -> str:
    rows = []
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            if file.endswith(".py"):
                path = os.path.join(parent, file)
                rows.append([os.path.relpath(path, folder), sha256_of_file(path)])
    return sha256_of(rows)


def blas() -> str:
    """Name and version of the library that NumPy multiplies matrices with."""
    with contextlib.suppress(Exception):  # a build without the table
        found = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return f"{found['name']} {found['version']}"
    return "unknown"


def threads(engine: Any) -> dict[str, Any]:
    """The number of threads the engine computes with, and the settings in the environment."""
    asked = {name: os.environ[name] for name in _THREAD_SETTINGS if name in os.environ}
    return {"engine": int(engine.get_num_threads()), "environment": asked, "cpus": os.cpu_count()}


@functools.cache
def _processor() -> str:
    """The processor's name: another one may take a different path through the same BLAS."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def random_state(engine: Any) -> dict[str, str]:
    """Hashes of the states of the random generators that a function may draw from."""
    numpy_state = np.random.get_state()  # noqa: NPY002
    import random

    return {
        "engine": sha256(engine.get_rng_state().numpy().tobytes()),
        "numpy": sha256(repr([np.asarray(part).tolist() for part in numpy_state]).encode()),
        "python": sha256(repr(random.getstate()).encode()),
    }


def peak_memory() -> int | None:
    """The peak memory of this process so far, in bytes, if the system reports it."""
    try:
        import resource
    except ImportError:
        return None
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(size if sys.platform == "darwin" else size * 1024)
