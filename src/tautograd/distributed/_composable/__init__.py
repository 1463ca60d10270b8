"""`torch.distributed._composable`: what `torch.distributed.fsdp` was before it became public."""

from ..fsdp import fully_shard

__all__ = ["fully_shard"]
