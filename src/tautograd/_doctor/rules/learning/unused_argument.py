"""Arguments of a model that change nothing: TG808."""

from __future__ import annotations

import dis
import inspect
import weakref
from typing import Any

from ...._user_code.owners import foreign
from ...._user_code.stack import user_site
from ...state.parameter_owners import roots
from ...watch.aside import outputs
from ...watch.events import ModuleCall
from ..base import Rule

AFTER = 8  # steps: what begins at zero (a control branch) has moved by then
_LARGEST = 2_000_000  # entries of the arguments


class UnusedArgument(Rule):
    """An argument that forward() names, and that differs from sample to sample, changes no output."""

    code = "TG808"
    name = "unused-argument"
    severity = "warning"
    why = (
        "A condition, a time or a label that is handed to a model and lost on the way (zeroed, embedded and not "
        "added, overwritten) leaves the model with the same question for all of them."
    )
    quiet = (
        "Arguments that forward() does not name, that are the same for every sample, or that the output depends on "
        "in any entry; the first steps; models of which a copy cannot be run."
    )
    sure = "Certain: a copy was run with the samples' values of this argument exchanged, and gave the same bits."
    refute = "The argument is for later, or for another output than the first."
    fix = "h = self.body(x) + self.embed(condition)  # so that the output depends on it"
    example = """
  torch.manual_seed(0)
  class Net(torch.nn.Module):
      def __init__(self):
          super().__init__()
          self.embed, self.body = torch.nn.Linear(1, 2), torch.nn.Linear(5, 1)
      def forward(self, x, condition):
-         seen = torch.zeros_like(condition)
-         return self.body(torch.cat([x, self.embed(seen)], dim=1))
+         return self.body(torch.cat([x, self.embed(condition)], dim=1))
  model = Net()
  optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
  x, kind, y = torch.randn(8, 3), torch.randn(8, 1), torch.randn(8, 1)
  for _ in range(12):
      optimizer.zero_grad()
-     out = model(x, kind)  # here
+     out = model(x, kind)
      torch.nn.functional.mse_loss(out, y).backward()
      optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.tried: weakref.WeakSet[Any] = weakref.WeakSet()

    def on_module(self, event: ModuleCall) -> None:
        if self.doctor.steps < AFTER or not event.grad_mode or event.module in self.tried:
            return
        engine, args = event.engine, event.args
        tensors = [a for a in args if isinstance(a, engine.Tensor)]
        if len(tensors) < 2 or len(tensors) != len(args) or not event.module.training:
            return
        if sum(t.numel() for t in tensors) > _LARGEST or any(t.requires_grad for t in tensors):
            return
        if not any(root is event.module for root in roots(self.doctor)):
            return
        self.tried.add(event.module)
        named = _named(event.module)
        for place, given in enumerate(args):
            if place < len(named) and named[place] and _differs(given):
                self._try(event, place, named[place])

    def _try(self, event: ModuleCall, place: int, name: str) -> None:
        args = event.args
        turned = (*args[:place], args[place].flip(0), *args[place + 1 :])
        everything = tuple(a.flip(0) for a in args)
        found = outputs(event.engine, event.module, [args, args, turned, everything], as_it_is=True)
        if not found or not event.engine.equal(found[0], found[1]):
            return  # it does not answer the same twice
        if event.engine.equal(found[0], found[2]) and not event.engine.equal(found[0], found[3]):
            self.report(
                f"The argument {name} of {type(event.module).__name__} differs from sample to sample, and the "
                "output is the same, bit for bit, whatever it is.",
                user_site(), modules=[type(event.module).__name__],
            )  # fmt: skip


def _differs(given: Any) -> bool:
    """Whether samples have different values of it."""
    return given.dim() > 0 and given.shape[0] > 1 and bool((given != given.flip(0)).any())


def _named(module: Any) -> list[str]:
    """The arguments of a module's own forward, those that it never reads left empty."""
    forward = type(module).forward
    code = getattr(forward, "__code__", None)
    if code is None or foreign[code.co_filename]:
        return []
    read: set[str] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith("LOAD"):
            value = instruction.argval
            read |= set(value) if isinstance(value, tuple) else {str(value)}
    return [
        name if name in read else "" for name in list(inspect.signature(forward).parameters)[1:]
    ]
