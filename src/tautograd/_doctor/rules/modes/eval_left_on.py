"""Training in eval mode: TG601."""

from __future__ import annotations

import weakref
from typing import Any

from ...._user_code.sites import Site
from ...._user_code.stack import user_stack
from ...state.parameter_owners import roots
from ...watch.events import Mode, Step
from ..base import Rule
from .mode_dependent import counts_batches, drops_entries


def _is_untouched(module: Any) -> bool:
    """Whether a batch norm has never seen a batch, and no statistics were loaded: in eval mode it
    normalises nothing."""
    if not counts_batches(module) or int(module.num_batches_tracked):
        return False
    return not bool(module.running_mean.any()) and bool((module.running_var == 1).all())


class EvalLeftOn(Rule):
    """Steps are taken while a model with dropout or batch norm is in eval mode, since a validation."""

    code = "TG601"
    name = "eval-left-on"
    why = (
        "eval() switches dropout off and makes batch norm use its running statistics, until train() is "
        "called again. What is trained after a validation is then trained without either."
    )
    quiet = (
        "Models that train in eval from the first step on, or of which only parts are in eval (frozen "
        "batch norms): that is a decision, unless eval() is called elsewhere, and a trainable batch norm "
        "has never seen a batch, so that it normalises nothing. Models without dropout and batch norm."
    )
    fix = "model.train()  # after the validation"
    example = """
  torch.manual_seed(0)
  nn = torch.nn
  model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 1))
  optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
- model.train()
  for epoch in range(3):
+     model.train()
      for _ in range(3):
          optimizer.zero_grad()
          nn.functional.mse_loss(model(x), y).backward()
          optimizer.step()
-     model.eval()  # here
+     model.eval()
      with torch.no_grad():
          nn.functional.mse_loss(model(x), y)
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.evaluated: list[tuple[Any, Site | None]] = []  # modules, and where
        self.trained: set[int] = set()  # models that were seen to train in train mode
        self.steps: dict[int, int] = {}  # steps in a row in eval mode
        self.known: Any = ()
        self.models: list[tuple[Any, list[Any], set[int]]] = []
        self.asked: dict[int, bool] = {}  # module -> whether train() or eval() came last

    def on_mode(self, event: Mode) -> None:
        self.asked[id(event.module)] = event.training
        if not event.training:
            self.evaluated = [*self.evaluated[-20:], (weakref.ref(event.module), event.site)]

    def before_step(self, event: Step) -> None:
        self._know_models(event.engine)
        if not self.models:
            return
        account = self.doctor.ledger.account
        fresh = {id(p) for p in event.parameters if p.grad is not None and account(p).added}
        for reference, parts, ids in self.models:
            model = reference()
            if model is None or not fresh & ids:
                continue
            key = id(model)
            # `model.training = True` after eval() is a flag of the outermost module alone.
            is_flag = model.training and self.asked.get(key) is False
            if (model.training and not is_flag) or any(part.training for part in parts):
                self.trained.add(key)
                self.steps[key] = 0
            elif key in self.trained or self._is_slip(model, parts):
                self.steps[key] = self.steps.get(key, 0) + 1
                if self.steps[key] == (2 if key in self.trained else 3):
                    self._say(event, model, parts, fresh)

    def _know_models(self, engine: Any) -> None:
        """The models that ran, with those of their parts that behave otherwise in eval mode."""
        known = tuple(map(id, self.doctor.models))
        if known == self.known:
            return
        self.known, self.models = known, []
        for model in roots(self.doctor):
            if not isinstance(model, engine.nn.Module):
                continue
            parts = [
                part
                for part in model.modules()
                if drops_entries(engine, part)
                or (counts_batches(part) and all(p.requires_grad for p in part.parameters()))
            ]
            if parts:
                ids = {id(p) for p in model.parameters()}
                self.models.append((weakref.ref(model), parts, ids))

    def _evaluated_at(self, model: Any) -> Site | None:
        inside = {id(module) for module in model.modules()}
        where: Site | None
        for reference, where in reversed(self.evaluated):
            module = reference()
            if module is not None and (
                id(module) in inside or any(part is model for part in module.modules())
            ):
                return where
        return None

    def _is_slip(self, model: Any, parts: list[Any]) -> bool:
        """In eval from the first step on, with a batch norm that has nothing to go by; and eval() is
        not in the functions that train, where its author would see it."""
        where = self._evaluated_at(model)
        if where is None or not any(map(_is_untouched, parts)):
            return False
        training = {(site.file, site.function) for site in user_stack()}
        return (where.file, where.function) not in training

    def _say(self, event: Step, model: Any, parts: list[Any], fresh: set[int]) -> None:
        site = self._evaluated_at(model) or event.site
        names = sorted({type(part).__name__ for part in parts})
        self.report(
            f"The model was put in eval mode here, and is trained in it: {', '.join(names)} of "
            f"{type(model).__name__} {_differs(len(names))} in training.",
            site, modules=names, figures={"modules": len(parts)},
            parameters=self.doctor.names(p for p in event.parameters if id(p) in fresh),
        )  # fmt: skip


def _differs(count: int) -> str:
    return "does not do what it does" if count == 1 else "do not do what they do"
