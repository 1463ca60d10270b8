"""`torch.utils.data._utils.worker`: what a worker process knows of itself, and how it seeds NumPy."""

from .._workers import WorkerInfo, _numpy_seed, get_worker_info

__all__ = ["WorkerInfo", "get_worker_info"]

_generate_state = _numpy_seed  # PyTorch's name, which libraries with workers of their own ask for
