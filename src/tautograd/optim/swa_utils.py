"""Averages of a model's weights: equal (SWA) or exponential (EMA), and what goes with them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import numpy as np

from .._autograd.grad_mode import no_grad
from .._ops.declare.python_surface import speak
from .._tensor.tensor import Tensor, make
from ..nn.modules.module import Module
from .lr_scheduler._base import LRScheduler, Rate, per_group, warn_outside_step
from .optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Average = Callable[[Any, Any, Any], Any]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def _is_continuous(x: Tensor) -> bool:
    return x.is_floating_point() or x.is_complex()


def get_ema_multi_avg_fn(decay: float = 0.999) -> Average:
    """A function that moves a list of averages towards a list of values, in place."""
    _check_decay(decay)

    def ema_update(averages: Any, values: Any, _: Any) -> None:
        with no_grad():
            for average, value in zip(averages, values, strict=True):
                if _is_continuous(averages[0]):
                    average.lerp_(value, 1 - decay)
                else:
                    average.copy_(average * decay + value * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Average:
    """A function that includes a list of values in a list of equal averages, in place."""

    def swa_update(averages: Any, values: Any, count: Any) -> None:
        with no_grad():
            for average, value in zip(averages, values, strict=True):
                if _is_continuous(averages[0]):
                    weight = 1 / (count + 1)
                    average.lerp_(value, weight.item() if isinstance(weight, Tensor) else weight)
                elif isinstance(count, Tensor):
                    average.addcdiv_(value - average, count + 1)
                else:
                    average.add_(value - average, alpha=1.0 / (count + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """A function that returns an average moved towards a value."""
    _check_decay(decay)

    def ema_update(average: Any, value: Any, count: Any) -> Any:
        with no_grad():
            return decay * average + (1 - decay) * value

    return ema_update


def get_swa_avg_fn() -> Average:
    """A function that returns an equal average that includes one more value."""

    def swa_update(average: Any, value: Any, count: Any) -> Any:
        with no_grad():
            return average + (value - average) / (count + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's."""

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Average | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", make(np.zeros((), np.int64)))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The model's forward with the averaged parameters."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Include the current parameters of `model` in the averages."""
        if self.use_buffers:
            own = itertools.chain(self.module.parameters(), self.module.buffers())
            others = itertools.chain(model.parameters(), model.buffers())
            pairs = list(zip(own, others, strict=False))
        else:
            pairs = list(zip(self.parameters(), model.parameters(), strict=False))
        detached = [(average.detach(), value.detach()) for average, value in pairs]
        if int(self.n_averaged) == 0:
            for average, value in detached:
                average.copy_(value)
        elif self.multi_avg_fn is None:
            average_of = self.avg_fn or get_swa_avg_fn()
            for average, value in detached:
                average.copy_(average_of(average, value, self.n_averaged))
        else:
            by_dtype: dict[Any, list[tuple[Tensor, Tensor]]] = {}
            for average, value in detached:
                by_dtype.setdefault(average.dtype, []).append((average, value))
            for same in by_dtype.values():
                self.multi_avg_fn([a for a, _ in same], [v for _, v in same], self.n_averaged)
        if not self.use_buffers:
            for kept, value in zip(self.module.buffers(), model.buffers(), strict=True):
                kept.detach().copy_(value.detach())
        self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the running statistics of batch norms over all of the data."""
    from ..nn.modules.batchnorm import _BatchNorm

    norms: list[Any] = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    for norm in norms:
        norm.reset_running_stats()
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    model.train()
    for norm in norms:
        norm.momentum = None  # a plain average
    with no_grad():
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneals the learning rate to the constant one of weight averaging."""

    anneal_func: Callable[[float], float]

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: Any = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = per_group("swa_lr", optimizer, swa_lr)
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _linear_anneal(t: float) -> float:
        return t

    @staticmethod
    def _cosine_anneal(t: float) -> float:
        return (1 - math.cos(math.pi * t)) / 2

    @staticmethod
    def _get_initial_lr(lr: Rate, swa_lr: Rate, alpha: float) -> Rate:
        """The learning rate that, annealed by alpha, gives `lr`."""
        return swa_lr if alpha == 1 else (lr - alpha * swa_lr) / (1 - alpha)

    def get_lr(self) -> list[Rate]:
        """The learning rates of this epoch."""
        warn_outside_step(self)
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        length = max(1, self.anneal_epochs)
        before = self.anneal_func(max(0, min(1, (step - 1) / length)))
        alpha = self.anneal_func(max(0, min(1, step / length)))
        rates = []
        for group in self.optimizer.param_groups:
            start = self._get_initial_lr(group["lr"], group["swa_lr"], before)
            rates.append(group["swa_lr"] * alpha + start * (1 - alpha))
        return rates

    def _set_anneal_func(self, strategy: str) -> None:
        self._anneal_strategy = strategy
        self.anneal_func = self._cosine_anneal if strategy == "cos" else self._linear_anneal

    def state_dict(self) -> dict[str, Any]:
        """The state of the schedule, without its optimizer and its function."""
        return {k: v for k, v in super().state_dict().items() if k != "anneal_func"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        super().load_state_dict(state_dict)
        self._set_anneal_func(self._anneal_strategy)


speak(globals(), __all__)
