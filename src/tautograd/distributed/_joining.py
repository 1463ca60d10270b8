"""How a process comes to MPI's world: it was started by MPI's launcher, is alone, or joins others by a store.

Processes that somebody else started (`taut launch`, `torchrun`, `mp.spawn`, a shell) have no world yet. Rank 0
then asks MPI's own process manager for one (`mpiexec -pmi-port`), whose places it hands out through the store:
each process takes the place of one that `mpiexec` started, by the environment that it was given.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
from datetime import timedelta
from pathlib import Path
from typing import Any

from ._errors import DistError
from ._stores import Store

# Variables by which launchers of MPI tell a process its place.
_LAUNCHED = (
    "PMI_RANK",
    "PMI_ID",
    "PMI_FD",
    "PMI_PORT",
    "PMIX_RANK",
    "OMPI_COMM_WORLD_RANK",
    "MPI_LOCALRANKID",
)
_PLACE = ("PMI_PORT", "PMI_ID", "PMI_HOSTNAME")
_SAY = 'echo "{\\"PMI_PORT\\": \\"$PMI_PORT\\", \\"PMI_ID\\": \\"$PMI_ID\\", \\"PMI_HOSTNAME\\": \\"$PMI_HOSTNAME\\"}"'

_joined = False  # this process took its place through a store


def launched_by_mpi() -> bool:
    """Whether MPI's own launcher has started this process."""
    return not _joined and any(name in os.environ for name in _LAUNCHED)


def mpi() -> Any:
    """mpi4py's module, initialised for several threads; the end is ours to decide."""
    try:
        import mpi4py
    except ImportError as error:
        raise RuntimeError(
            "torch.distributed needs MPI, which is not installed: pip install 'tautograd[mpi]' "
            "(or mpi4py and mpich)"
        ) from error
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
    """Say that messages may be left over: waiting for the others at the end could take for ever."""
    global _clean
    _clean = False


def _finalize() -> None:
    from mpi4py import MPI

    if _clean and not hasattr(sys, "last_value") and not MPI.Is_finalized():
        MPI.Finalize()


def mpiexec() -> str:
    """Where MPI's launcher is: beside this Python, or on the path."""
    for folder in (Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))):
        if (folder / "mpiexec").exists():
            return str(folder / "mpiexec")
    found = shutil.which("mpiexec")
    if found is None:
        raise RuntimeError(
            "MPI's launcher, mpiexec, is not installed: pip install 'tautograd[mpi]'"
        )
    return found


def world(rank: int, size: int, store: Store | None, timeout: timedelta) -> Any:
    """The communicator of all processes, in the order of their ranks."""
    global _joined
    loaded = sys.modules.get("mpi4py.MPI")
    if loaded is None and not launched_by_mpi() and size > 1:
        assert store is not None
        _joined = True  # there is no manager any more when this process ends
        _take_place(rank, size, store, timeout)
    library = mpi()
    comm = library.COMM_WORLD
    if not launched_by_mpi():
        _unlink_shared_memory()
    if size == 1 and comm.size != 1:
        return library.COMM_SELF.Dup()
    if comm.size != size:
        raise DistError(
            f"init_process_group: world_size is {size}, but MPI's world in this process has {comm.size} "
            "ranks. It is settled once in a process: start it anew, with taut launch or mpiexec"
        )
    return comm.Split(0, rank)


def _take_place(rank: int, size: int, store: Store, timeout: timedelta) -> None:
    store.set(f"tautograd/rank{rank}", socket.gethostname())
    store.wait([f"tautograd/rank{i}" for i in range(size)], timeout)
    hosts = {store.get(f"tautograd/rank{i}").decode() for i in range(size)}
    if len(hosts) > 1:
        raise DistError(
            f"init_process_group: the ranks are on {len(hosts)} machines ({', '.join(sorted(hosts))}), which "
            "MPI's own launchers connect: start the script with mpiexec, srun or taut launch --hostfile"
        )
    manager = None
    if rank == 0:
        manager = _places(size)
        lines = [manager.stdout.readline() for _ in range(size)]  # type: ignore[union-attr]
        for line in lines:
            place = json.loads(line) if line.startswith("{") else {}
            if not place:
                _end(manager)
                raise DistError(f"init_process_group: mpiexec gave no place: {line.strip()!r}")
            store.set(f"tautograd/place{place['PMI_ID']}", json.dumps(place))
    found = json.loads(store.get(f"tautograd/place{rank}"))
    store.set(f"tautograd/ready{rank}", "1")
    if rank == 0:  # joining holds the interpreter, so that nobody could ask a store in this process
        store.wait([f"tautograd/ready{i}" for i in range(size)], timeout)
    before = {name: os.environ.get(name) for name in _PLACE}
    os.environ.update({name: str(found[name]) for name in _PLACE})
    try:
        mpi()
    finally:
        for name, value in before.items():  # no child of this process has its place
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    store.set(f"tautograd/in{rank}", "1")
    store.wait([f"tautograd/in{i}" for i in range(size)], timeout)
    _unlink_shared_memory()
    if manager is not None:
        _end(manager)  # it is needed for meeting, not for what follows


def _unlink_shared_memory() -> None:
    """Take away the name of the memory that MPICH shares, which it would do at an end that may never come."""
    with contextlib.suppress(OSError), open("/proc/self/maps") as maps:
        for line in maps:
            path = line.split()[-1]
            if path.startswith("/dev/shm/mpich_shm_"):
                with contextlib.suppress(OSError):
                    os.unlink(path)


def _places(size: int) -> subprocess.Popen[str]:
    """A process manager with as many places; each says what it is, and waits while this process is there."""
    hold = f"while kill -0 {os.getpid()} 2>/dev/null; do sleep 1; done"
    return subprocess.Popen(
        [mpiexec(), "-pmi-port", "-n", str(size), "sh", "-c", f"{_SAY}; {hold}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip


def _end(manager: subprocess.Popen[str]) -> None:
    manager.terminate()
    try:
        manager.wait(5)
    except subprocess.TimeoutExpired:
        manager.kill()
        manager.wait()
