"""`torch.utils.data._utils.pin_memory`: batches in page-locked memory."""

from .._passes import pinned as pin_memory

__all__ = ["pin_memory"]
