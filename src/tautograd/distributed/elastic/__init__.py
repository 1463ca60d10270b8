"""`torch.distributed.elastic`: of it what scripts name; restarts are `taut launch --max-restarts`."""

from . import multiprocessing, utils

__all__ = ["multiprocessing", "utils"]
