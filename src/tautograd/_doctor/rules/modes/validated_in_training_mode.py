"""A model that is measured while its dropout drops or its batch norm counts: TG608."""

from __future__ import annotations

import re
from typing import Any

from ...._user_code.sites import Site
from ...._user_code.stack import user_site, user_stack
from ...state.parameter_owners import roots
from ...watch.events import Iteration, Loss, ModuleCall, Step
from ..base import Rule
from .mode_dependent import counts_batches, drops_entries

_MEASURES = re.compile(r"(^|_)(validat\w*|valid|val|evaluat\w*|eval|test|dev)(_|$)")


class ValidatedInTrainingMode(Rule):
    """Between steps the model is measured without gradients, in training mode: what drops still drops."""

    code = "TG608"
    name = "validated-in-training-mode"
    why = (
        "In training mode dropout makes the measure a matter of chance, and batch norm normalises by the "
        "batch it is given and takes it into its running statistics: validation data becomes part of the model."
    )
    quiet = (
        "Models without dropout and batch norm, and parts of them alone in training mode; calls without a "
        "gradient whose output is measured by no loss, in no function and from no loader that is only for that "
        "(a generator's samples, targets of a teacher, statistics that are counted anew); batches that are "
        "trained on as well."
    )
    fix = "model.eval()  # before the validation, and model.train() after it"
    example = """
  torch.manual_seed(0)
  nn = torch.nn
  model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 1))
  optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
  x, y = torch.randn(24, 3), torch.randn(24, 1)
  for epoch in range(3):
+     model.train()
      for i in (0, 8):
          optimizer.zero_grad()
          nn.functional.mse_loss(model(x[i : i + 8]), y[i : i + 8]).backward()
          optimizer.step()
+     model.eval()
      with torch.no_grad():
-         nn.functional.mse_loss(model(x[16:]), y[16:])  # here
+         nn.functional.mse_loss(model(x[16:]), y[16:])
"""
    looks = 3  # times that a loader of its own is worth waking up for

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.held: set[int] = set()  # parameters that an optimizer steps
        self.training: set[tuple[str, str]] = (
            set()
        )  # functions in which, or from which, steps are taken
        self.trained: set[tuple[Any, ...]] = set()  # batches that went into a model with a gradient
        self.loaders: dict[int, bool] = {}  # whether one is iterated without gradients only
        self.reading = 0  # the loader that was begun last
        self.call: tuple[Site | None, str, str, tuple[Any, ...]] | None = None  # waits for a loss
        self.measured: dict[Site, tuple[set[int], str, str, set[tuple[Any, ...]]]] = {}

    def on_iteration(self, event: Iteration) -> None:
        apart = not event.engine.is_grad_enabled()
        self.reading = id(event.loader)
        first = self.reading not in self.loaders
        self.loaders[self.reading] = apart and self.loaders.get(self.reading, True)
        if apart and first and self.doctor.steps and len(self.loaders) <= self.looks + 1:
            self.doctor.wake()

    def after_step(self, event: Step) -> None:
        self.held.update(map(id, event.parameters))
        self.training.update((site.file, site.function) for site in user_stack())
        self.call = None

    def on_module(self, event: ModuleCall) -> None:
        module = event.module
        if not module.training or not event.args:
            return
        held: Any = self.held or self.doctor.held()  # of optimizers that are to step
        if not any(id(p) in held for p in module.parameters()):
            return
        batch = _fingerprint(event.engine, event.args[0])
        if batch is None:
            return
        if event.grad_mode:
            if len(self.trained) < 1000:
                self.trained.add(batch)
            return
        parts = sorted(
            {
                type(part).__name__
                for part in module.modules()
                if part.training and (drops_entries(event.engine, part) or counts_batches(part))
            }
        )
        if not parts or not any(module is root for root in roots(self.doctor)):
            return
        self.call = user_site(), type(module).__name__, ", ".join(parts), batch
        if self.loaders.get(self.reading) or self._is_in_a_measure():
            self._measured()

    def _is_in_a_measure(self) -> bool:
        """Whether a function that only measures, by its name, is running: none that steps are taken in."""
        return any(
            _MEASURES.search(site.function.lower())
            for site in user_stack()
            if (site.file, site.function) not in self.training
        )

    def on_loss(self, event: Loss) -> None:
        if self.call is not None and not event.engine.is_grad_enabled():
            self._measured()

    def _measured(self) -> None:
        assert self.call is not None
        (site, module, parts, batch), self.call = self.call, None
        if site is not None:
            known = self.measured.setdefault(site, (set(), module, parts, set()))
            known[0].add(self.doctor.steps)
            known[3].add(batch)

    def at_end(self) -> None:
        for site, (steps, model, parts, batches) in self.measured.items():
            if len(steps) < 2 or batches & self.trained:
                continue
            self.report(
                f"{model} is measured here in training mode, between its steps: {parts} "
                "of it do what they do in training.",
                site, modules=parts.split(", "), step=min(steps), figures={"times": len(steps)},
            )  # fmt: skip


def _fingerprint(engine: Any, given: Any) -> tuple[Any, ...] | None:
    """What tells a batch from others."""
    if not isinstance(given, engine.Tensor) or not given.dim() or not given.numel():
        return None
    flat = given.detach().reshape(-1)[:4096].double()
    return tuple(given.shape), float(flat.sum()), float(flat[0])
