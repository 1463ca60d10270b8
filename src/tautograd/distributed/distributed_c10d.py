"""`torch.distributed.distributed_c10d`: where PyTorch keeps process groups and collectives."""

from __future__ import annotations

from ._all_to_all import all_to_all, all_to_all_single
from ._errors import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    QueueEmptyError,
)
from ._exchanges import (
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_gather_single,
    barrier,
    broadcast,
    gather,
    scatter,
)
from ._groups import (
    Backend,
    GroupMember,
    _get_default_group,
    _get_default_store,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
)
from ._objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from ._point_to_point import (
    P2POp,
    batch_isend_irecv,
    irecv,
    isend,
    monitored_barrier,
    recv,
    send,
)
from ._process_group import (
    ProcessGroup,
)
from ._reduce_op import (
    ReduceOp,
    _make_nccl_premul_sum,
    reduce_op,
)
from ._reductions import (
    all_reduce,
    all_reduce_coalesced,
    reduce,
    reduce_scatter,
    reduce_scatter_single,
    reduce_scatter_tensor,
)
from ._stores import (
    FileStore,
    HashStore,
    PrefixStore,
    Store,
    TCPStore,
)
from ._work import (
    Work,
)


def supports_complex(reduceOp: ReduceOp) -> bool:
    """Whether a reduction is defined for complex numbers."""
    kinds = (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PREMUL_SUM)
    return any(ReduceOp(reduceOp) == ReduceOp(kind) for kind in kinds)
