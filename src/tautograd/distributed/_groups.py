"""Joining and leaving: `init_process_group`, groups of some of the ranks, who is who."""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from .._user_code.sites import warning_level
from .._user_code.stack import user_site
from ._blocking import made
from ._board import Board
from ._errors import DistError, DistNetworkError, DistStoreError
from ._joining import launched_by_mpi, leave_without_goodbye, mpi, world
from ._process_group import ProcessGroup
from ._stores import FileStore, Store, TCPStore

default_pg_timeout = timedelta(minutes=30)
_BACKENDS = ("gloo", "mpi", "nccl")


class Backend(str):
    """The name of a backend: `gloo` and `mpi` are MPI, `nccl` is NCCL for GPU memory."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    FAKE = "fake"
    backend_list = (UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE)
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL}  # noqa: RUF012

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())


class GroupMember:
    """What `new_group` returns in a process that is not in the group."""

    WORLD: Any = None
    NON_GROUP_MEMBER = -100


class _GroupNames(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all processes; None before `init_process_group`."""
        return _State.world

    @WORLD.setter
    def WORLD(cls, group: ProcessGroup | None) -> None:
        _State.world = group


class group(metaclass=_GroupNames):
    """`group.WORLD` is the group of all processes."""


class _State:
    world: ProcessGroup | None = None
    groups: list[ProcessGroup] = []  # noqa: RUF012
    store: Store | None = None
    made = 0
    said_gloo = False


def is_available() -> bool:
    """Whether process groups can be used: MPI is installed."""
    return importlib.util.find_spec("mpi4py") is not None


is_mpi_available = is_gloo_available = is_available


def is_nccl_available() -> bool:
    """Whether NCCL is available, through CuPy."""
    if importlib.util.find_spec("cupy") is None:
        return False
    try:
        from cupy.cuda import nccl
    except ImportError:
        return False
    return bool(nccl.available)


def is_ucc_available() -> bool:
    """Whether UCC is available: never."""
    return False


is_xccl_available = is_ucc_available


def is_backend_available(backend: str) -> bool:
    """Whether the backend of this name can be used."""
    name = backend.lower()
    return name in _BACKENDS and (is_nccl_available() if name == "nccl" else is_available())


def is_initialized() -> bool:
    """Whether this process has joined a group."""
    return _State.world is not None


def is_torchelastic_launched() -> bool:
    """Whether a launcher that restarts ranks (`taut launch`, `torchrun`) started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def _get_default_group() -> ProcessGroup:
    if _State.world is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call init_process_group."
        )
    return _State.world


_get_default_store = lambda: _State.store  # noqa: E731


def member(given: Any) -> ProcessGroup | None:
    """The group that `given` names; None if this process is not in it."""
    if given is None:
        return _get_default_group()
    if given is GroupMember.NON_GROUP_MEMBER:
        _get_default_group()
        return None
    if not isinstance(given, ProcessGroup):
        raise TypeError(
            f"Invalid function argument. Expected parameter `group` of type ProcessGroup but got {type(given)} instead."
        )
    if given.comm is None:
        raise ValueError("Invalid process group specified: it has been destroyed")
    return given


def warn_not_member(name: str) -> None:
    """Warn that a process called a collective of a group that it is not in."""
    warnings.warn(
        f"Running {name} on global rank {get_rank()} which does not belong to the given group.",
        stacklevel=warning_level(),
    )


def _check_timeout(timeout: Any) -> None:
    if not isinstance(timeout, timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}"
        )


def _backend_named(backend: str | None) -> str:
    if backend is None:
        return "cpu:gloo,cuda:nccl" if is_nccl_available() else "gloo"
    names = [part.rpartition(":")[2].strip() for part in Backend(backend).split(",")]
    for name in names:
        if name not in _BACKENDS:
            raise ValueError(f"Invalid backend: '{name}' (there is: {', '.join(_BACKENDS)})")
    if names == ["nccl"] and not is_nccl_available():
        raise RuntimeError(
            "Distributed package doesn't have NCCL built in: it comes with CuPy (pip install 'tautograd[cuda12]')"
        )
    if "gloo" in names and not _State.said_gloo:
        _State.said_gloo = True
        import logging

        logging.getLogger("tautograd.distributed").info("backend 'gloo' is answered by MPI")
    return str(Backend(backend))


def _from_environment(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise ValueError(
            "Error initializing torch.distributed using env:// rendezvous: environment variable "
            f"{name} expected, but not set"
        )
    return value


def _store_for(init_method: str, rank: int, size: int, timeout: timedelta) -> Store:
    """The store where processes meet that no MPI launcher started."""
    scheme, _, rest = init_method.partition("://")
    if scheme == "file":
        return FileStore(rest or "", size)
    if scheme == "tcp":
        host, _, port = rest.partition("?")[0].partition(":")
        return TCPStore(host, int(port), size, rank == 0, timeout)
    if scheme != "env":
        raise RuntimeError(f"No rendezvous handler for {scheme}://")
    host, number = _from_environment("MASTER_ADDR"), int(_from_environment("MASTER_PORT"))
    return TCPStore(host, number, size, rank == 0, timeout)


def _place(init_method: str | None, rank: int, size: int) -> tuple[int, int]:
    """This process's rank and the world size: from the arguments, the environment or MPI's launcher."""
    named = (init_method or "env://").startswith("env")
    launched = launched_by_mpi()
    if size == -1 and (named or launched) and not (launched and "WORLD_SIZE" not in os.environ):
        if rank == -1:
            rank = int(_from_environment("RANK"))
        size = int(_from_environment("WORLD_SIZE"))
    if launched and (size == -1 or rank == -1):
        comm = mpi().COMM_WORLD
        size = comm.size if size == -1 else size
        rank = comm.rank if rank == -1 else rank
    if rank == -1:
        rank = 0 if size == 1 else int(_from_environment("RANK"))
    if size == -1:
        size = int(_from_environment("WORLD_SIZE"))
    if not 0 <= rank < size:
        raise ValueError(f"init_process_group: rank {rank} is not below world_size {size}")
    return rank, size


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
    _ranks: list[int] | None = None,
) -> None:
    """Join the other processes in the default group, which contains all of them.

    Under `taut launch`, `torchrun` or MPI's own launchers no arguments are needed; elsewhere pass `rank`,
    `world_size` and a place to meet (`MASTER_ADDR` and `MASTER_PORT`, `init_method` or `store`).
    """
    if _State.world is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is not None and (world_size < 1 or rank < 0):
        raise AssertionError("world_size must be positive if using store")
    limit = default_pg_timeout if timeout is None else timeout
    _check_timeout(limit)
    name = _backend_named(backend)
    mine, size = _place(init_method, rank, world_size)
    site = user_site(1)
    label = f"[rank {mine}] init_process_group()" + (f" at {site.place}" if site else "")
    try:
        if store is None and size > 1 and not launched_by_mpi():
            store = _store_for(init_method or "env://", mine, size, limit)
        comm, gone = world(mine, size, store, limit, label)
    except (DistStoreError, DistNetworkError) as error:
        raise type(error)(f"{label}: {error}") from None
    _State.store = store
    local = os.environ.get("LOCAL_RANK")
    device = getattr(device_id, "index", device_id)
    if device is None:
        device = int(local) if local else 0
    _State.made = 1
    board = made(lambda: Board(comm), label, limit, gone)
    _State.world = ProcessGroup(comm, board, range(size), limit, name, "0", "default_pg", device)
    _State.world.bound_device_id = device_id
    _State.groups = [_State.world]
    GroupMember.WORLD = _State.world


def destroy_process_group(group: Any = None) -> None:
    """Leave a group, or all of them by default."""
    if group is GroupMember.NON_GROUP_MEMBER:
        return
    if group is not None and group not in _State.groups:
        raise ValueError("Invalid process group specified")
    if group is None:
        _get_default_group()
    ended = [group] if group is not None and group is not _State.world else list(_State.groups)
    for one in reversed(ended):
        if one.is_broken:
            leave_without_goodbye()
        elif one.size() > 1 and one.comm is not None:
            try:
                one.start("destroy_process_group()", one.transport_for("cpu").barrier)
            except DistError:
                leave_without_goodbye()
        one.close()
        _State.groups.remove(one)
    if not _State.groups:
        _State.world = _State.store = GroupMember.WORLD = None


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """Make a group of some of the ranks. Every process must call this, members or not."""
    everyone = _get_default_group()
    limit = everyone.timeout if timeout is None else timeout
    _check_timeout(limit)
    name = everyone.backend if backend is None else _backend_named(backend)
    chosen = list(range(everyone.size())) if ranks is None else [int(rank) for rank in ranks]
    if sort_ranks:
        chosen.sort()
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"ranks list must not contain duplicate entries, got {chosen}")
    if len(chosen) > everyone.size():
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    for rank in chosen:
        if not 0 <= rank < everyone.size():
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {everyone.size() - 1} "
                f"(world_size={everyone.size()})"
            )
    waiting = everyone.transport_for("cpu").barrier
    work = everyone.start(f"new_group(ranks={chosen})", waiting, async_op=True)
    assert work is not None
    work.wait()  # so that nobody waits for a dead rank
    _State.made += 1
    if everyone.rank() not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    label = f"[rank {get_rank()}] {work.label}"

    def gone() -> str | None:
        return everyone.ended(chosen, work)

    members = everyone.comm.Get_group().Incl(chosen)
    create = lambda: everyone.comm.Create_group(members, _State.made)  # noqa: E731
    # Its own time limit is for later waits of its ranks; making it may take as long as any call of all ranks.
    comm = made(create, label, everyone.timeout, gone)
    board = made(lambda: Board(comm), label, everyone.timeout, gone)
    found = ProcessGroup(
        comm, board, chosen, limit, name, str(_State.made - 1), group_desc or "undefined",
        everyone._device,
    )  # fmt: skip
    _State.groups.append(found)
    return found


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Split the ranks into groups of `group_size` consecutive ones; this process's own group, and all groups."""
    if group_size is None:
        group_size = int(os.environ.get("LOCAL_WORLD_SIZE", get_world_size()))
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    size = get_world_size()
    if size < group_size:
        raise ValueError(
            f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})"
        )
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by '{group_size=}'")
    rows = [list(range(at, at + group_size)) for at in range(0, size, group_size)]
    return new_subgroups_by_enumeration(rows, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Make groups from lists of ranks; this process's own group, and all groups."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: set[int] = set()
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in both subgroups")
            seen.add(rank)
    mine, made = None, []
    for ranks in ranks_per_subgroup_list:
        one = new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        made.append(one)
        if get_rank() in ranks:
            mine = one
    return mine, made


def get_rank(group: Any = None) -> int:
    """The number of this process in a group; -1 if it is not in it."""
    found = member(group)
    return -1 if found is None else found.rank()


def get_world_size(group: Any = None) -> int:
    """The number of ranks in a group; -1 if this process is not in it."""
    found = member(group)
    return -1 if found is None else found.size()


def get_backend(group: Any = None) -> Backend:
    """The name of a group's backend."""
    found = member(group)
    if found is None:
        raise ValueError("Invalid process group specified")
    return Backend(found.backend)


def get_backend_config(group: Any = None) -> str:
    """Which backend serves which device."""
    name = get_backend(group)
    return str(name) if ":" in name else f"cpu:{name},cuda:{name}"


def get_process_group_ranks(group: Any) -> list[int]:
    """The global ranks of a group's members."""
    found = member(group)
    return [] if found is None else list(found.ranks)


def get_global_rank(group: Any, group_rank: int) -> int:
    """The global rank of a group's member."""
    found = member(group)
    if found is _State.world:
        return group_rank
    if found is None or not 0 <= group_rank < found.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return found.ranks[group_rank]


def get_group_rank(group: Any, global_rank: int) -> int:
    """The rank within a group of a global rank."""
    found = member(group)
    if found is None or global_rank not in found.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return found.ranks.index(global_rank)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's rank on its machine."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
        "`get_node_local_rank` to work, assuming you are not running in a multi-device context and want "
        "the code to run locally instead."
    )


def get_pg_count() -> int:
    """The number of groups that this process is in."""
    return len(_State.groups)


def get_default_backend_for_device(device: Any) -> str:
    """The backend used for a device's memory by default."""
    kind = device if isinstance(device, str) else device.type
    found = Backend.default_device_backend_map.get(kind.partition(":")[0])
    if found is None:
        raise ValueError(f"Default backend not registered for device : {device}")
    return found


def root_in(group: ProcessGroup, name: str, global_rank: int | None, group_rank: int | None) -> int:
    """A root's or a peer's rank within a group, from whichever of the two was passed."""
    if group_rank is not None:
        if global_rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        if not 0 <= group_rank < group.size():
            raise ValueError(f"Group rank {group_rank} is not part of group {group}")
        return group_rank
    if global_rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    if global_rank not in group.ranks:
        if group is _State.world:
            raise RuntimeError(f"{name}: invalid root rank: {global_rank}")
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return group.ranks.index(global_rank)
