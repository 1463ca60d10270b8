"""`torch.distributed.pipelining`: a model's layers on several ranks, microbatch by microbatch."""

from __future__ import annotations

from .schedules import PipelineScheduleSingle, Schedule1F1B, ScheduleGPipe
from .stage import PipelineStage

__all__ = ["PipelineScheduleSingle", "PipelineStage", "Schedule1F1B", "ScheduleGPipe"]
