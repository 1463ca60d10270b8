"""`torch.distributed.algorithms._checkpoint`: activations that are computed again, as a wrapper."""
