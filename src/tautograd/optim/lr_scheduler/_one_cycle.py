"""One cycle over a whole training: warm up, come down, end far below the start."""

from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from ._base import LRScheduler, Rate, check_optimizer, per_group, warn_outside_step
from ._cyclic import begin_momentum, set_momentum, uses_betas


class OneCycleLR(LRScheduler):
    """The learning rate up to `max_lr` and down to almost nothing (Smith and Topin, 2019)."""

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _count(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(pct_start, self.total_steps, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        max_lrs = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for highest, group in zip(max_lrs, optimizer.param_groups, strict=True):
                group["initial_lr"] = highest / div_factor
                group["max_lr"] = highest
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = uses_betas(optimizer)
            highs = per_group("max_momentum", optimizer, max_momentum)
            lows = per_group("base_momentum", optimizer, base_momentum)
            if last_epoch == -1:
                begin_momentum(optimizer, lows, highs, self.use_beta1)
        super().__init__(optimizer, last_epoch)

    def _anneal_func(self, start: Any, end: Any, part: float) -> Any:
        kinds = {"cos": self._annealing_cos, "linear": self._annealing_linear}
        if self._anneal_func_type not in kinds:
            raise ValueError(f"Unknown _anneal_func_type: {self._anneal_func_type}")
        return kinds[self._anneal_func_type](start, end, part)

    @staticmethod
    def _annealing_cos(start: Any, end: Any, part: float) -> Any:
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    @staticmethod
    def _annealing_linear(start: Any, end: Any, part: float) -> Any:
        return (end - start) * part + start

    def get_lr(self) -> list[Rate]:
        """The learning rates of this step; also sets the momentum."""
        warn_outside_step(self)
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        start = 0.0
        *earlier, phase = self._schedule_phases
        for candidate in earlier:
            if step <= candidate["end_step"]:
                phase = candidate
                break
            start = candidate["end_step"]
        part = (step - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal_func(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                set_momentum(group, self._anneal_func(*ends, part), self.use_beta1)
        return rates


def _count(total: Any, epochs: Any, per_epoch: Any) -> int:
    """The number of steps in the cycle."""

    def positive(value: Any, name: str) -> int:
        if value <= 0 or not isinstance(value, int):
            raise ValueError(f"Expected positive integer {name}, but got {value}")
        return value

    if total is not None:
        return positive(total, "total_steps")
    if epochs is not None and per_epoch is not None:
        return positive(epochs, "epochs") * positive(per_epoch, "steps_per_epoch")
    raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")


def _phases(part: float, total: int, three: bool) -> list[dict[str, Any]]:
    """Each phase's end, and the group settings it interpolates between."""

    def phase(end: float, rates: tuple[str, str], momentums: tuple[str, str]) -> dict[str, Any]:
        return {
            "end_step": end,
            "start_lr": rates[0],
            "end_lr": rates[1],
            "start_momentum": momentums[0],
            "end_momentum": momentums[1],
        }

    low, high = "base_momentum", "max_momentum"
    rise = phase(float(part * total) - 1, ("initial_lr", "max_lr"), (high, low))
    if not three:
        return [rise, phase(total - 1, ("max_lr", "min_lr"), (low, high))]
    fall = phase(float(2 * part * total) - 2, ("max_lr", "initial_lr"), (low, high))
    return [rise, fall, phase(total - 1, ("initial_lr", "min_lr"), (high, high))]
