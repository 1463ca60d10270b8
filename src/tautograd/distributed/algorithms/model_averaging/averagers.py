"""When to average the parameters of models that train independently."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

from ..._groups import _get_default_group
from .utils import average_parameters_or_parameter_groups

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """Averages parameters over a group; `step` counts the calls."""

    def __init__(self, process_group: Any = None) -> None:
        self.process_group = _get_default_group() if process_group is None else process_group
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Any) -> None:
        """Average, if it is due."""


class PeriodicModelAverager(ModelAverager):
    """Averages every `period` steps, from step `warmup_steps` on."""

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn(
                "When period is 1, no need to use model averaging because the communication cost of all-reducing "
                "parameters will be no less than the cost of all-reducing gradients by DistributedDataParallel in "
                "the backward pass. Therefore, only DistributedDataParallel should be used for this case.",
                stacklevel=2,
            )
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Any) -> None:
        """Average the parameters of a model, or of an optimizer's groups."""
        since = self.step - self.warmup_steps
        if since >= 0 and since % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
