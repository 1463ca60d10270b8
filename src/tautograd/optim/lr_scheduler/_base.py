"""What all schedules share: counting epochs, setting learning rates, saving, and warnings of misuse."""

from __future__ import annotations

import functools
import types
import warnings
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..._autograd.effects import replayed
from ..._tensor.tensor import Tensor
from ..._user_code.sites import warning_level
from ..optimizer import Optimizer

Rate = Any  # a number, or a tensor with one element

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if epoch "
    "is different from None, the closed form is used instead of the new chainable form, where "
    "available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
_ORDER = (
    "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)


class LRScheduler:
    """Changes the learning rates of an optimizer's groups each time `step` is called."""

    _get_lr_called_within_step = False
    _is_initial = False

    optimizer: Optimizer
    base_lrs: list[Rate]
    last_epoch: int
    _step_count: int
    _last_lr: list[Rate]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming "
                    "scheduler with last_epoch >= 0.\n"
                    "This typically happens when:\n"
                    "1. You're trying to resume training from a checkpoint but haven't properly "
                    "loaded the optimizer state\n"
                    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
                )
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _notice_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the learning rates of the first epoch."""
        self._step_count = 0
        with self._while("_is_initial"):
            self.step()

    @contextmanager
    def _while(self, name: str) -> Iterator[None]:
        """A context in which an attribute is True."""
        setattr(self, name, True)
        try:
            yield
        finally:
            setattr(self, name, False)

    def state_dict(self) -> dict[str, Any]:
        """The state of the schedule, without its optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Rate]:
        """The learning rates this schedule set last."""
        return self._last_lr

    def get_lr(self) -> list[Rate]:
        """The learning rates of this epoch."""
        raise NotImplementedError

    @replayed
    def step(self, epoch: int | None = None) -> None:
        """Advance to the next epoch; call it after the optimizer's step."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                    "initialization. Please, make sure to call `optimizer.step()` before "
                    f"`lr_scheduler.step()`. {_ORDER}",
                    UserWarning,
                    stacklevel=warning_level(),
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch "
                    "1.1.0 and later, you should call them in the opposite order: "
                    "`optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will "
                    "result in PyTorch skipping the first value of the learning rate schedule. "
                    f"{_ORDER}",
                    UserWarning,
                    stacklevel=warning_level(),
                )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=warning_level())
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._while("_get_lr_called_within_step"):
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                values = getattr(self, "_get_closed_form_lr", self.get_lr)()
        self._write(values)

    def _write(self, values: Sequence[Rate]) -> None:
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            set_value(group, "lr", value)
        self._last_lr = values_of(self.optimizer, "lr")

    # --- for subclasses ------------------------------------------------------------------------

    def _unchanged(self) -> list[Rate]:
        return values_of(self.optimizer, "lr")

    def _times(self, factor: float) -> list[Rate]:
        """The current learning rates times a factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _base_times(self, factor: float) -> list[Rate]:
        return [lr * factor for lr in self.base_lrs]


class _LRScheduler(LRScheduler):
    """The base class's name in older versions."""


def warn_outside_step(scheduler: LRScheduler) -> None:
    """Warn that `get_lr` is for `step`: a user wants `get_last_lr`."""
    if not scheduler._get_lr_called_within_step:
        warnings.warn(
            "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
            UserWarning,
            stacklevel=2,
        )


def check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def copied(value: Rate) -> Rate:
    return value.clone() if isinstance(value, Tensor) else value


def values_of(optimizer: Optimizer, key: str) -> list[Rate]:
    """A setting of every group; tensors are copied."""
    return [copied(group[key]) for group in optimizer.param_groups]


def set_value(group: dict[str, Any], key: str, value: Rate) -> None:
    """Set a group's setting; a tensor is filled in place, so that others who hold it see the change."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.squeeze() if isinstance(value, Tensor) and value.ndim else value)
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Rate]:
    """A setting given once, or once per group, as a list."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        value = [value] * groups
    elif len(value) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} "
            f"values, param_groups has {groups}."
        )
    return [copied(v) for v in value]


def state_of_function(function: Any) -> dict[str, Any] | None:
    """The saved state of a callable: an object's attributes, and nothing for a plain function."""
    return None if isinstance(function, types.FunctionType) else function.__dict__.copy()


def _notice_steps(optimizer: Any) -> None:
    """Make the optimizer record that it stepped, for the warning about the order of calls."""
    step = optimizer.step
    if hasattr(step, "_wrapped_by_lr_sched"):
        return
    function = step.__func__
    reference = weakref.ref(optimizer)  # no cycle: the optimizer holds the wrapper

    @functools.wraps(function)
    def noticed(*args: Any, **kwargs: Any) -> Any:
        owner: Any = reference()
        owner._opt_called = True
        return function.__get__(owner, type(owner))(*args, **kwargs)

    noticed._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = noticed
