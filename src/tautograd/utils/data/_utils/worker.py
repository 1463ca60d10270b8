"""`torch.utils.data._utils.worker`: what a worker process knows about itself."""

from .._workers import WorkerInfo, get_worker_info

__all__ = ["WorkerInfo", "get_worker_info"]
