"""`torch.distributed.elastic`: the parts that scripts name; restarts are `taut launch --max-restarts`."""

from . import multiprocessing, utils

__all__ = ["multiprocessing", "utils"]
