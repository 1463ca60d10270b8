"""`torch.utils.data._utils`: parts of the loader, under the private names that libraries import."""

from . import collate, pin_memory, worker

__all__ = ["collate", "pin_memory", "worker"]
