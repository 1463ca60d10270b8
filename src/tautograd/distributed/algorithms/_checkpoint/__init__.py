"""`torch.distributed.algorithms._checkpoint`: activation checkpointing as a wrapper."""
