"""`SummaryWriter`: numbers, pictures and graphs in files for TensorBoard, written by tensorboardX."""

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
