"""`torch.distributed.distributed_c10d`: where PyTorch keeps process groups and collectives."""

from __future__ import annotations

from ._errors import DistBackendError as DistBackendError
from ._errors import DistError as DistError
from ._errors import DistNetworkError as DistNetworkError
from ._errors import DistStoreError as DistStoreError
from ._errors import QueueEmptyError as QueueEmptyError
from ._exchanges import all_gather as all_gather
from ._exchanges import all_gather_coalesced as all_gather_coalesced
from ._exchanges import all_gather_into_tensor as all_gather_into_tensor
from ._exchanges import all_gather_single as all_gather_single
from ._exchanges import all_to_all as all_to_all
from ._exchanges import all_to_all_single as all_to_all_single
from ._exchanges import barrier as barrier
from ._exchanges import broadcast as broadcast
from ._exchanges import gather as gather
from ._exchanges import scatter as scatter
from ._groups import Backend as Backend
from ._groups import GroupMember as GroupMember
from ._groups import _get_default_group as _get_default_group
from ._groups import _get_default_store as _get_default_store
from ._groups import default_pg_timeout as default_pg_timeout
from ._groups import destroy_process_group as destroy_process_group
from ._groups import get_backend as get_backend
from ._groups import get_backend_config as get_backend_config
from ._groups import get_default_backend_for_device as get_default_backend_for_device
from ._groups import get_global_rank as get_global_rank
from ._groups import get_group_rank as get_group_rank
from ._groups import get_node_local_rank as get_node_local_rank
from ._groups import get_pg_count as get_pg_count
from ._groups import get_process_group_ranks as get_process_group_ranks
from ._groups import get_rank as get_rank
from ._groups import get_world_size as get_world_size
from ._groups import group as group
from ._groups import init_process_group as init_process_group
from ._groups import is_available as is_available
from ._groups import is_backend_available as is_backend_available
from ._groups import is_gloo_available as is_gloo_available
from ._groups import is_initialized as is_initialized
from ._groups import is_mpi_available as is_mpi_available
from ._groups import is_nccl_available as is_nccl_available
from ._groups import is_torchelastic_launched as is_torchelastic_launched
from ._groups import is_ucc_available as is_ucc_available
from ._groups import is_xccl_available as is_xccl_available
from ._groups import new_group as new_group
from ._groups import new_subgroups as new_subgroups
from ._groups import new_subgroups_by_enumeration as new_subgroups_by_enumeration
from ._objects import all_gather_object as all_gather_object
from ._objects import broadcast_object_list as broadcast_object_list
from ._objects import gather_object as gather_object
from ._objects import recv_object_list as recv_object_list
from ._objects import scatter_object_list as scatter_object_list
from ._objects import send_object_list as send_object_list
from ._point_to_point import P2POp as P2POp
from ._point_to_point import batch_isend_irecv as batch_isend_irecv
from ._point_to_point import irecv as irecv
from ._point_to_point import isend as isend
from ._point_to_point import monitored_barrier as monitored_barrier
from ._point_to_point import recv as recv
from ._point_to_point import send as send
from ._process_group import ProcessGroup as ProcessGroup
from ._reduce_op import ReduceOp as ReduceOp
from ._reduce_op import _make_nccl_premul_sum as _make_nccl_premul_sum
from ._reduce_op import reduce_op as reduce_op
from ._reductions import all_reduce as all_reduce
from ._reductions import all_reduce_coalesced as all_reduce_coalesced
from ._reductions import reduce as reduce
from ._reductions import reduce_scatter as reduce_scatter
from ._reductions import reduce_scatter_single as reduce_scatter_single
from ._reductions import reduce_scatter_tensor as reduce_scatter_tensor
from ._stores import FileStore as FileStore
from ._stores import HashStore as HashStore
from ._stores import PrefixStore as PrefixStore
from ._stores import Store as Store
from ._stores import TCPStore as TCPStore
from ._work import Work as Work


def supports_complex(reduceOp: ReduceOp) -> bool:
    """Whether a reduction has a meaning for complex numbers."""
    kinds = (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PREMUL_SUM)
    return any(ReduceOp(reduceOp) == ReduceOp(kind) for kind in kinds)
