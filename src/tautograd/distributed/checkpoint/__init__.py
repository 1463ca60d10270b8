"""`torch.distributed.checkpoint`: each rank writes its share; a checkpoint is there whole, or not at all.

A value that several ranks have is written by one of them, the share of each being about the same size; a value
that one rank has alone (a part of a sharded optimizer) is written by that one. Any number of ranks can load it.
"""

from .folder import CheckpointException, FileSystemReader, FileSystemWriter, latest
from .loading import load
from .saving import async_save, save

__all__ = [
    "CheckpointException",
    "FileSystemReader",
    "FileSystemWriter",
    "async_save",
    "latest",
    "load",
    "save",
]
