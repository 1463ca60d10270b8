"""`torch.distributed.rpc`, as in a PyTorch that is built without it: there, and not available."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether functions can be called on other processes: no."""
    return False
