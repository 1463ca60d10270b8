"""How a process enters MPI's world: started by MPI's launcher, alone, or through a store where it meets others."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from datetime import timedelta
from pathlib import Path
from typing import Any

from ._blocking import Gone, made
from ._errors import DistError
from ._meeting import take_place, unlink_shared_memory
from ._stores import Store

# Variables in which MPI's launchers pass a process its rank.
_LAUNCHED = (
    "PMI_RANK",
    "PMI_ID",
    "PMI_FD",
    "PMI_PORT",
    "PMIX_RANK",
    "OMPI_COMM_WORLD_RANK",
    "MPI_LOCALRANKID",
)

_joined = False  # this process took its place through a store


def launched_by_mpi() -> bool:
    """Whether MPI's own launcher started this process."""
    return not _joined and any(name in os.environ for name in _LAUNCHED)


def _package() -> Any:
    """mpi4py, without initialising MPI."""
    try:
        import mpi4py
    except ImportError as error:
        raise RuntimeError(
            "torch.distributed needs MPI, which is not installed: pip install 'tautograd[mpi]' "
            "(or mpi4py and mpich)"
        ) from error
    return mpi4py


def mpi() -> Any:
    """mpi4py's module, initialised for several threads; when MPI is finalised is decided here."""
    mpi4py = _package()
    first = "mpi4py.MPI" not in sys.modules
    if first:
        mpi4py.rc.thread_level = "multiple"
        mpi4py.rc.finalize = False
    from mpi4py import MPI

    if first and launched_by_mpi():
        import atexit

        atexit.register(_finalize)
    return MPI


_clean = True


def leave_without_goodbye() -> None:
    """Mark that messages may be left over, so that exit skips MPI's finalisation, which could wait for ever."""
    global _clean
    _clean = False


def _finalize() -> None:
    from mpi4py import MPI

    if _clean and not hasattr(sys, "last_value") and not MPI.Is_finalized():
        MPI.Finalize()


def mpiexec() -> str:
    """The path of MPI's launcher: beside this Python, or on the path."""
    for folder in (Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))):
        if (folder / "mpiexec").exists():
            return str(folder / "mpiexec")
    found = shutil.which("mpiexec")
    if found is None:
        raise RuntimeError(
            "MPI's launcher, mpiexec, is not installed: pip install 'tautograd[mpi]'"
        )
    return found


def world(
    rank: int, size: int, store: Store | None, timeout: timedelta, label: str
) -> tuple[Any, Gone]:
    """The communicator of all processes, in the order of their ranks, and a function that says which has exited."""
    global _joined
    loaded = sys.modules.get("mpi4py.MPI")
    gone: Gone = _nobody
    if loaded is None and not launched_by_mpi() and size > 1:
        assert store is not None
        _package()
        _joined = True  # the manager is gone by the time this process ends
        try:
            gone = take_place(rank, size, store, timeout, label, mpiexec)
        except DistError:
            leave_without_goodbye()
            raise
    library = mpi()
    comm = library.COMM_WORLD
    if not launched_by_mpi():
        unlink_shared_memory()
    if size == 1 and comm.size != 1:
        return library.COMM_SELF.Dup(), gone
    if comm.size != size:
        raise DistError(
            f"init_process_group: world_size is {size}, but MPI's world in this process has {comm.size} "
            "ranks. It is settled once in a process: start it anew, with taut launch or mpiexec"
        )
    return made(lambda: comm.Split(0, rank), label, timeout, gone), gone


def _nobody() -> str | None:
    """None: MPI's own launchers end the whole job when one of its processes ends."""
    return None
