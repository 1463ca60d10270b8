"""`torch.distributed._tensor.experimental`: what `torch.distributed.tensor.experimental` was before."""

from ..tensor.experimental import implicit_replication

__all__ = ["implicit_replication"]
