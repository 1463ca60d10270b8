"""Copies of a network that are none, or that are never written into: TG305."""

from __future__ import annotations

from typing import Any

from ...._user_code.sites import Site
from ...._user_code.stack import user_frames
from ...watch.called_functions import called, scope_of
from ...watch.events import Load, Step
from ...watch.source_copies import slips
from ..base import Rule


class CopyOfItself(Rule):
    """A copy of a network is the network itself, or what should change it changes something else."""

    code = "TG305"
    name = "copy-of-itself"
    why = (
        "state_dict() holds the weights themselves, not copies: what was kept as the best goes on "
        "changing with every step, and loading it back changes nothing."
    )
    quiet = (
        "Copies that stay as they are without a line that means to change them: a frozen teacher, a "
        "reference policy, the weights at the start."
    )
    fix = "best = copy.deepcopy(model.state_dict())"
    example = """
+ import copy
  torch.manual_seed(0)
  model = torch.nn.Linear(3, 1)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  x, y = torch.randn(8, 3), torch.randn(8, 1)
  best, kept = float("inf"), None
  for _ in range(5):
      optimizer.zero_grad()
      loss = torch.nn.functional.mse_loss(model(x), y)
      loss.backward()
      optimizer.step()
      if loss.item() < best:
-         best, kept = loss.item(), model.state_dict()
- model.load_state_dict(kept)  # here
+         best, kept = loss.item(), copy.deepcopy(model.state_dict())
+ model.load_state_dict(kept)
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.read: set[Any] = set()
        self.loads: dict[int, tuple[int, Site | None, bool]] = {}  # module -> step, line, a change
        self.vain: dict[Any, int] = {}  # lines that load what another one has just loaded

    def on_load(self, event: Load) -> None:
        """Weights that are loaded from their own memory."""
        if not self.doctor.steps or not isinstance(event.state, dict):
            return
        own = dict(event.module.named_parameters())
        given = {name: event.state.get(name) for name in own}
        if own and all(hasattr(value, "detach") for value in given.values()):
            self._compare(event, own, given)
        if event.by_library or not own:
            return
        if not all(_is_same(own[name], value) for name, value in given.items()):
            return
        self.report(
            f"What is loaded here is what the {type(event.module).__name__} has already: the tensors are "
            f"its own {len(own)} weights, not copies of them.",
            event.site, parameters=self.doctor.names(own.values()),
        )  # fmt: skip

    def _compare(self, event: Load, own: dict[str, Any], given: dict[str, Any]) -> None:
        """Whether the load changes anything; one that repeats the last one puts nothing back."""
        equal = event.engine.equal
        changes = not all(
            own[name].shape == value.shape and equal(own[name].detach(), value.detach())
            for name, value in given.items()
        )
        step, line, was_change = self.loads.get(id(event.module), (-1, None, False))
        self.loads[id(event.module)] = self.doctor.steps, event.site, changes
        if changes or not was_change or step != self.doctor.steps or line == event.site:
            return
        self.vain[event.site] = self.vain.get(event.site, 0) + 1
        if self.vain[event.site] == 2:
            at = "before" if line is None else f"in line {line.line}"
            self.report(
                f"The weights that were loaded {at} are loaded here once more: nothing changes, and those that "
                "were there before are not put back.",
                event.site, parameters=self.doctor.names(own.values()), fix_site=line,
                why="Other weights are swapped in for a validation, and the model's own have to come back before "
                "it is trained again.",
                fix="model.load_state_dict(own)  # the weights that were kept before the swap",
            )  # fmt: skip

    def before_step(self, event: Step) -> None:
        if not self.doctor.steps:
            return
        for frame in user_frames():
            if frame.f_code not in self.read:
                self.read.add(frame.f_code)
                running = scope_of(frame)
                for scope in (running, *called(running)):
                    for slip in slips(event.engine, scope):
                        self.report(slip.message, slip.site, why=slip.why, fix=slip.fix)


def _is_same(own: Any, given: Any) -> bool:
    """Whether two tensors are one memory."""
    if given is own:
        return True
    is_tensor = hasattr(given, "data_ptr") and getattr(given, "shape", None) == own.shape
    return bool(is_tensor and own.numel() and given.data_ptr() == own.data_ptr())
