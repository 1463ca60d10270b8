"""What becomes of an event: the books are kept, the pulse learns it, then the rules hear of it."""

from __future__ import annotations

from typing import Any

from ..._user_code.sites import Site
from ..rules.base import Rule
from ..state.registry import Known
from ..state.step_numbers import Numbers
from .backward_flow import Flow, Lines
from .events import (
    Backward,
    Clear,
    Clip,
    Dropout,
    Freeze,
    Hook,
    Iteration,
    Load,
    Loss,
    Mode,
    ModuleCall,
    Registration,
    Sample,
    Scaler,
    Schedule,
    Seed,
    Step,
    Subtraction,
    View,
)
from .loop_pattern import Pulse
from .nan_risks import Risks
from .observer import Observer
from .one_iteration import OneIteration
from .own_work import Quiet

CLOSE_BAD_LOSSES = 3  # after so many first losses that are not finite, as well
CLOSE_EVALUATIONS = 3  # after so many first eval()s, everything is looked at closely


class Dispatcher(Known):
    """The part of a doctor that observers talk to."""

    numbers: Numbers
    flow: Flow
    risks: Risks
    iteration: OneIteration

    def __init__(self, look_at: int | None) -> None:
        super().__init__()
        self.steps = 0  # optimizer steps so far,
        self.looked = 0  # and those that were looked at closely
        self.backwards = 0  # as long as everything is looked at
        self.events = 0
        self.stepped: dict[str, Any] = {}  # the engines whose optimizers stepped
        self.pulse = Pulse(look_at)
        self.lines = Lines()
        self.listeners: dict[str, list[Rule]] = {}  # who takes which event
        self._observers: list[Observer] = []
        self._quiet = Quiet()
        self._open: dict[int, Step] = {}  # steps that are running, by optimizer
        self._inner = 0  # backwards inside of a step, by its closure
        self._evaluations = self._bad_losses = 0
        self._flags: list[bool] = []  # which parameters are to be trained, when last looked at
        self.pairs: dict[int, Any] = {}  # tensors that hold all with all, by mistake: TG504's

    @property
    def is_busy(self) -> bool:
        """Whether the doctor itself is at work in this thread: what it runs is not the user's."""
        return bool(self._quiet.depth)

    @property
    def is_cut_short(self) -> bool:
        """Whether the run was ended by the doctor: what would have come is not known."""
        return False

    @property
    def has_open_step(self) -> bool:
        """Whether an optimizer is stepping now: a backward is its closure's."""
        return bool(self._open)

    def quietly(self) -> Quiet:
        """The doctor's own work: not watched, and no mistake in it may stop the user's loop."""
        return self._quiet

    def now(self, site: Site | None, engine: Any) -> tuple[int, int, Site | None, Any]:
        """What every event begins with."""
        self.events += 1
        return self.events, self.steps, site, engine

    def tell(self, what: str, event: Any) -> None:
        """Hand an event to the rules that take it; what goes wrong in one does not keep the others."""
        for rule in self.listeners[what]:
            with self.quietly():
                getattr(rule, what)(event)

    def before_backward(self, event: Backward) -> None:
        self.backwards += 1
        self.pulse.learn("kept" if event.retain_graph else "backward", event.site)
        self.ledger.before_backward()
        self.numbers.know(event.roots[0])
        self.numbers.before_backward(event.roots[0])
        self._inner += 1
        self.lines.stop("risks")
        if self.pulse.is_thorough:
            self.flow.before_backward(event)
            self.risks.learn(event)
        self.iteration.before_backward(event)
        self.tell("before_backward", event)

    def on_bad_loss(self) -> None:
        """A loss that is not finite, of a loop that is known: its graph is looked at, while it lives."""
        self._bad_losses += 1
        if self._bad_losses <= CLOSE_BAD_LOSSES:
            with self.quietly():
                self.risks.keep()
                self.wake()

    def after_backward(self, event: Backward) -> None:
        self.flow.remove()
        self.ledger.after_backward(event)
        self.tell("after_backward", event)

    def before_clear(self, event: Clear) -> None:
        self.pulse.learn("clear", event.site, event.owner)
        self.ledger.take_over(event.parameters)
        self.ledger.look_around()
        self.tell("before_clear", event)

    def before_step(self, event: Step) -> None:
        self._open[id(event.optimizer)] = event
        self._inner = 0
        self.ledger.take_over(event.parameters)
        self.pulse.learn_step(event.site, event.optimizer)
        self.ledger.look_around()
        self.tell_models_apart()
        self.iteration.before_step(event)
        if not event.has_closure:  # else the gradients are made inside of the step
            self.tell("before_step", event)
            self.numbers.before_step(event.optimizer, event.engine)

    def after_step(self, optimizer: Any) -> None:
        event = self._open.pop(id(optimizer), None)
        if event is None:
            return
        if event.has_closure and self._inner < 2:  # trainers hand closures even to a plain step
            event.number = self.now(None, None)[0]
            self.tell("before_step", event)
        self.steps += 1
        self.looked += 1
        self.stepped[event.engine.__name__] = event.engine
        self.tell("after_step", event)
        self.iteration.after_step(event)
        self.ledger.after_step(event)
        self.numbers.after_step(event.optimizer)
        self.pulse.learned(self.steps)
        if not self.pulse.awake:
            self.lines.stop("risks")
        for observer in self._observers:
            observer.look_closely(self.pulse.close)

    def after_usual_step(self, optimizer: Any) -> None:
        """A step while asleep that was measured, that was not as usual, or after which to wake up."""
        with self.quietly():
            if self.numbers.is_measuring:
                self.numbers.after_step(optimizer)
            if self.pulse.at is None or self.steps >= self.pulse.next_look:
                self.pulse.stepped(self.steps)
                self._look_around_again()
            else:
                self.pulse.at = self.pulse.first

    def look_at_flags(self) -> None:
        """At the head of an epoch: `p.requires_grad = True` is no call, and somebody may have said so."""
        known = [p for a in self.ledger.everyone() if (p := a.parameter()) is not None]
        flags = [p.requires_grad for p in known]
        is_changed = len(flags) == len(self._flags) and flags != self._flags
        self._flags = flags
        if is_changed and not self.pulse.awake:
            self.wake()

    def wake(self) -> None:
        """Something new: look at everything, for some steps."""
        if not self.pulse.awake:
            self._look_around_again()
        self.pulse.wake(self.steps)
        for observer in self._observers:
            observer.look_closely(True)

    def _look_around_again(self) -> None:
        self.ledger.start_again()
        for observer in self._observers:
            observer.look_closely(True)

    def after_clip(self, event: Clip) -> None:
        self.pulse.learn(event.how, event.site)
        self.ledger.look_around()
        self.tell("after_clip", event)

    def on_scaler(self, event: Scaler) -> None:
        self.pulse.learn(event.how, event.site, event.scaler)
        self.numbers.on_scaler(event.how, event.scaler)
        self.tell("on_scaler", event)

    def on_schedule(self, event: Schedule) -> None:
        self.pulse.learn("schedule", event.site, event.scheduler)
        self.tell("on_schedule", event)

    def on_loss(self, event: Loss) -> None:
        self.tell("on_loss", event)

    def on_module(self, event: ModuleCall) -> None:
        self.know_model(event.module)
        self.tell("on_module", event)

    def on_registered(self, event: Registration) -> None:
        self.tell("on_registered", event)

    def on_freeze(self, event: Freeze) -> None:
        self.tell("on_freeze", event)

    def on_view(self, event: View) -> None:
        self.tell("on_view", event)

    def on_hook(self, event: Hook) -> None:
        self.tell("on_hook", event)

    def on_load(self, event: Load) -> None:
        self.tell("on_load", event)

    def on_iteration(self, event: Iteration) -> None:
        self.tell("on_iteration", event)

    def on_seed(self, event: Seed) -> None:
        self.tell("on_seed", event)

    def on_sample(self, event: Sample) -> None:
        self.tell("on_sample", event)

    def on_dropout(self, event: Dropout) -> None:
        self.tell("on_dropout", event)

    def before_evaluation(self) -> None:
        """`eval()` while the loop is known: what is validated is looked at, the first times."""
        self._evaluations += 1
        if self._evaluations <= CLOSE_EVALUATIONS:
            self.wake()

    def on_mode(self, event: Mode) -> None:
        self.pulse.learn("train" if event.training else "eval", event.site, event.module)
        self.tell("on_mode", event)

    def on_subtraction(self, event: Subtraction) -> None:
        self.tell("on_subtraction", event)
