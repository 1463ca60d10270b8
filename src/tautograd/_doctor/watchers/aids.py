"""Watching what helps an optimizer: clipping, gradient scalers, learning-rate schedulers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..._user_code.stack import user_site
from ..state.courses import rate_of
from ..watch.events import Clip, Iteration, Scaler, Schedule, Seed

if TYPE_CHECKING:
    from ..watch.observer import Observer

CLIPS = ("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_")
SCHEDULERS = ("LRScheduler", "ReduceLROnPlateau", "SequentialLR", "ChainedScheduler")
"""Those whose `__init__` calls no other scheduler's."""
SCALER = ("scale", "unscale_", "step", "update")


def make_clip(observer: Observer, original: Any, name: str) -> Any:
    """`clip_grad_norm_` and its kin."""
    doctor, engine, depth = observer.doctor, observer.engine, observer.depth

    def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
        if depth.inside:
            return original(parameters, *args, **kwargs)
        if not doctor.pulse.awake:
            doctor.pulse.beat(name)
            with depth:
                return original(parameters, *args, **kwargs)
        if not isinstance(parameters, (list, tuple, engine.Tensor)):
            parameters = list(parameters)
        with depth:
            result = original(parameters, *args, **kwargs)
        with doctor.quietly():
            found = [parameters] if isinstance(parameters, engine.Tensor) else list(parameters)
            limit = args[0] if args else next(iter(kwargs.values()), 0.0)
            doctor.after_clip(
                Clip(
                    *doctor.now(user_site(), engine), how=name, parameters=found,
                    limit=float(limit), result=result,
                )
            )  # fmt: skip
        return result

    return clip


def make_scaler(observer: Observer, original: Any, name: str) -> Any:
    """A method of `GradScaler`."""
    doctor = observer.doctor

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if observer.depth.inside or observer.scaler_steps or not self.is_enabled():
            return original(self, *args, **kwargs)
        if not doctor.pulse.awake:
            doctor.pulse.beat(name, self)
            doctor.numbers.on_scaler(name, self)
            return original(self, *args, **kwargs)
        with doctor.quietly():
            optimizer = args[0] if args and name in ("unscale_", "step") else None
            outputs = args[0] if args and name == "scale" else None
            doctor.on_scaler(
                Scaler(
                    *doctor.now(user_site(), observer.engine), how=name, scaler=self,
                    optimizer=optimizer, outputs=outputs,
                )
            )  # fmt: skip
        observer.scaler_steps = name == "step"
        try:
            return original(self, *args, **kwargs)
        finally:
            observer.scaler_steps = False

    return method


def make_schedule(observer: Observer, original: Any) -> Any:
    """A scheduler's `step`; one that waits for a plateau is heard even while asleep."""
    doctor, depth = observer.doctor, observer.depth
    courses = doctor.courses

    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        # A scheduler steps once by itself when it is made.
        made = sys._getframe(1).f_code.co_name in ("_initial_step", "__init__")
        if made or depth.inside or doctor.is_busy:
            with depth:
                return original(self, *args, **kwargs)
        waits = hasattr(self, "mode_worse")
        is_awake, site = doctor.pulse.awake, None
        if not is_awake:
            doctor.pulse.beat("schedule", self)
        if is_awake or waits:
            with doctor.quietly():
                site = user_site()
                event = Schedule(
                    *doctor.now(site, observer.engine), scheduler=self,
                    optimizer=getattr(self, "optimizer", None),
                    metric=_number(*args, **kwargs) if waits else None,
                    with_epoch=not waits and bool(args or kwargs),
                )  # fmt: skip
                if is_awake:
                    doctor.on_schedule(event)
                else:
                    doctor.tell("on_schedule", event)
        before = rate_of(self.optimizer) if hasattr(self, "optimizer") else 0.0
        with depth:
            result = original(self, *args, **kwargs)
        with doctor.quietly():
            courses.turned(self, before, doctor.steps, site)
        return result

    return step


def _number(metrics: Any = None, *args: Any, **kwargs: Any) -> float | None:
    try:
        return float(metrics)
    except (TypeError, ValueError):
        return None


def make_iteration(observer: Observer, original: Any) -> Any:
    """A `DataLoader`'s `__iter__`."""
    doctor = observer.doctor

    def __iter__(self: Any) -> Any:
        if not doctor.is_busy:
            with doctor.quietly():
                doctor.look_at_flags()
                place = doctor.now(user_site(), observer.engine)
                doctor.on_iteration(Iteration(*place, loader=self))
        return original(self)

    return __iter__


def make_seed(observer: Observer, original: Any) -> Any:
    """`manual_seed`."""
    doctor = observer.doctor

    def manual_seed(seed: Any) -> Any:
        result = original(seed)
        if doctor.pulse.awake and not doctor.is_busy:
            with doctor.quietly():
                doctor.on_seed(Seed(*doctor.now(user_site(), observer.engine), seed=seed))
        return result

    return manual_seed


def make_scheduler(observer: Observer, original: Any) -> Any:
    """A scheduler's `__init__`."""
    doctor = observer.doctor

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        with doctor.quietly():
            site = user_site()
            doctor.courses.made(self, site, doctor.steps)
            doctor.on_schedule(
                Schedule(
                    *doctor.now(site, observer.engine), scheduler=self,
                    optimizer=getattr(self, "optimizer", None), made=True,
                )
            )  # fmt: skip

    return __init__
