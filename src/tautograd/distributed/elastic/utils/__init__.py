"""`torch.distributed.elastic.utils`."""

from . import data

__all__ = ["data"]
