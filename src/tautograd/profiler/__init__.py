"""`torch.profiler`: where the time of a program goes, operation by operation."""

from .._ops.declare.python_surface import speak
from ..autograd.profiler import record_function
from .profiler import (
    ExecutionTraceObserver,
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "ExecutionTraceObserver",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


def kineto_available() -> bool:
    """Whether PyTorch's own tracing library is there: it is not; operations are timed in Python."""
    return False


speak(globals(), __all__)
