"""`torch.distributed._composable`: the name of `torch.distributed.fsdp` before it became public."""

from ..fsdp import fully_shard

__all__ = ["fully_shard"]
