"""How processes that something else started (`taut launch`, `torchrun`, `mp.spawn`, a shell) enter MPI's world.

Rank 0 starts MPI's own process manager (`mpiexec -pmi-port`) and hands out its places through the store: each
process takes the place of one that `mpiexec` started, by adopting its environment. If a process exits before
all have met, the others notice by its process id.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from ._blocking import Gone, made, wait_until
from ._board import is_running
from ._errors import DistError
from ._stores import Store

_PLACE = ("PMI_PORT", "PMI_ID", "PMI_HOSTNAME")
_SAY = 'echo "{\\"PMI_PORT\\": \\"$PMI_PORT\\", \\"PMI_ID\\": \\"$PMI_ID\\", \\"PMI_HOSTNAME\\": \\"$PMI_HOSTNAME\\"}"'
_MULTIPLE = 3  # MPI_THREAD_MULTIPLE


def take_place(
    rank: int, size: int, store: Store, timeout: timedelta, label: str, mpiexec: Callable[[], str]
) -> Gone:
    """Initialise MPI as one rank of so many; returns a function that says which of them have exited."""
    store.set(f"tautograd/rank{rank}", f"{os.getpid()} {socket.gethostname()}")
    store.wait([f"tautograd/rank{i}" for i in range(size)], timeout)
    told = [store.get(f"tautograd/rank{i}").decode().partition(" ") for i in range(size)]
    hosts = {host for _, _, host in told}
    if len(hosts) > 1:
        raise DistError(
            f"init_process_group: the ranks are on {len(hosts)} machines ({', '.join(sorted(hosts))}), which "
            "MPI's own launchers connect: start the script with mpiexec, srun or taut launch --hostfile"
        )
    gone = _watching([int(process) for process, _, _ in told])

    def await_all(keys: Sequence[str]) -> None:
        wait_until(lambda pause: _are_there(store, keys, pause), label, timeout, gone)

    manager = _handed_out(size, store, mpiexec()) if rank == 0 else None
    try:
        key = f"tautograd/place{rank}"
        await_all([key])
        found = json.loads(store.get(key))
        before = {name: os.environ.get(name) for name in _PLACE}
        os.environ.update({name: str(found[name]) for name in _PLACE})
        try:
            made(_initialise, label, timeout, gone)
        finally:
            for name, value in before.items():  # child processes must not inherit its place
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
        store.set(f"tautograd/in{rank}", "1")
        await_all([f"tautograd/in{i}" for i in range(size)])
    finally:
        if manager is not None:
            _end(manager)  # only needed for meeting
    return gone


def _watching(processes: Sequence[int]) -> Gone:
    def gone() -> str | None:
        ended = [
            f"rank {rank} has ended (process {process} is gone)"
            for rank, process in enumerate(processes)
            if not is_running(process)
        ]
        return ", ".join(ended) or None  # which exited first cannot be told

    return gone


def _are_there(store: Store, keys: Sequence[str], pause: float) -> bool:
    end = time.monotonic() + pause
    while not store.check(keys):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def _initialise() -> None:
    """MPI's first call, through the library that mpi4py ships. mpi4py itself would hold the GIL until all have come."""
    origin = importlib.util.find_spec("mpi4py.MPI").origin  # type: ignore[union-attr]
    status = ctypes.CDLL(origin).MPI_Init_thread(
        None, None, _MULTIPLE, ctypes.byref(ctypes.c_int())
    )
    if status:
        raise DistError(f"init_process_group: MPI cannot be initialised (error {status})")


def _handed_out(size: int, store: Store, mpiexec: str) -> subprocess.Popen[str]:
    """A process manager whose places have been put into the store."""
    manager = _places(size, mpiexec)
    try:
        for _ in range(size):
            line = manager.stdout.readline()  # type: ignore[union-attr]
            place = json.loads(line) if line.startswith("{") else {}
            if not place:
                raise DistError(f"init_process_group: mpiexec gave no place: {line.strip()!r}")
            store.set(f"tautograd/place{place['PMI_ID']}", json.dumps(place))
    except BaseException:
        _end(manager)
        raise
    return manager


def unlink_shared_memory() -> None:
    """Unlink MPICH's shared memory, which it would do itself only at an orderly end that may never come."""
    with contextlib.suppress(OSError), open("/proc/self/maps") as maps:
        for line in maps:
            path = line.split()[-1]
            if path.startswith("/dev/shm/mpich_shm_"):
                with contextlib.suppress(OSError):
                    os.unlink(path)


def _places(size: int, mpiexec: str) -> subprocess.Popen[str]:
    """A process manager with as many places; each prints what it is, and waits as long as this process lives."""
    hold = f"while kill -0 {os.getpid()} 2>/dev/null; do sleep 1; done"
    return subprocess.Popen(
        [mpiexec, "-pmi-port", "-n", str(size), "sh", "-c", f"{_SAY}; {hold}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip


def _end(manager: subprocess.Popen[str]) -> None:
    manager.terminate()
    try:
        manager.wait(5)
    except subprocess.TimeoutExpired:
        manager.kill()
        manager.wait()
