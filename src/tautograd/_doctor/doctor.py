"""`doctor()`: a context that watches, and the findings it keeps."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from typing import Any

from .._stand_ins.everywhere import in_one_search
from .callbacks import callback
from .report.findings import Finding
from .report.folding import fold
from .report.inline_ignores import ignored_by_comment
from .report.report import Reporting
from .report.rule_pages import codes_of
from .rules import RULES
from .rules.base import Rule
from .state.history import History
from .state.step_numbers import Numbers
from .watch.backward_flow import Flow
from .watch.dispatch import Dispatcher
from .watch.living import living_optimizers
from .watch.nan_risks import Risks
from .watch.observer import Observer
from .watch.one_iteration import OneIteration


class StopTraining(BaseException):
    """Raised after the number of steps that was asked for."""


class Doctor(Dispatcher, Reporting):
    """Watches training loops from `start()` to `stop()`; a context manager does both.

    `findings` are what was seen, each once. `select` and `ignore` are codes or their beginnings;
    `steps` ends the loop after so many; `look_at` is a step to look at closely, whatever came before;
    `deep` adds experiments on copies, when it stops.
    It prints nothing by itself: `report()` gives the text, `show()` prints it, `save()` writes it.
    """

    def __init__(
        self,
        *,
        select: str | Iterable[str] = (),
        ignore: str | Iterable[str] = (),
        steps: int | None = None,
        look_at: int | None = None,
        engines: Iterable[Any] | None = None,
        deep: bool = False,
    ) -> None:
        super().__init__(look_at)
        self.deep = deep
        self.say_deep: Callable[[str, float], None] = _in_silence  # what is tried, how much is done
        self.select, self.ignore = (
            codes_of(texts.split(",") if isinstance(texts, str) else texts)
            for texts in (select, ignore)
        )
        if steps is not None and steps < 1:
            raise ValueError(f"steps: a whole number above 0 expected, got {steps}")
        self.limit = steps
        self._has_failed = False
        self.findings: list[Finding] = []
        self.ignored = 0  # findings that a comment or the configuration asked to ignore
        self.is_ignored: Callable[[Finding], bool] = ignored_by_comment
        self.watched: list[Any] = []  # the engines
        self._engines = None if engines is None else list(engines)
        self._by_key: dict[Any, Finding] = {}
        self.numbers = Numbers(self)
        self.flow = Flow(self)
        self.risks = Risks(self)
        self.iteration = OneIteration(self)
        self.rules = [rule(self) for rule in RULES if self.wanted(rule.code)]
        self.listeners = {
            name: [r for r in self.rules if getattr(type(r), name) is not getattr(Rule, name)]
            for name in vars(Rule)
            if name.startswith(("before_", "after_", "on_"))
        }

    def wanted(self, code: str) -> bool:
        """Whether findings of this code are asked for."""
        if self.select and not code.startswith(self.select):
            return False
        return not (self.ignore and code.startswith(self.ignore))

    # --- on and off ----------------------------------------------------------------------------

    def start(self) -> Doctor:
        if self._observers:
            raise RuntimeError("this doctor is watching already")
        try:
            self.see(*(self._engines if self._engines is not None else loaded_engines()))
        except BaseException:  # Ctrl-C: nobody will say stop()
            self._leave()
            self._observers = []
            raise
        return self

    def _leave(self) -> None:
        """Let everything in the engines be as it was."""
        with in_one_search():
            for observer in reversed(self._observers):
                observer.stop()

    def see(self, *engines: Any) -> None:
        """Watch these engines from now on."""
        with in_one_search():
            for engine in engines:
                observer = Observer(engine, self)
                self._observers.append(observer)
                observer.start()
                self.watched.append(engine)
        for found in living_optimizers(engines):
            self.know_optimizer(found)

    def stop(self) -> None:
        if not self._observers:
            return
        self.flow.remove()
        self.iteration.stop()
        self._leave()
        with self.quietly():
            self.numbers.finish()
        self._observers = []
        self.lines.end()
        for rule in self.rules:
            with self.quietly():
                rule.at_end()
        self.findings[:] = fold(self.findings)

    def __enter__(self) -> Doctor:
        return self.start()

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        self._has_failed = kind is not None
        self.stop()
        return kind is StopTraining

    @property
    def troubles(self) -> list[BaseException]:
        """Mistakes of the doctor itself."""
        return self._quiet.troubles

    @property
    def history(self) -> History:
        """Norms of gradients, sizes of updates and losses, step by step."""
        return self.numbers.history

    @property
    def is_cut_short(self) -> bool:
        """Whether the run was ended after the steps that were asked for, or by an error."""
        return self._has_failed or (self.limit is not None and self.steps >= self.limit)

    def maybe_stop(self) -> None:
        if self.limit is not None and self.steps >= self.limit:
            raise StopTraining

    # --- what it says --------------------------------------------------------------------------

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

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def _in_silence(what: str, part: float) -> None:
    """Nobody asked to be told."""


def loaded_engines() -> list[Any]:
    """The engines a program has loaded."""
    found: list[Any] = []
    for name in ("torch", "tautograd"):
        module = sys.modules.get(name)
        # One that stands for another (`taut run --as-torch`) has the same tensors: it is watched once.
        if module is None or not hasattr(module, "Tensor"):
            continue
        if all(module.Tensor is not m.Tensor for m in found):
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
