"""`torch.distributed.checkpoint`: each rank writes its share; a checkpoint is complete, or does not exist.

A value that several ranks have is written by one of them, so that the shares are about equal in size; a value
that only one rank has (part of a sharded optimizer) is written by that one. Any number of ranks can load it.
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
