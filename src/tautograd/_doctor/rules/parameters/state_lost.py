"""Optimizers that are made anew, so that what they had gathered is lost: TG308."""

from __future__ import annotations

import weakref
from typing import Any

from ...._user_code.sites import Site
from ...watch.events import Iteration, ModuleCall, Step
from ..base import Rule


class StateLost(Rule):
    """An optimizer with a memory is made anew for every step, so that it has none."""

    code = "TG308"
    name = "state-lost"
    why = (
        "Adam, RMSprop and momentum follow an average over many steps. An optimizer that is made in the loop "
        "begins with none: Adam's step is then the sign of the gradient, at full length, each time."
    )
    quiet = "Optimizers that step more than once, have no memory, or hold other parameters than the last."
    fix = "optimizer = torch.optim.Adam(model.parameters())  # before the loop"
    example = """
  torch.manual_seed(0)
  model = torch.nn.Linear(3, 1)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
+ optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
  for _ in range(8):
-     optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
      optimizer.zero_grad()
      torch.nn.functional.mse_loss(model(x), y).backward()
      optimizer.step()
"""
    many = 5
    few = 3  # times that one is made anew after several steps

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.last: tuple[Site | None, frozenset[int]] = None, frozenset()
        self.known: weakref.WeakSet[Any] = weakref.WeakSet()  # optimizers that have stepped
        self.anew = 0  # steps in a row, each by an optimizer that had not stepped before
        self.lives: dict[
            tuple[Any, ...], _Lives
        ] = {}  # of the optimizers of one line and its parameters
        self.sources: dict[int, Any] = {}  # where the data comes from: loaders, and whole tensors

    def on_iteration(self, event: Iteration) -> None:
        self._comes_from(event.loader)

    def on_module(self, event: ModuleCall) -> None:
        if event.grad_mode and event.args and isinstance(event.args[0], event.engine.Tensor):
            given = event.args[0]
            if given.grad_fn is None:
                self._comes_from(given if given._base is None else given._base)

    def _comes_from(self, source: Any) -> None:
        if id(source) not in self.sources and len(self.sources) < 64:
            try:
                self.sources[id(source)] = weakref.ref(source)
            except TypeError:
                return

    def before_step(self, event: Step) -> None:
        """A new one in the place of one whose weights it finds as that one left them."""
        made = self.doctor.made_at.get(id(event.optimizer))
        if made is None or event.optimizer in self.known or not _remembers(event.optimizer):
            return
        key = made, type(event.optimizer), frozenset(id(p) for p in event.parameters)
        lives = self.lives.setdefault(key, _Lives())
        is_left = lives.steps > 1 and [p._version for p in event.parameters] == lives.versions
        lives.anew = lives.anew + 1 if is_left else 0
        lives.steps = 0
        lives.starts = [s for s in lives.starts if s() is not None]
        if lives.anew == self.few and self._is_same_data(lives):
            self.report(
                f"This is the {lives.anew + 1}th {type(event.optimizer).__name__} of the same parameters, made "
                "where the others were: what each had gathered is lost when the next one is made.",
                made, parameters=self.doctor.names(event.parameters), severity="warning",
                sure="Certain that each begins without a memory, on weights that nobody else has changed.",
                refute="The optimizer is meant to begin anew, as at a warm restart.",
            )  # fmt: skip
        lives.starts = [s for s in self.sources.values() if s() is not None]

    def _is_same_data(self, lives: _Lives) -> bool:
        """Whether what was read when the last one began is all that has been read since."""
        return bool(lives.starts) and len(
            [s for s in self.sources.values() if s() is not None]
        ) <= len(lives.starts)

    def after_step(self, event: Step) -> None:
        self._lived(event)
        made = self.doctor.made_at.get(id(event.optimizer))
        is_first = event.optimizer not in self.known
        self.known.add(event.optimizer)
        held = frozenset(id(p) for p in event.parameters)
        same, self.last = self.last == (made, held) and made is not None, (made, held)
        self.anew = self.anew + 1 if same and is_first and _remembers(event.optimizer) else 0
        if self.anew == self.many:
            self.report(
                f"The {type(event.optimizer).__name__} of each step is a new one: what the last one had "
                "gathered is lost.",
                made, parameters=self.doctor.names(event.parameters),
            )  # fmt: skip

    def _lived(self, event: Step) -> None:
        made = self.doctor.made_at.get(id(event.optimizer))
        key = made, type(event.optimizer), frozenset(id(p) for p in event.parameters)
        if made is not None and key in self.lives:
            self.lives[key].steps += 1
            self.lives[key].versions = [p._version for p in event.parameters]


class _Lives:
    """Optimizers of the same parameters that one line made, one after the other."""

    def __init__(self) -> None:
        self.anew = 0  # times that one took the place of another
        self.steps = 0  # of the last one
        self.versions: list[int] = []  # of the weights, after its last step
        self.starts: list[Any] = []  # sources of data that were known when it began


def _remembers(optimizer: Any) -> bool:
    """Whether a step depends on those before it."""
    name = type(optimizer).__name__
    groups = optimizer.param_groups
    return name.startswith(("Ada", "RMS", "NAdam", "RAdam")) or any(
        g.get("momentum") for g in groups
    )
