"""`torch.utils.data._utils.pin_memory`: batches in memory that is locked for a GPU."""

from .._passes import pinned as pin_memory

__all__ = ["pin_memory"]
