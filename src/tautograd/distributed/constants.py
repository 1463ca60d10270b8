"""`torch.distributed.constants`: the default time limit of groups."""

from ._groups import default_pg_timeout

default_pg_nccl_timeout = default_pg_timeout

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]
