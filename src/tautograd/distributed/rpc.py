"""`torch.distributed.rpc`, as in a PyTorch built without it: importable, but not available."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether functions can be called on other processes: no."""
    return False
