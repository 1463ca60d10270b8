"""`doctor()`: a context that watches, the events it hands to the rules, the findings it keeps."""

from __future__ import annotations

import gc
import importlib.util
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from .callbacks import callback
from .compiled import is_compiled, plain_path
from .events import (
    Backward,
    Clear,
    Clip,
    Dropout,
    Freeze,
    Loss,
    Mode,
    ModuleCall,
    Registration,
    Sample,
    Scaler,
    Schedule,
    Step,
    Subtraction,
)
from .findings import Finding
from .flow import Flow, Lines
from .history import History
from .ignoring import ignored_by_comment
from .ledger import Ledger, parameters_of
from .naming import tell_apart
from .numbers import Numbers
from .observer import Observer
from .pulse import Pulse
from .report import Reporting
from .risks import Risks
from .rules import RULES
from .rules.base import Rule
from .sites import Site

CLOSE_BAD_LOSSES = 3  # after so many first losses that are not finite, as well
CLOSE_EVALUATIONS = 3  # after so many first eval()s, everything is looked at closely


class StopTraining(BaseException):
    """Raised after the number of steps that was asked for."""


class Quiet(threading.local):
    """A context for the doctor's own work. What goes wrong in it is kept, not raised."""

    def __init__(self) -> None:
        self.depth = 0
        self.troubles: list[BaseException] = []

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        self.depth -= 1
        if error is None or not isinstance(error, Exception):
            return False
        if len(self.troubles) < 20:
            self.troubles.append(error)
        return True


class Doctor(Reporting):
    """Watches training loops from `start()` to `stop()`; a context manager does both.

    `findings` are what was seen, each once. `select` and `ignore` are codes or their beginnings;
    `steps` ends the loop after so many; `look_at` is a step to look at closely, whatever came before.
    It prints nothing by itself: `report()` gives the text, `show()` prints it, `save()` writes it.
    """

    def __init__(
        self,
        *,
        select: Iterable[str] = (),
        ignore: Iterable[str] = (),
        steps: int | None = None,
        look_at: int | None = None,
        engines: Iterable[Any] | None = None,
    ) -> None:
        self.select, self.ignore = tuple(select), tuple(ignore)
        self.limit = steps
        self.steps = 0  # optimizer steps so far,
        self.looked = 0  # and those that were looked at closely
        self.backwards = 0  # as long as everything is looked at
        self.events = 0
        self.ledger = Ledger()
        self.findings: list[Finding] = []
        self.ignored = (
            0  # findings that a comment on their line, or the configuration, asked to ignore
        )
        self.is_ignored: Callable[[Finding], bool] = ignored_by_comment
        self.watched: list[Any] = []  # the engines,
        self.stepped: dict[str, Any] = {}  # and those of them whose optimizers stepped
        self.optimizers: list[Any] = []  # weak references, in order of appearance
        self.made_at: dict[int, Site | None] = {}  # where optimizers were made
        self.models: list[Any] = []  # weak references to the outermost modules that ran
        self._named: set[int] = set()
        self.has_compiled = False  # whether a model is what torch.compile made
        self._told_apart = 0
        self._engines = None if engines is None else list(engines)
        self._observers: list[Observer] = []
        self._by_key: dict[Any, Finding] = {}
        self._quiet = Quiet()
        self._open: dict[int, Step] = {}  # steps that are running, by optimizer
        self._inner = 0  # backwards inside of a step, by its closure
        self.pulse = Pulse(look_at)
        self._evaluations = self._bad_losses = 0
        self.numbers = Numbers(self)
        self.flow = Flow(self)
        self.lines = Lines()
        self.risks = Risks(self)
        self.rules = [rule(self) for rule in RULES if self._wanted(rule.code)]
        self.hearing = {  # who takes which event
            name: [r for r in self.rules if getattr(type(r), name) is not getattr(Rule, name)]
            for name in vars(Rule)
            if name.startswith(("before_", "after_", "on_"))
        }

    def _wanted(self, code: str) -> bool:
        if self.select and not code.startswith(self.select):
            return False
        return not (self.ignore and code.startswith(self.ignore))

    # --- on and off ----------------------------------------------------------------------------

    def start(self) -> Doctor:
        if self._observers:
            raise RuntimeError("this doctor is watching already")
        for engine in self._engines if self._engines is not None else loaded_engines():
            self.see(engine)
        return self

    def see(self, engine: Any) -> None:
        """Watch this engine from now on."""
        observer = Observer(engine, self)
        observer.start()
        self._observers.append(observer)
        self.watched.append(engine)
        kinds = {engine.optim.Optimizer}
        waiting = list(kinds)
        while waiting:
            new = set(waiting.pop().__subclasses__()) - kinds
            kinds |= new
            waiting += new
        for found in [thing for thing in gc.get_objects() if type(thing) in kinds]:
            self.know_optimizer(found)

    def stop(self) -> None:
        if not self._observers:
            return
        self.flow.remove()
        for observer in reversed(self._observers):
            observer.stop()
        with self.quietly():
            self.numbers.finish()
        self._observers = []
        self.lines.stop("risks")
        for rule in self.rules:
            rule.at_end()

    def __enter__(self) -> Doctor:
        return self.start()

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        self.stop()
        return kind is StopTraining

    @property
    def is_busy(self) -> bool:
        """Whether the doctor itself is at work in this thread: what it runs is not the user's."""
        return bool(self._quiet.depth)

    @property
    def has_open_step(self) -> bool:
        """Whether an optimizer is stepping now: a backward is its closure's."""
        return bool(self._open)

    def quietly(self) -> Quiet:
        """The doctor's own work: not watched, and no mistake in it may stop the user's loop."""
        return self._quiet

    @property
    def troubles(self) -> list[BaseException]:
        """Mistakes of the doctor itself."""
        return self._quiet.troubles

    @property
    def history(self) -> History:
        """Norms of gradients, sizes of updates and losses, step by step."""
        return self.numbers.history

    def now(self, site: Site | None, engine: Any) -> tuple[int, int, Site | None, Any]:
        """What every event begins with."""
        self.events += 1
        return self.events, self.steps, site, engine

    def maybe_stop(self) -> None:
        if self.limit is not None and self.steps >= self.limit:
            raise StopTraining

    # --- what is known -------------------------------------------------------------------------

    def know_optimizer(self, optimizer: Any, site: Site | None = None) -> None:
        if not any(known() is optimizer for known in self.optimizers):
            self.optimizers.append(weakref.ref(optimizer))
        if site is not None or id(optimizer) not in self.made_at:
            self.made_at[id(optimizer)] = site
        self.ledger.know(parameters_of(optimizer))

    def know_model(self, module: Any) -> None:
        """A module that ran: its parameters by name; the outermost one is the model."""
        if id(module) in self._named:
            return
        self._named.update(id(m) for m in module.modules())
        self.models = [m for m in self.models if m() is not None and m() is not module]
        self.models.append(weakref.ref(module))
        self.has_compiled = self.has_compiled or is_compiled(module)
        for name, parameter in module.named_parameters():
            account, name = self.ledger.account(parameter), plain_path(name)
            if len(name) > len(account.name):
                account.name = name

    def held(self) -> dict[int, Any]:
        """Every optimizer's parameters: id of the parameter to its optimizer."""
        found = {}
        for reference in self.optimizers:
            optimizer = reference()
            if optimizer is not None:
                found.update({id(p): optimizer for p in parameters_of(optimizer)})
        return found

    def names(self, parameters: Iterable[Any]) -> list[str]:
        return [self.ledger.name(p) for p in parameters]

    def add(self, finding: Finding) -> None:
        """Keep a finding, unless its line asks to ignore it; the same again is only counted."""
        known = self._by_key.get(finding.key)
        if known is not None:
            known.count += 1
            return
        self._by_key[finding.key] = finding
        if self.is_ignored(finding):
            self.ignored += 1
            return
        self.findings.append(finding)
        self.numbers.measure_soon()

    # --- events --------------------------------------------------------------------------------

    def tell(self, what: str, event: Any) -> None:
        """Hand an event to the rules that take it; what goes wrong in one does not keep the others."""
        for rule in self.hearing[what]:
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
        if self._told_apart != len(self._named):
            self._told_apart = len(self._named)
            tell_apart(self)
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

    # --- what it says --------------------------------------------------------------------------

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def loaded_engines() -> list[Any]:
    """The engines a program has loaded."""
    found: list[Any] = []
    for name in ("torch", "tautograd"):
        module = sys.modules.get(name)
        if module is not None and hasattr(module, "Tensor") and module not in found:
            if importlib.util.find_spec(f"{module.__name__}.nn") is None:
                continue
            found.append(module)
    return found


def doctor(**options: Any) -> Doctor:
    """A doctor to be used as a context: `with tautograd.doctor() as d: train()`; then `d.findings`."""
    return Doctor(**options)


def watch(model: Any = None, *optimizers: Any, **options: Any) -> Doctor:
    """Watch from now on, until `stop()`; what is given is known from the start."""
    found = Doctor(**options).start()
    with found.quietly():
        if model is not None:
            found.know_model(model)
        for optimizer in optimizers:
            found.know_optimizer(optimizer)
    return found


doctor.watch = watch  # type: ignore[attr-defined]
doctor.callback = callback  # type: ignore[attr-defined]
