"""`torch.distributed`: several processes that train one model, on MPI and NCCL.

Nothing is loaded until it is used, and MPI itself only when a process joins a group.
"""

from __future__ import annotations

from .._lazy import named_later as _named_later

_C10D = (
    "Backend", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "FileStore",
    "GroupMember", "HashStore", "P2POp", "PrefixStore", "ProcessGroup", "QueueEmptyError", "ReduceOp",
    "Store", "TCPStore", "Work", "_get_default_group", "_make_nccl_premul_sum", "all_gather",
    "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object", "all_gather_single",
    "all_reduce", "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier",
    "batch_isend_irecv", "broadcast", "broadcast_object_list", "default_pg_timeout",
    "destroy_process_group", "gather", "gather_object", "get_backend", "get_backend_config",
    "get_default_backend_for_device", "get_global_rank", "get_group_rank", "get_node_local_rank",
    "get_pg_count", "get_process_group_ranks", "get_rank", "get_world_size", "group",
    "init_process_group", "irecv", "is_available", "is_backend_available", "is_gloo_available",
    "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched",
    "is_ucc_available", "is_xccl_available", "isend", "monitored_barrier", "new_group",
    "new_subgroups", "new_subgroups_by_enumeration", "recv", "recv_object_list", "reduce",
    "reduce_op", "reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor", "scatter",
    "scatter_object_list", "send", "send_object_list", "supports_complex",
)  # fmt: skip

__all__ = [name for name in _C10D if name[0] != "_"]

__getattr__, __dir__ = _named_later(
    __name__,
    (
        "algorithms",
        "checkpoint",
        "constants",
        "device_mesh",
        "distributed_c10d",
        "elastic",
        "fsdp",
        "nn",
        "optim",
        "pipelining",
        "run",
        "tensor",
    ),
    {
        **dict.fromkeys(_C10D, ".distributed_c10d"),
        "GradBucket": "._reducer",
        "DeviceMesh": ".device_mesh",
        "init_device_mesh": ".device_mesh",
    },
)
