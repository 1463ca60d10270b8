"""Watching optimizers: that one is made, its steps, and `zero_grad`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._user_code.stack import user_site
from ..state.gradient_ledger import parameters_of
from ..watch.events import Clear, Step

if TYPE_CHECKING:
    from ..watch.observer import Observer


def make_step_hooks(observer: Observer) -> tuple[Any, Any]:
    """What runs before and after every step; a usual one is to cost as little as possible."""
    doctor, engine = observer.doctor, observer.engine
    pulse, numbers, courses = doctor.pulse, doctor.numbers, doctor.courses

    def before_step(optimizer: Any, args: Any, kwargs: Any) -> None:
        if courses.pending:
            courses.use(optimizer)
        if pulse.awake:
            if doctor.is_busy:
                return
            with doctor.quietly():
                _tell_step(observer, optimizer, args, kwargs)
        else:
            pulse.step(optimizer)
            if doctor.steps >= numbers.due:
                numbers.before_step(optimizer, engine)

    def after_step(optimizer: Any, args: Any, kwargs: Any) -> None:
        if pulse.awake:
            if doctor.is_busy:
                return
            with doctor.quietly():
                doctor.after_step(optimizer)
        else:
            steps = doctor.steps = doctor.steps + 1
            if pulse.at is None or steps >= pulse.next_look or numbers.is_measuring:
                doctor.after_usual_step(optimizer)
            else:  # a step like those before: the rules know what they would say
                pulse.at = pulse.first
        if doctor.limit is not None:
            doctor.maybe_stop()

    return before_step, after_step


def _tell_step(observer: Observer, optimizer: Any, args: Any, kwargs: Any) -> None:
    doctor = observer.doctor
    doctor.know_optimizer(optimizer)
    rest = args[1:] if args and args[0] is optimizer else args
    closure = bool(rest and rest[0] is not None) or kwargs.get("closure") is not None
    doctor.before_step(
        Step(
            *doctor.now(user_site(), observer.engine), optimizer=optimizer,
            parameters=parameters_of(optimizer), by_scaler=observer.scaler_steps,
            has_closure=closure,
        )
    )  # fmt: skip


def make_optimizer(observer: Observer, original: Any) -> Any:
    """An optimizer's `__init__`."""
    doctor = observer.doctor

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        with doctor.quietly():
            doctor.know_optimizer(self, user_site())
            doctor.wake()

    return __init__


def make_load(observer: Observer, original: Any) -> Any:
    """An optimizer's `load_state_dict`."""
    doctor = observer.doctor

    def load_state_dict(self: Any, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        if not doctor.is_busy:
            with doctor.quietly():
                doctor.courses.loaded(self, state_dict, user_site())
        return original(self, state_dict, *args, **kwargs)

    return load_state_dict


def make_clear(observer: Observer, original: Any) -> Any:
    """`zero_grad` of an optimizer or a module."""
    doctor, depth = observer.doctor, observer.depth
    pulse = doctor.pulse

    def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not pulse.awake:
            if not depth.inside:
                pulse.beat("clear", self)
            return original(self, *args, **kwargs) if args or kwargs else original(self)
        if depth.inside:
            return original(self, *args, **kwargs)
        event: Clear | None = None
        with doctor.quietly():
            found = list(self.parameters()) if hasattr(self, "parameters") else parameters_of(self)
            event = Clear(*doctor.now(user_site(), observer.engine), owner=self, parameters=found)
            doctor.before_clear(event)
        result = original(self, *args, **kwargs)
        if event is not None:
            with doctor.quietly():
                doctor.ledger.after_clear(event.parameters)
        return result

    return zero_grad
