"""What a loop leaves behind in its modules: hooks upon hooks, dropout at 0, norms that move: TG604 to TG606."""

from __future__ import annotations

import weakref
from typing import Any

from ...._user_code.sites import Site
from ...._user_code.stack import user_site
from ...state.parameter_owners import roots
from ...watch.events import Dropout, Hook, Mode, ModuleCall, Step
from ..base import Rule
from ..training_loop import training


class FrozenNorms(Rule):
    """A frozen part of the model has batch norms whose running statistics go on moving."""

    code = "TG604"
    name = "frozen-norms"
    severity = "warning"
    why = (
        "requires_grad=False stops gradients. The running mean and variance of a batch norm are no "
        "parameters: in training mode they follow every batch, and the frozen part is not what it was."
    )
    quiet = (
        "Norms with anything trainable beside them, unless eval() was said to each of them; in eval mode, under "
        "no_grad (a momentum encoder), that an optimizer holds or that were trained before; models that are "
        "frozen from end to end."
    )
    sure = "Certain that they move; that they should not is likely."
    refute = "The statistics are meant to follow the new data."
    fix = "backbone.eval()  # after every model.train()"
    example = """
  torch.manual_seed(0)
  body = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
  head = torch.nn.Linear(4, 1)
  for p in body.parameters():
      p.requires_grad = False
+ body.eval()
  optimizer = torch.optim.SGD(head.parameters(), lr=0.01)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  for _ in range(8):
      optimizer.zero_grad()
-     torch.nn.functional.mse_loss(head(body(x)), y).backward()  # here
+     torch.nn.functional.mse_loss(head(body(x)), y).backward()
      optimizer.step()
"""
    many = 6  # steps in which they moved

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.moved: dict[int, tuple[Any, int, Site | None]] = {}  # norm -> steps, line
        self.step = -1
        self.trained: set[int] = set()
        self.asked: set[int] = set()  # norms that were put into eval mode, each by itself
        self.resting: dict[int, tuple[Any, int, Site | None]] = {}  # in eval mode: counted so far

    def on_mode(self, event: Mode) -> None:
        if not event.training and getattr(event.module, "num_batches_tracked", None) is not None:
            self.asked.add(id(event.module))

    def on_module(self, event: ModuleCall) -> None:
        module = event.module
        if getattr(module, "num_batches_tracked", None) is None or not event.grad_mode:
            return
        own = list(module.parameters())
        if any(p.requires_grad for p in own):
            self.trained.add(id(module))
        if own and not module.training and id(module) not in self.trained:
            self._rests(module)
        if not own or not module.training or id(module) in self.trained:
            return
        if id(module) in self.resting:
            self._has_woken([id(module)])
        known, count, site = self.moved.get(id(module), (None, 0, None))
        if known is None or known() is not module:
            count, site = 0, user_site()
        self.moved[id(module)] = weakref.ref(module), count + 1, site

    def _rests(self, module: Any) -> None:
        known = self.resting.get(id(module))
        if known is None or known[0]() is not module:
            counted = int(module.num_batches_tracked)
            self.resting[id(module)] = weakref.ref(module), counted, user_site()

    def at_end(self) -> None:
        if not self.doctor.is_cut_short:
            self._has_woken(list(self.resting))

    def _has_woken(self, norms: list[int]) -> None:
        """Frozen and in eval mode for some steps, and woken by a `train()` since: its own count tells."""
        found = [
            (m, site)
            for reference, counted, site in map(self.resting.__getitem__, norms)
            if (m := reference()) is not None and self._is_frozen(m)
            and int(m.num_batches_tracked) - counted >= self.many
        ]  # fmt: skip
        if found:
            self.report(
                f"{len(found)} batch norms of a frozen part were in eval mode in the first steps, and have "
                "been put into training mode since: their running statistics have moved.",
                found[0][1], modules=sorted({type(m).__name__ for m, _ in found}),
                fix="backbone.eval()  # after every model.train(), also after an evaluation",
            )  # fmt: skip

    def _is_frozen(self, norm: Any) -> bool:
        own, held = list(norm.parameters()), self.doctor.held()
        is_still = not any(p.requires_grad or id(p) in held for p in own)
        return is_still and id(norm) not in self.trained

    def after_step(self, event: Step) -> None:
        if self.doctor.steps != self.many + 1:
            return
        found = [
            (m, site)
            for reference, count, site in self.moved.values()
            if (m := reference()) is not None and count >= self.many and self._is_frozen(m)
        ]
        whole = [
            (m, site)
            for m, site in found
            for root in roots(self.doctor)
            if any(part is m for part in root.modules())
            and (id(m) in self.asked or _has_frozen_layer(root, m))
        ]
        if whole:
            self.report(
                f"{len(whole)} batch norms of a frozen part are in training mode: their running statistics "
                "move with every batch.",
                whole[0][1], modules=sorted({type(m).__name__ for m, _ in whole}),
            )  # fmt: skip


def _has_frozen_layer(root: Any, norm: Any) -> bool:
    """Whether the module around a norm has other parameters, all frozen: it was frozen as a whole."""
    for module in root.modules():
        if any(child is norm for child in module.children()):
            others = [p for p in module.parameters() if not any(p is q for q in norm.parameters())]
            return bool(others) and not any(p.requires_grad for p in module.parameters())
    return False


class DropoutZeroed(Rule):
    """Dropout is at work in the first steps, and at 0 in all steps after a validation."""

    code = "TG605"
    name = "dropout-zeroed"
    why = (
        "A rate that is set to 0 for a validation stays 0: the rest of the training runs without dropout, "
        "as if it had never been asked for."
    )
    quiet = "Rates that fall little by little, and rates of 0 from the start."
    sure = "Certain that it was at work before a validation, and has been at 0 since."
    refute = "The last part of the training is meant to run without dropout."
    fix = "F.dropout(x, self.p, training=self.training)"
    example = training(
        """
  for step in range(10):
      optimizer.zero_grad()
-     torch.nn.functional.mse_loss(model(x), y).backward()  # here
+     torch.nn.functional.mse_loss(model(x), y).backward()
      optimizer.step()
      if step == 3:
-         model[1].p = 0.0
          model.eval()
          model(x)
          model.train()
""",
        model="torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))",
    )
    many = 4  # steps at 0

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.before: dict[Site | None, float] = {}  # the lowest rate in the steps so far, by line
        self.since: dict[Site | None, set[int]] = {}  # steps at 0

    def on_dropout(self, event: Dropout) -> None:
        if not event.training or not event.engine.is_grad_enabled():
            return
        site, p = event.site, event.p
        if p > 0:
            self.before[site] = p
            self.since.pop(site, None)
        elif self.before.get(site, 0.0) >= 0.1:
            steps = self.since.setdefault(site, set())
            steps.add(event.step)
            if len(steps) == self.many:
                self.report(
                    f"Dropout had a rate of {self.before[site]:g} here, and has been at 0 for "
                    f"{self.many} steps.",
                    site, figures={"rate": self.before[site]},
                )  # fmt: skip

    def on_mode(self, event: Mode) -> None: ...


class HooksPileUp(Rule):
    """The same hook is registered again in every iteration, and none is removed."""

    code = "TG606"
    name = "hooks-pile-up"
    why = (
        "Hooks stay until they are removed. One that is registered in the loop runs once more with every "
        "iteration: what it scales is scaled again and again, and all of it takes time and memory."
    )
    quiet = "Hooks that are removed, and hooks of tensors that are made in each iteration."
    fix = "handle.remove()  # or register it once, before the loop"
    example = training("""
+ model.weight.register_hook(lambda grad: 0.5 * grad)
  for _ in range(8):
-     model.weight.register_hook(lambda grad: 0.5 * grad)  # here
      optimizer.zero_grad()
      torch.nn.functional.mse_loss(model(x), y).backward()
      optimizer.step()
""")
    many = 5

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.handles: dict[tuple[int, Site | None], list[tuple[int, Any]]] = {}

    def on_hook(self, event: Hook) -> None:
        known = self.handles.setdefault((id(event.owner), event.site), [])
        known.append((event.step, event.handle))
        alive = [(step, h) for step, h in known[-self.many :] if _is_there(h)]
        if len({step for step, _ in alive}) == self.many:
            self.report(
                f"This line registers another hook in every iteration: {len(alive)} of them are at work, "
                "one after the other.",
                event.site,
            )  # fmt: skip
        self.handles[id(event.owner), event.site] = known[-self.many :]


def _is_there(handle: Any) -> bool:
    hooks = handle.hooks_dict_ref()
    return hooks is not None and handle.id in hooks
