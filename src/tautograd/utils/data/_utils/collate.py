"""`torch.utils.data._utils.collate`: collating samples into batches."""

from .._collate import collate, default_collate, default_collate_fn_map, default_convert

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]
