"""A copy that should follow the trained network, and a trained network that follows the copy instead: TG317."""

from __future__ import annotations

import weakref
from typing import Any

from ...._user_code.sites import Site
from ...state.parameter_owners import roots
from ...watch.events import Load, ModuleCall
from ..base import Rule

_COPIES = 8


class MixedIntoTheTrained(Rule):
    """A mixture of the trained network and its copy is loaded into the trained one: the copy never follows."""

    code = "TG317"
    name = "mixed-into-the-trained"
    why = (
        "A target follows the trained network by a mixture of both. Loaded into the trained network, the same "
        "mixture draws it back to its first weights after each step, and the target stays what it was."
    )
    quiet = (
        "Copies that have changed since the first of these steps (slow weights do), and states that are no "
        "mixture of the two."
    )
    sure = "Measured: what is loaded lies on the line between the two networks, each time."
    fix = "target.load_state_dict(mixture)  # into the copy"
    example = """
  import copy
  torch.manual_seed(0)
  online = torch.nn.Linear(3, 1)
  target = copy.deepcopy(online)
  optimizer = torch.optim.SGD(online.parameters(), lr=0.01)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  for _ in range(10):
      with torch.no_grad():
          aim = 0.5 * y + 0.5 * target(x)
      optimizer.zero_grad()
      torch.nn.functional.mse_loss(online(x), aim).backward()
      optimizer.step()
      mine, theirs = online.state_dict(), target.state_dict()
-     online.load_state_dict({k: 0.1 * mine[k] + 0.9 * theirs[k] for k in mine})  # here
+     target.load_state_dict({k: 0.1 * mine[k] + 0.9 * theirs[k] for k in mine})
"""
    enough = 5  # loads

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.copies: dict[int, tuple[Any, list[Any]]] = {}  # run without gradients, never trained
        self.times: dict[tuple[int, int], list[int]] = {}  # steps before such loads

    def on_module(self, event: ModuleCall) -> None:
        module = event.module
        if event.grad_mode or id(module) in self.copies or len(self.copies) >= _COPIES:
            return
        own = list(module.parameters())
        held = self.doctor.held()
        is_copy = own and not any(id(p) in held for p in own)
        if is_copy and any(module is root for root in roots(self.doctor)):
            self.copies[id(module)] = weakref.ref(module), [p.detach().clone() for p in own]

    def on_load(self, event: Load) -> None:
        if event.by_library or not self.doctor.steps or not hasattr(event.state, "get"):
            return
        held = self.doctor.held()
        mine = dict(event.module.named_parameters())
        if not mine or not all(id(p) in held for p in mine.values()):
            return
        for key, (reference, first) in list(self.copies.items()):
            copy = reference()
            if copy is None:
                del self.copies[key]
                continue
            others = dict(copy.named_parameters())
            pair = id(event.module), key
            if others.keys() != mine.keys() or not _is_between(mine, others, event.state):
                self.times.pop(pair, None)
                continue
            same = all(
                bool((p.detach() == v).all()) for p, v in zip(others.values(), first, strict=True)
            )
            steps = self.times.setdefault(pair, [])
            if not same:
                steps.clear()
            elif not steps or steps[-1] != self.doctor.steps:
                steps.append(self.doctor.steps)
            if len(steps) == self.enough:
                self._say(event.site, event.module)

    def _say(self, site: Site | None, module: Any) -> None:
        self.report(
            f"What is loaded into this {type(module).__name__} after each step is a mixture of its own weights "
            "and those of a copy: the trained network is drawn back, and the copy has never changed.",
            site, modules=[type(module).__name__], figures={"times": self.enough},
        )  # fmt: skip


def _is_between(mine: dict[str, Any], others: dict[str, Any], state: Any) -> bool:
    """Whether a state lies on the line between two networks, and is neither of them."""
    along = length = 0.0
    rest = 0.0
    for name, parameter in mine.items():
        value = state.get(name)
        if value is None or tuple(value.shape) != tuple(parameter.shape):
            return False
        whole = parameter.detach() - others[name].detach()
        part = value.detach() - others[name].detach()
        along += float((whole * part).sum())
        length += float((whole * whole).sum())
        rest += float((part * part).sum())
    if not length:
        return False
    share = along / length
    return 0.0 < share < 1.0 and abs(rest - share * along) <= 1e-4 * rest
